"""CI workflows: install commands of every step, matrices, images, and the jobs that are switched off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from layline.core.evidence import Location, Skipped
from layline.gap.dependencies.model import SWITCHED_OFF, Declaration, Kind, Rank, leave_unread
from layline.gap.dependencies.shell import ShellLine, find_channels, find_shell_declarations
from layline.yaml_text import NotYaml, compose_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_BYTES = 1_000_000
_SCRIPT_KEYS = frozenset({"run", "script", "before_script", "after_script", "command"})
_VALUE_KEYS = re.compile(
    r"^(?:python[-_]?versions?|torch[-_]?versions?|cuda[-_]?versions?|rocm[-_]?versions?|gpu-arch-version"
    r"|gpu-arch-type|(?:[a-z]+[-_])?image(?:[-_]?name)?|dockerimage)$"
)
_MATRIX_LINE = re.compile(
    r'\s*"(gpu-arch-type|gpu-arch-version|docker-image|torch-version|python-version)":\s*"([^"$]+)"'
)
_OFF = re.compile(r"^\s*(?:\$\{\{\s*)?(?:false|0)(?:\s*&&.*)?\s*(?:\}\}\s*)?$", re.IGNORECASE)


def find_workflow_declarations(path: str, text: str) -> Iterator[Declaration | Skipped]:
    """Everything one workflow file installs; commented-out lines are not facts, a job switched off is one."""
    if len(text) > _MAX_BYTES:
        yield leave_unread(
            path, None, f"{len(text)} characters are more than the {_MAX_BYTES} that Layline reads of a workflow"
        )
        return
    try:
        root = compose_yaml(text)
    except NotYaml as error:
        yield leave_unread(path, None, f"not YAML: {error}")
        return
    if isinstance(root, yaml.MappingNode):
        yield from _find_in(path, text.splitlines(), root)


def _find_in(path: str, lines: list[str], root: Any) -> Iterator[Declaration | Skipped]:
    seen: set[int] = set()
    jobs = {id(node): name for name, node in _pairs(_child(root, "jobs"))}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue  # an anchor used twice, or one that holds itself
        seen.add(id(node))
        if id(node) in jobs:
            switch = _child(node, "if")
            if switch is not None and _OFF.match(str(switch.value)):
                yield _declare(path, switch, Kind.JOB, jobs[id(node)], SWITCHED_OFF)
                continue  # what a dead job installs is not a fact about today
            yield _declare(path, node, Kind.JOB, jobs[id(node)], "")
        for name, child in _pairs(node):
            if name in _SCRIPT_KEYS:
                yield from _find_script(path, lines, child)
            elif _VALUE_KEYS.match(name):
                yield from _find_values(path, name, child)
            waiting.append(child)
        waiting.extend(reversed(node.value) if node.id == "sequence" else ())
        if node.id == "scalar" and "/whl" in node.value and node.style is None:
            yield from find_channels(path, ShellLine.at(node.start_mark.line + 1, node.value), Rank.COMMANDS)


def _find_script(path: str, lines: list[str], node: Any) -> Iterator[Declaration | Skipped]:
    if node.id == "sequence":
        for item in node.value:
            yield from _find_script(path, lines, item)
        return
    if node.id != "scalar":
        return
    if node.style in {"|", ">"}:
        numbered = [
            (number + 1, lines[number])
            for number in range(node.start_mark.line + 1, min(node.end_mark.line + 1, len(lines)))
        ]
    else:
        numbered = [(node.start_mark.line + 1, node.value)]
    yield from find_shell_declarations(path, numbered)
    for number, line in numbered:
        yield from _find_matrix_value(path, number, line)


def find_commented(path: str, text: str) -> Iterator[Declaration]:
    """Platforms that somebody commented out in a workflow: no facts about today, but told beside what is gone."""
    for number, line in enumerate(text[:_MAX_BYTES].splitlines(), 1):
        bare = line.lstrip()
        if bare.startswith("#"):
            yield from _find_matrix_value(path, number, bare.lstrip("#"))
            yield from find_channels(path, ShellLine.at(number, bare), Rank.COMMANDS)


def _find_matrix_value(path: str, number: int, line: str) -> Iterator[Declaration]:
    """A line of a matrix that a script writes as JSON."""
    found = _MATRIX_LINE.match(line)
    if found is not None:
        yield Declaration(
            rank=Rank.COMMANDS,
            kind=Kind.IMAGE if "image" in found.group(1) else Kind.SETTING,
            name=found.group(1),
            spec=found.group(2),
            scope=path,
            place=Location(path, number),
        )


def _find_values(path: str, name: str, node: Any) -> Iterator[Declaration]:
    """One value or several; an image may say its name among other things (`image: {name: …, entrypoint: …}`)."""
    named = _child(node, "name") if name == "image" else None
    for value in node.value if node.id == "sequence" else [named or node]:
        if value.id == "scalar" and value.value and "${{" not in value.value:
            kind = Kind.IMAGE if "image" in name else Kind.SETTING
            yield _declare(path, value, kind, name.replace("_", "-"), value.value)


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    if node is not None and node.id == "mapping":
        for key, value in node.value:
            if key.id == "scalar":
                yield key.value, value


def _child(node: Any, name: str) -> Any:
    return next((value for key, value in _pairs(node) if key == name), None)


def _declare(path: str, node: Any, kind: Kind, name: str, spec: str) -> Declaration:
    place = Location(path, node.start_mark.line + 1)
    return Declaration(rank=Rank.COMMANDS, kind=kind, name=name, spec=spec, scope=path, place=place)
