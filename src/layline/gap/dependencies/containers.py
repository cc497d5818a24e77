"""Dockerfiles: base images, pinned arguments, and what their RUN lines install (heredocs included)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.gap.dependencies.model import Declaration, Kind, Rank
from layline.gap.dependencies.shell import find_shell_declarations

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTAINER_FILE = re.compile(r"(?:^|/)(?:Dockerfile|Containerfile)(?:\.[\w.-]+)?$|\.[Dd]ockerfile$")
_FROM = re.compile(r"^\s*FROM\s+(?:--platform=\S+\s+)?(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?", re.IGNORECASE)


def find_container_declarations(path: str, text: str) -> Iterator[Declaration | Skipped]:
    """A Dockerfile is close enough to shell that its RUN lines, ARG and ENV are read by the shell reader."""
    stages: set[str] = set()
    lines = list(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if found := _FROM.match(line):
            image = found["image"]
            if image not in stages and not image.startswith("$"):
                place = Location(path, number)
                yield Declaration(rank=Rank.COMMANDS, kind=Kind.IMAGE, name="FROM", spec=image, scope=path, place=place)
            stages.add(found["stage"] or image)
    yield from find_shell_declarations(path, ((number, _without_instruction(line)) for number, line in lines))


def _without_instruction(line: str) -> str:
    """A RUN line as the shell sees it; an ENV in the old form (`ENV A b`) as an assignment."""
    bare = re.sub(r"^\s*RUN\s+(?:--\S+\s+)*", "", line)
    return re.sub(r"^\s*ENV\s+([A-Z][A-Z0-9_]*)\s+(?!=)(\S+)\s*$", r"\1=\2", bare)
