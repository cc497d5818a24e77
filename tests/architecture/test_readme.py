"""The transcripts of README and docs are what a user sees: every line of them is run and compared."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commands import layline
from layline.sample import write_sample

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "start.md", *sorted(ROOT.glob("docs/**/*.md")))


def _transcript() -> list[tuple[str, list[str]]]:
    steps: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", "".join(page.read_text() for page in PAGES), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return list({(command, tuple(shown)): (command, shown) for command, shown in steps}.values())


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("readme") / "demo"
    write_sample(root)
    return root / "harbor"


@pytest.mark.parametrize(("command", "shown"), _transcript(), ids=[command for command, _ in _transcript()])
def test_the_transcript_is_true(harbor: Path, command: str, shown: list[str]) -> None:
    program, *arguments = shlex.split(command)
    assert program == "layline"
    if arguments[:2] == ["gap", "verify"]:  # its report may have been written by another worker
        layline("gap", "report", "keel", "--date", "2026-06-30", cwd=harbor)
    printed = layline(*arguments, cwd=harbor).out.splitlines()
    place = 0
    for line in shown:
        if line == "…":
            continue
        assert line in printed[place:], f"not printed (in this order): {line}"
        place = printed.index(line, place) + 1


def test_there_is_a_transcript() -> None:
    assert len(_transcript()) >= 12
