"""Which address a tree gives itself, and on which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source.home_address import read_home_address
from layline.source.tree import Tree

KEEL = "https://github.com/loft/keel"
NAMED = [
    # (what it shows, files, the line that names it; None where none does)
    (
        "a homepage",
        {"pyproject.toml": f'[project]\nname = "keel"\nurls = {{ Homepage = "{KEEL}" }}\n'},
        "pyproject.toml:3",
    ),
    (
        "the source before a homepage that is a repository, too",
        {"pyproject.toml": f'[project.urls]\nHomepage = "https://github.com/loft/site"\nSource = "{KEEL}.git"\n'},
        "pyproject.toml:3",
    ),
    ("poetry", {"pyproject.toml": f'[tool.poetry]\nrepository = "{KEEL}"\n'}, "pyproject.toml:2"),
    ("setup.cfg", {"setup.cfg": f"[metadata]\nname = keel\nurl = {KEEL}\n"}, "setup.cfg:3"),
    (
        "links of setup.cfg",
        {"setup.cfg": f"[metadata]\nurl = https://keel.org\nproject_urls =\n    Source = {KEEL}\n"},
        "setup.cfg:4",
    ),
    ("setup.py", {"setup.py": f"from setuptools import setup\nHOME = '{KEEL}/'\nsetup(url=HOME)\n"}, "setup.py:2"),
    (
        "links of setup.py",
        {"setup.py": f"from setuptools import setup\nsetup(\n  project_urls={{'Source': '{KEEL}'}})\n"},
        "setup.py:3",
    ),
    (
        "a page that is no repository leaves it to the README",
        {
            "setup.py": "from setuptools import setup\nsetup(url='https://keel.org/')\n",
            "README.md": f"[![x](https://github.com/loft/mast)]()\ngit clone {KEEL}.git\n",
        },
        "README.md:2",
    ),
    ("a README that names only others", {"README.md": "https://github.com/loft/mast\n"}, None),
    ("a broken build file", {"pyproject.toml": "[project\n", "setup.py": "setup(\n", "setup.cfg": "url\n"}, None),
]


@pytest.mark.parametrize(("files", "place"), [row[1:] for row in NAMED], ids=[row[0] for row in NAMED])
def test_the_address_is_read_with_its_line(
    tmp_path: Path, files: dict[str, str | bytes | None], place: str | None
) -> None:
    history = History.start(tmp_path / "keel")
    history.commit("Begin", files)
    home = read_home_address(Tree(repository := open_repository(history.path), repository.resolve("HEAD")), "keel")
    assert (None if home is None else (home.url, str(home.location))) == (place and (KEEL, place))
