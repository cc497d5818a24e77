"""The how-tos: their settings load, their commands exist, and (marked `real`) their figures are what the commands answer.

LAYLINE_REAL_HOW_TO_<PAGE> names a clone or mirror of the downstream, LAYLINE_REAL_HOW_TO_<PAGE>_<KEY> one of each upstream.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click import Command, Context, Group

from commands import layline
from layline.cli.main import layline as program
from layline.config import load_settings

PAGES = sorted((Path(__file__).parents[2] / "docs" / "how-to").glob("*.md"))


def read_settings(page: Path) -> str:
    """The block of a page that is a whole layline.toml."""
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return str(next(block for block in blocks if "[project]" in block))


def find_commands(page: Path) -> list[list[str]]:
    """Every `layline …` of a page, in code and in tables."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"`(layline [^`]+)`", text) + re.findall(r"(?m)^    (layline [^#\n]+)", text)
    return [shlex.split(command)[1:] for command in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_settings_load(page: Path, tmp_path: Path) -> None:
    (tmp_path / "layline.toml").write_text(read_settings(page))
    settings = load_settings(tmp_path / "layline.toml").settings
    asked = {words[2] for words in find_commands(page) if words[:2] in (["gap", "show"], ["patches", "list"])}
    assert asked
    assert asked <= settings.backends.keys()
    assert all(backend.packages for backend in settings.backends.values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_exist(page: Path) -> None:
    for words in find_commands(page):
        command: Command = program
        for word in words:
            if not isinstance(command, Group):
                break
            found = command.get_command(Context(command), word)
            assert found is not None, words
            command = found
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, words


@pytest.mark.real
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_figures_are_the_answers(page: Path, tmp_path: Path) -> None:
    place = open_project(page, tmp_path)
    text = page.read_text(encoding="utf-8")
    day = ("--date", str(re.search(r"\((20\d\d-\d\d-\d\d)\)", text).group(1)))  # type: ignore[union-attr]
    for question, shown in re.findall(
        r"(?m)^\| `layline ((?:gap show|patches list|patches drift) \w+)` \| (.*) \|$", text
    ):
        more = day if "patches list" not in question else ()
        answer = layline(
            *question.split(), *more, "--format", "json", cwd=place, env={"LAYLINE_CACHE": str(tmp_path / "c")}
        )
        assert answer.code in {0, 1}, answer.err
        assert tell(question, json.loads(answer.out)) in shown, question


def tell(question: str, found: dict[str, object]) -> str:
    """The figures of an answer as the pages spell them."""
    match question.split()[:2]:
        case ["gap", "show"]:
            return "{behind} commits behind, {files} files differ, +{insertions} −{deletions} lines, {age_days} days apart".format(
                **found
            )
        case ["patches", "list"]:
            return f"{len(found['patches'])} patches, {len(found['unregistered'])} effects outside any registration"  # type: ignore[arg-type]
    rows: list[dict[str, str]] = found["rows"]  # type: ignore[assignment]
    return f"{len(rows)} effects: {sum(row['severity'] == 'breaks' for row in rows)} break, {sum(row['severity'] == 'look' for row in rows)} need a look"


def open_project(page: Path, root: Path) -> Path:
    """A clone at the commit the page names, without a checkout, with the page's settings."""
    name = f"LAYLINE_REAL_HOW_TO_{page.stem.upper().replace('-', '_')}"
    source = os.environ.get(name)
    if source is None:
        pytest.skip(f"{name} is not set")
    place = root / "clone"
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", source, str(place)], check=True)
    commit = str(re.search(r" at `([0-9a-f]{8})`", page.read_text(encoding="utf-8")).group(1))  # type: ignore[union-attr]
    full = subprocess.run(
        ["git", "rev-parse", commit], cwd=place, capture_output=True, text=True, check=True
    ).stdout.strip()
    subprocess.run(["git", "update-ref", "--no-deref", "HEAD", full], cwd=place, check=True)
    settings = read_settings(page)
    for key in re.findall(r"\[backends\.(\w+)\]", settings):
        objects = os.environ[f"{name}_{key.upper()}"]
        tip = os.environ.get(f"{name}_{key.upper()}_REF")
        settings = settings.replace(f"[backends.{key}]\n", f'[backends.{key}]\nobjects = "{objects}"\n')
        if tip is not None:
            head, _, tail = settings.partition(f"[backends.{key}]\n")
            settings = f"{head}[backends.{key}]\n" + re.sub(r'(?m)^ref = ".*"$', f'ref = "{tip}"', tail, count=1)
    (place / "layline.toml").write_text(settings)
    return place
