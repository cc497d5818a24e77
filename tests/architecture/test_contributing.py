"""CONTRIBUTING.md sends nobody to a file or a name that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = sorted({path for path in re.findall(r"`((?:src|docs|tests)/[^`<]*)", PAGE) if "<" not in path})


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("DETECTORS", "src/layline/patches/idioms/__init__.py"),
        ("FILES", "src/layline/campaign/operators/__init__.py"),
    ],
)
def test_tables_are_where_the_page_says(name: str, file: str) -> None:
    assert re.search(rf"`{name}` (?:in|of)\s+`{re.escape(file)}`", PAGE)
    assert re.search(rf"^{name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_step_list_has_five_steps() -> None:
    lists = [part for part in PAGE.split("\n## ") if part.startswith("Add ")]

    assert len(lists) == 5
    assert all(len(re.findall(r"^\d\. ", part, re.MULTILINE)) == 5 for part in lists)


def test_an_answer_is_followed_in_twelve_files() -> None:
    """Each file but the first is imported by one that is read before it."""
    _, _, section = PAGE.partition("## Follow one answer\n")
    files = re.findall(r"`(src/layline/[\w/]+\.py)`", section.partition("\n## ")[0])
    assert 6 < len(files) <= 12
    for number, path in enumerate(files[1:], 1):
        name = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        read = "".join((ROOT / one).read_text(encoding="utf-8") for one in files[:number])
        room, _, last = name.rpartition(".")
        assert re.search(rf"{re.escape(name)}\b|from {re.escape(room)} import {last}\b", read), f"{path} is not called"
