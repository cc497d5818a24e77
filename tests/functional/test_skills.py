from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from commands import layline
from layline.cli.main import COMMANDS
from layline.cli.main import layline as root
from layline.errors import RecordError
from layline.project.skills import find_skills_folder, read_skill

SKILLS = ["backend-gap-report", "backend-patch-explorer", "kernel-optimize", "optimize-handoff", "upgrade-backend"]


def test_the_skills_are_valid() -> None:
    folders = sorted(folder for folder in find_skills_folder().iterdir() if folder.is_dir())
    assert [read_skill(folder).name for folder in folders] == SKILLS


BROKEN = [
    ("name: other\ndescription: x", "is not the folder's name"),
    ("name: My_Skill\ndescription: x", "lower-case words"),
    ("name: my-skill\ndescription:", "has 0 characters"),
    ("name: my-skill\ndescription: " + "x" * 1025, "has 1025 characters"),
    ("name: my-skill\ndescription: x\ncolour: red", "unknown fields: colour"),
]


@pytest.mark.parametrize(("front", "says"), BROKEN)
def test_a_broken_skill_is_named(tmp_path: Path, front: str, says: str) -> None:
    folder = tmp_path / "my-skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\nText\n")
    with pytest.raises(RecordError, match=says):
        read_skill(folder)


def test_a_project_that_has_skills_keeps_them_and_gets_ours(tmp_path: Path) -> None:
    """As in projects whose agents' folders are links to one folder of skills."""
    own = tmp_path / "skills/backend-gap-report/SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text("theirs")
    for place in (".claude", ".cursor", ".agents"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "skills").symlink_to("../skills")
    told = layline("skills", "install", cwd=tmp_path)
    assert told.code == 0, told.err
    assert "The project has its own backend-gap-report: it stays as it is." in told.out
    assert own.read_text() == "theirs"
    found = sorted(path.name for path in (tmp_path / "skills").iterdir())
    assert found == sorted([*SKILLS, "layline-backend-gap-report"])
    assert read_skill(tmp_path / "skills/layline-backend-gap-report").name == "layline-backend-gap-report"
    assert layline("skills", "install", cwd=tmp_path).code == 0, "again"


def test_install_copies_and_keeps_what_it_did_not_write(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    assert layline("skills", "install", cwd=tmp_path).code == 0
    assert layline("skills", "install", cwd=tmp_path).code == 0
    assert sorted(path.name for path in (tmp_path / ".claude/skills").iterdir()) == SKILLS
    (tmp_path / ".claude/skills/kernel-optimize/SKILL.md").write_text("mine")
    assert layline("skills", "install", cwd=tmp_path).code == 0
    assert (tmp_path / ".claude/skills/kernel-optimize/SKILL.md").read_text() == "mine"


def test_skills_name_only_commands_that_exist() -> None:
    context = click.Context(root)
    for folder in find_skills_folder().iterdir():
        for words in re.findall(r"`layline ([a-z]+(?: [a-z]+)?)", (folder / "SKILL.md").read_text()):
            first, *rest = words.split()
            assert first in COMMANDS, f"{folder.name}: layline {words}"
            command = root.get_command(context, first)
            if isinstance(command, click.Group) and rest:
                assert command.get_command(context, rest[0]) is not None, f"{folder.name}: layline {words}"


EXPECTED = [
    ("Resolve first, ask when ambiguous", "inputs"),
    ("## Output", "output formats"),
    ("What stays your judgement", "rules"),
    ("Nothing runs in the background by itself", "nothing in the background"),
    ("Offer to save", "saving"),
    ("default: the current directory", "where it is saved"),
]


@pytest.mark.parametrize("name", SKILLS)
def test_every_skill_tells_all_an_agent_needs(name: str) -> None:
    text = (find_skills_folder() / name / "SKILL.md").read_text()
    missing = [what for words, what in EXPECTED if words.lower() not in text.lower()]
    assert missing == []
    assert len(text) < 8_000, "short, because the tool does the work"


def _find_command_lines(text: str) -> list[str]:
    """Every `layline …` in the text, with its options."""
    return re.findall(r"`(layline [^`]+)`", text)


@pytest.mark.parametrize("name", SKILLS)
def test_every_option_a_skill_names_exists(name: str) -> None:
    text = (find_skills_folder() / name / "SKILL.md").read_text()
    context = click.Context(root)
    for line in _find_command_lines(text):
        words = line.split()[1:]
        command: click.Command | None = root
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command = command.get_command(context, words.pop(0))
        assert command is not None, line
        known = {option for parameter in command.params for option in parameter.opts}
        unknown = {word for word in words if re.fullmatch(r"--?[a-z-]+", word)} - known - {"-h"}
        assert unknown == set(), line
