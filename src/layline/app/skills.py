"""`skills`: the agent skills that come with Layline, copied where agents look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.report import Answer, Paragraph, Report, Section, Table
from layline.project.skills import find_places, find_skills, plan_copy, write_copy

if TYPE_CHECKING:
    from layline.project import answers


def skills_list() -> Answer:
    """The skills that come with Layline."""
    skills = find_skills()
    rows = tuple((skill.name, skill.description) for skill in skills)
    report = Report(
        title="Agent skills",
        sections=(Section(title="", blocks=(Table(columns=("skill", "when to use it"), rows=rows),)),),
    )
    data: answers.Skills = {
        "schema": "layline.skills/1",
        "skills": [{"name": name, "description": text} for name, text in rows],
    }
    return Answer(report=report, data=data)


def skills_install(root: Path, *, places: tuple[str, ...] = ()) -> Answer:
    """Copy every skill below `root` into the agents' folders that exist there, or into `places`.

    Beside a skill of the same name that Layline did not write, ours gets the name `layline-NAME`.
    """
    folders = find_places(root, places)
    planned = [plan_copy(skill, folder) for folder in folders for skill in find_skills()]
    written = [str(path) for copy in planned for path in write_copy(copy)]
    names = sorted({copy.name for copy in planned})
    shown = ", ".join(
        folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder) for folder in folders
    )
    said = [f"Installed {', '.join(names)} into {shown}."]
    renamed = sorted({copy.skill.name for copy in planned if copy.name != copy.skill.name})
    if renamed:
        stays = "it stays as it is" if len(renamed) == 1 else "they stay as they are"
        said.append(f"The project has its own {' and '.join(renamed)}: {stays}.")
    report = Report(title="Agent skills", sections=(Section(title="", blocks=tuple(map(Paragraph, said))),))
    data: answers.WrittenSkills = {"schema": "layline.skills/1", "written": written, "skills": names}
    return Answer(report=report, data=data)
