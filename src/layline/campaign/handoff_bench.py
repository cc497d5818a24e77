"""An operator's benchmark, with options that lead to its kernel: a row of a hand-off. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.handoff_files import find_kernel
from layline.campaign.handoff_project import Project, form_command
from layline.campaign.handoff_request import Prerequisite, Request
from layline.campaign.project.benchmark import Benchmark
from layline.campaign.project.harness import choose_metric
from layline.campaign.project.names import family, find_benches, find_stems
from layline.campaign.project.variables import find_unread
from layline.campaign.project_docs import (
    PRECISION,
    Line,
    choose_command,
    contradicts,
    find_named,
    find_row,
    find_variable,
    names_operator,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layline.campaign.project_docs import Row


def find_benchmark(request: Request, project: Project) -> Benchmark | None:
    """The focused benchmark, followed with its options; None where there is none or it cannot be followed to the end."""
    command = find_bench(request, project, find_row(request.operator, project.texts)).value or ""
    path = _find_program(command, project)
    found = project.follow(path, command) if path is not None and not request.trusted_metric else None
    return found if found is not None and choose_metric(found) else None


def read_environment(project: Project, request: Request) -> dict[str, str]:
    """The variables that stand before the focused benchmark."""
    command = find_bench(request, project, find_row(request.operator, project.texts)).value or ""
    return dict(re.findall(r"(?:^|\s)([A-Z][A-Z0-9_]*)=(\S+)", command.split("python", 1)[0]))


def find_bench(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """As the project shows it, with options that lead to the kernel; one that chooses its backend by a variable that no code
    reads measures another kernel.
    """
    found = _choose_bench(request, project, row)
    if request.option("bench"):
        return found
    kernel = find_kernel(request, project, row).value
    found = _lead_to(kernel, request, project, found) if kernel is not None else found
    unread = find_unread(found.value or "", project.variables)
    if unread is None:
        return found
    name, beside = unread
    listed = ", ".join(f"{other} ({where})" for other, where in sorted(beside.items()))
    told = (
        f"missing: {found.found}; but no code reads {name}; the code has {listed}: pass --bench with the right variable"
    )
    return replace(found, value=None, found=told)


def _lead_to(kernel: str, request: Request, project: Project, found: Prerequisite) -> Prerequisite:
    """The command, if it leads to the kernel; else the one that a document shows for the same file and that does."""
    leads, path = project.leads, _find_program(found.value or "", project)
    if leads is None or path is None or not leads.is_followed(kernel):
        return found
    shown = Line(text=found.value or "", where=found.found)
    listed = [
        shown,
        *(line for line in project.lines if _find_program(line.text, project) == path and "python" in line.text),
    ]
    followed = [(line, project.follow(path, line.text)) for line in listed]
    leading = [
        (line, one)
        for line, one in followed
        if one is not None
        and one.ran
        and leads.is_measured(one, kernel)
        and not contradicts(line.text, request.backend)
    ]
    if followed[0][1] is None or not followed[0][1].ran or (leading and leading[0][0] is shown):
        return found
    if len({line.text for line, _one in leading}) != 1:
        told = f"missing: {shown.text} ({shown.where}) never leads to {kernel}; pass --bench with options that do"
        return replace(found, value=None, found=told)
    (line, one), *_rest = leading
    told = f"{line.where}: the only documented command for it that leads to {kernel}"
    bare = Prerequisite(name=found.name, value=line.text, found=told)
    if not leads.find_variables(one, project.variables):
        return replace(bare, found=f"{told}; no code that it runs reads the variable of a backend")
    return _with_backend(bare, request, project.lines)


def _find_program(command: str, project: Project) -> str | None:
    words = (word for word in command.split() if re.fullmatch(r"[\w./-]+\.py", word))
    return next((word for word in words if word in project.files), None)


def _choose_bench(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """The benchmark of this very operator; one that serves a whole family needs the options its documents show."""
    name = "Focused benchmark command"
    own = find_benches(project.files, find_stems(request.operator))
    listed = find_named(row.read("bench"), project.files) if row else []
    shared = [file for file, _options in listed] or find_benches(project.files, [family(request.operator)])
    if request.option("bench") or not (own or shared):
        found = form_command(request, "bench", own, name, "python {}")
        told = f"missing: {row.where} names no benchmark of it; pass --bench" if row is not None else found.found
        return found if found.value is not None else replace(found, found=told)
    chosen, lines = (own or shared)[0], project.lines
    if chosen in project.sources and not names_operator(project.sources[chosen], family(request.operator)):
        where = row.where if row is not None and chosen in shared else "its name"
        told = f"missing: {chosen} ({where}) never names {family(request.operator)}; pass --bench with one that measures it"
        return Prerequisite(name=name, value=None, found=told)
    shown = choose_command("python", chosen, request.operator, request.backend, lines)
    precise = [word for word in request.operator.split("_")[1:] if PRECISION.fullmatch(word)]
    if shown is not None and all(word in shown.text.lower() for word in precise):
        return _with_backend(Prerequisite(name=name, value=shown.text, found=shown.where), request, lines)
    options = next((options for file, options in listed if file == chosen), "")
    if row is not None and len(listed) == 1 and all(word in options.lower() for word in precise):
        mapped = Prerequisite(name=name, value=f"python {chosen} {options}".strip(), found=row.where)
        return _with_backend(mapped, request, lines)
    if own and all(word in chosen for word in precise):
        return _with_backend(form_command(request, "bench", own, name, "python {}"), request, lines)
    told = f"missing: no document says which options of {chosen} measure {request.operator}; pass --bench with them"
    return Prerequisite(name=name, value=None, found=told)


def _with_backend(found: Prerequisite, request: Request, lines: Sequence[Line]) -> Prerequisite:
    """The command with its backend chosen, where a document names the variable for it."""
    variable = find_variable(family(request.operator), lines)
    if found.value is None or "_BACKEND=" in found.value or variable is None:
        return found
    told = f"{found.found}; {variable.text} as in {variable.where}"
    return replace(found, value=f"{variable.text}={request.backend.upper()} {found.value}", found=told)
