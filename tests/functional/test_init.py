from __future__ import annotations

from pathlib import Path

from inline_snapshot import snapshot

from commands import layline
from layered import make_layered
from layline.config import parse_settings


def test_init_writes_what_works_with_objects_filled_in(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit(
        "Add patches",
        {
            "harbour/backends/keel/patches/__init__.py": "",
            "harbour/configs/keel/base.yaml": "x: 1\n",
            "harbour/sails.py": "import sails\n",
            "Dockerfile": f"ARG SAILS_COMMIT={'a' * 40}\nRUN git clone https://github.com/loft/Sails.git\n",
            ".github/workflows/ci.yaml": f"env:\n  SAILS_COMMIT: {'b' * 40}\n",
        },
    )
    result = layline("init", cwd=layered.downstream.path)
    assert result.code == 0, result.err
    text = (layered.downstream.path / "layline.toml").read_text()
    assert text == snapshot("""\
# Written by `layline init`; every key is explained in docs/configuration.md.

[project]
name = "downstream"
# repository = "https://…"  # for permalinks: uncomment if it is right

[backends.keel]
# .gitmodules names no branch: `ref` is assumed
label = "keel"
path = "third_party/keel"
upstream = "https://example.org/keel"
ref = "main"
# objects = "…"  # a clone or bare mirror with its objects, if the submodule is not checked out
# packages = […]  # default: all that the upstream tree offers at the pin
integration = ["harbour/backends/keel"]
patches = ["harbour/backends/keel/patches"]
configs = ["harbour/configs/keel"]

[backends.sails]
# pinned in 2 places that differ: choose one
label = "Sails"
# pin = { file = ".github/workflows/ci.yaml", variable = "SAILS_COMMIT" }  # line 2: bbbbbbbbbbbb
# pin = { file = "Dockerfile", variable = "SAILS_COMMIT" }  # line 1: aaaaaaaaaaaa
upstream = "https://github.com/loft/Sails"
ref = "main"
# objects = "…"  # a clone or bare mirror with its objects, if the submodule is not checked out
packages = ["sails"]
integration = ["harbour"]
""")
    filled = text.replace('# objects = "…"', 'objects = "../upstream"', 1)
    (layered.downstream.path / "layline.toml").write_text(filled)
    data = layline("gap", "show", "keel", "--format", "json", cwd=layered.downstream.path).json
    assert data["behind"] == 2
    asked = layline("gap", "show", "sails", cwd=layered.downstream.path)
    assert asked.code == 2
    assert "neither `path` nor `pin`" in asked.err


def test_init_reads_packages_where_the_submodule_is_checked_out(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.path.rename(tmp_path / "moved")
    (layered.downstream.path / "third_party/keel").rmdir()
    (tmp_path / "moved").rename(layered.downstream.path / "third_party/keel")
    assert layline("init", cwd=layered.downstream.path).code == 0
    settings = parse_settings((layered.downstream.path / "layline.toml").read_text())
    assert settings.backends["keel"].packages == ("keel",)
    assert layline("gap", "show", "keel", cwd=layered.downstream.path).code == 0


def test_doctor_names_what_is_missing(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    config = tmp_path / "layline.toml"
    assert layline("doctor", cwd=tmp_path).code == 0
    config.write_text(config.read_text() + 'patches = ["harbour/patches"]\n')
    result = layline("doctor", "--format", "json", cwd=tmp_path)
    assert result.code == 1
    missing = [finding for finding in result.json["findings"] if finding["state"] == "missing"]
    assert [(finding["subject"], finding["what"]) for finding in missing] == [("keel", "patches harbour/patches")]
    assert layered.pin[:12] in result.out


def test_where_nothing_is_pinned_the_readme_names_the_version(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit(
        "Unpin",
        {
            ".gitmodules": "",
            "setup.py": "from setuptools import Extension, setup\nx = Extension(name='deck._c')\n"
            "setup(name='deck', ext_modules=[x])\n",
            "deck/__init__.py": "import mast.core\nimport rope\n",
            "deck/more.py": "import rope\nimport rope.knots\n",
            "README.md": "    git clone https://github.com/loft/Mast-LM.git\n    cd Mast-LM\n    git checkout "
            "core_v0.12.1\n",
            "docs/start.md": "git clone -b core_v0.12.1 https://github.com/loft/Mast-LM\ngit clone "
            "https://github.com/loft/rope\ngit checkout master\n",
        },
    )
    assert layline("init", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    assert 'name = "deck"' in text
    settings = parse_settings(text)
    assert list(settings.backends) == ["mast"], "a clone of a moving branch is no pin"
    mast = settings.backends["mast"]
    assert mast.pin is not None
    assert (mast.pin.revision, mast.upstream, mast.integration) == (
        "core_v0.12.1",
        "https://github.com/loft/Mast-LM",
        ("deck",),
    )
    assert "its texts say `git checkout core_v0.12.1` (README.md:3)" in text


def test_where_no_version_is_named_what_is_required_is_suggested(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit(
        "Unpin",
        {
            ".gitmodules": "",
            "setup.py": "from setuptools import setup\nsetup(name='deck', install_requires=['hull>=1', 'rope >= "
            "4.52.0'])\n",
            "deck/__init__.py": "import rope\nimport hull\n",
            "deck/more.py": "import hull\nimport rope\n",
            "deck/most.py": "import hull\n",
            "README.md": "See https://github.com/loft/rope for more.\n",
        },
    )
    assert layline("init", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    assert parse_settings(text).backends == {}
    assert '# pin = { revision = "v4.52.0" }  # setup.py:2 asks for rope >= 4.52.0; is this a tag there?' in text
    assert text.index("[backends.rope]") < text.index("[backends.hull]"), "a known address comes first"
