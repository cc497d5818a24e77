"""The agent skills that come with Layline, copied where agents look."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layline.errors import ConfigError, Error, RecordError
from layline.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator


PLACES = (".claude/skills", ".cursor/skills", ".agents/skills")
MAX_NAME, MAX_DESCRIPTION = 64, 1024
_MARK = "<!-- installed by layline -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    name: str
    description: str
    folder: Path


def find_skills_folder() -> Path:
    """Inside the installed package, or beside the sources of a checkout."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "_skills", package.parent.parent / "skills"):
        if place.is_dir():
            return place
    raise Error("This installation has no skills.", hint="Install layline from a wheel or run it from a checkout.")


def find_skills() -> list[Skill]:
    """The skills that come with Layline."""
    return [read_skill(folder) for folder in sorted(find_skills_folder().iterdir()) if folder.is_dir()]


def read_skill(folder: Path) -> Skill:
    """One skill, checked against the agentskills format."""
    file = folder / "SKILL.md"
    if not file.is_file():
        raise RecordError(str(folder), ("has no SKILL.md",))
    found = re.match(r"---\n(.*?)\n---\n", file.read_text(encoding="utf-8"), re.DOTALL)
    fields = dict(re.findall(r"^([a-z-]+):\s*(.*)$", found.group(1), re.MULTILINE)) if found else {}
    problems = tuple(_find_problems(folder.name, fields))
    if problems:
        raise RecordError(str(file), problems)
    return Skill(name=fields["name"], description=fields["description"], folder=folder)


def _find_problems(folder: str, fields: dict[str, str]) -> Iterator[str]:
    name, description = fields.get("name", ""), fields.get("description", "")
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > MAX_NAME:
        yield f"name {name!r} is not lower-case words joined by hyphens, at most {MAX_NAME} characters"
    if name != folder:
        yield f"name {name!r} is not the folder's name {folder!r}"
    if not 0 < len(description) <= MAX_DESCRIPTION:
        yield f"the description has {len(description)} characters; 1 to {MAX_DESCRIPTION} are allowed"
    unknown = sorted(set(fields) - {"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
    if unknown:
        yield f"unknown fields: {', '.join(unknown)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One skill as it will be copied."""

    skill: Skill
    target: Path
    name: str
    """Another one than the skill's own where the project has a skill of that name."""


def find_places(root: Path, places: tuple[str, ...]) -> list[Path]:
    """The folders to copy into, each once: several agents' folders are often links to one."""
    chosen = places or tuple(place for place in PLACES if (root / place).is_dir() or (root / place).parent.is_dir())
    found: dict[Path, Path] = {}
    for place in chosen or (PLACES[-1],):
        folder = root / place
        if folder.is_symlink() and not folder.resolve().is_relative_to(root.resolve()):
            raise ConfigError(f"{folder} is a symbolic link out of the project.", hint="Name a folder with --into.")
        found.setdefault(folder.resolve(), folder)
    return list(found.values())


def plan_copy(skill: Skill, folder: Path) -> Copy:
    for name in (skill.name, f"layline-{skill.name}"):
        target = folder / name
        if not target.exists() or _is_ours(target):
            return Copy(skill=skill, target=target, name=name)
    raise ConfigError(
        f"{folder} has both {skill.name} and layline-{skill.name}, and Layline wrote neither.",
        hint="Name another folder with --into.",
    )


def _is_ours(target: Path) -> bool:
    """A skill that we did not write stays as it is."""
    file = target / "SKILL.md"
    if target.is_symlink() or file.is_symlink():
        raise ConfigError(f"{target} is a symbolic link.", hint="Remove it, or name another folder with --into.")
    return file.is_file() and _MARK in file.read_text(encoding="utf-8", errors="replace")


def write_copy(copy: Copy) -> Iterator[Path]:
    folder = copy.skill.folder
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        text = file.read_text(encoding="utf-8")
        place = copy.target / file.relative_to(folder)
        if file.name == "SKILL.md":
            text = text.replace(f"name: {copy.skill.name}\n", f"name: {copy.name}\n", 1)
            text = f"{text.rstrip()}\n\n{_MARK}\n"
        write_atomically(place, text)
        yield place
