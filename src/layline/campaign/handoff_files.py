"""An operator's kernel and the tests that lead to it: rows of a hand-off. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.handoff_project import Project, choose, form_command, list_some
from layline.campaign.handoff_request import Prerequisite, Request
from layline.campaign.project.leads import choose_words
from layline.campaign.project.names import family, find_kernels, find_tests, narrow
from layline.campaign.project.tests import choose_selection
from layline.campaign.project_docs import PRECISION, choose_command, find_kernel_files, find_named, find_row
from layline.core.prose import verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layline.campaign.project_docs import Row


def find_kernel(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """By its name where one file has it, else from the project's own map."""
    name, named = "Kernel source file path", find_kernels(request, project.files)
    given = request.option("kernel")
    if given and not request.new_kernel and given not in project.files:
        told = f"missing: {given} is not a file that git tracks here; pass --kernel with one that is, or --new-kernel"
        return Prerequisite(name=name, value=None, found=told)
    if request.option("kernel") or len(named) == 1 or row is None:
        return choose(request, "kernel", named, name)
    listed = find_kernel_files(row, request.language, project.files)
    named_after = [file for file in listed if request.backend.lower() in file.rsplit("/", 1)[-1].lower()]
    own = narrow(listed, request.operator) or (named_after if len(named_after) == 1 else listed)
    if len(own) == 1:
        return Prerequisite(name=name, value=own[0], found=row.where)
    test = find_unled(request, project)
    if test is None and (reached := _find_reached(request, project, row, own)):
        own = reached[1]
        if len(own) == 1:
            told = f"{row.where} names {len(listed)} files; {reached[0]} leads to this one"
            return Prerequisite(name=name, value=own[0], found=told)
    if listed:
        told = f"missing: {row.where} leads to {len(own)} files ({list_some(own)}); pass --kernel"
        told = f"{told}; {test} leads to none of them" if test is not None else told
        return Prerequisite(name=name, value=None, found=told)
    return choose(request, "kernel", named, name)


def _find_reached(request: Request, project: Project, row: Row, kernels: Sequence[str]) -> tuple[str, list[str]] | None:
    """The operator's own file of tests, and those of the kernels that it leads to; None where there is no such file."""
    tests = find_own_tests(request, project, row)
    if project.leads is None or len(tests) != 1 or not any(project.leads.is_followed(one) for one in kernels):
        return None
    return tests[0], project.leads.choose_reached(tests[0], kernels)


def find_unled(request: Request, project: Project) -> str | None:
    """The operator's own file of tests, where it leads to none of the kernels that the project's map names."""
    row = find_row(request.operator, project.texts)
    listed = find_kernel_files(row, request.language, project.files) if row is not None else []
    reached = _find_reached(request, project, row, listed) if row is not None else None
    return reached[0] if reached is not None and not reached[1] else None


def find_own_tests(request: Request, project: Project, row: Row | None) -> list[str]:
    listed = [file for file, _options in find_named(row.read("test"), project.files)] if row else []
    named = find_tests(request, project.files)
    return narrow([file for file in named if file in listed] or named or listed, request.operator, "test_") or listed


def find_test(request: Request, project: Project, row: Row | None) -> Prerequisite:
    name = "Focused test command"
    listed = [file for file, _options in find_named(row.read("test"), project.files)] if row else []
    own = find_own_tests(request, project, row)
    if request.option("test") or len(own) != 1:
        return form_command(request, "test", own, name, "pytest {} -v")
    lost = find_lost_precision(request, project, own[0], row)
    if lost:
        others = [
            file
            for file in project.files
            if _is_test_of(file, family(request.operator)) and _names(project, file, lost)
        ]
        if len(others) != 1:
            told = f"missing: no test of {family(request.operator)} is known to test {lost}; pass --test"
            return Prerequisite(name=name, value=None, found=told)
        told = f"{others[0]} is the only test of {family(request.operator)} that names {lost}"
        return Prerequisite(name=name, value=f"pytest {others[0]} -v", found=told)
    shown = choose_command("pytest", own[0], request.operator, request.backend, project.lines)
    if shown is not None:
        return Prerequisite(name=name, value=shown.text, found=shown.where)
    found = form_command(request, "test", own, name, "pytest {} -v")
    found = replace(found, found=row.where) if row is not None and own[0] in listed else found
    return _select_tests(request, project, found, own[0], find_kernel(request, project, row).value)


def _select_tests(
    request: Request, project: Project, found: Prerequisite, file: str, kernel: str | None
) -> Prerequisite:
    """Those of the file that lead to the kernel, of this precision and backend."""
    if kernel is None and find_unled(request, project):
        told = f"missing: {file} ({found.found}) leads to no {request.language} kernel; pass --test"
        return replace(found, value=None, found=told)
    leading: list[str] | None = None
    chosen: list[str] = []
    told = found.found
    if kernel is not None and project.leads is not None and project.leads.is_followed(kernel):
        leading, others = project.leads.find_tests(file, kernel)
        if others and not leading:
            told = f"missing: {file} ({found.found}) never leads to {kernel}: it tests another kernel; pass --test"
            return replace(found, value=None, found=told)
        if others and (word := choose_words(leading, others, file)):
            chosen.append(word)
            told += (
                f"; {len(leading)} of its {len(leading) + len(others)} tests {verb(len(leading), 'leads')} to {kernel}"
            )
    words = [word for word in request.operator.lower().split("_") if PRECISION.fullmatch(word)]
    selected = choose_selection(project.read(file) or "", words, request.backend.upper(), leading)
    if selected:
        told += f"; -k selects {' and '.join(selected)} among its tests"
    chosen += [word for word in selected if word not in chosen]
    joined = " and ".join(f"({one})" if " or " in one and len(chosen) > 1 else one for one in chosen)
    return replace(found, value=f'{found.value} -k "{joined}"', found=told) if chosen else found


def find_lost_precision(request: Request, project: Project, file: str, row: Row | None) -> str | None:
    """A number format of the operator that neither this file, nor its name, nor the row that led to it says."""
    said = {
        *re.findall(r"[a-z0-9]+", file.lower()),
        *(re.findall(r"[a-z0-9]+", row.cells[0][1].lower()) if row else ()),
    }
    formats = (
        word for word in request.operator.lower().split("_")[1:] if re.fullmatch(r"(?:mx)?(?:fp|bf|int)\d+", word)
    )
    return next((word for word in formats if word not in said and not _names(project, file, word, unread=True)), None)


def _names(project: Project, file: str, precision: str, *, unread: bool = False) -> bool:
    """Whether a file's text has the word, or torch's for it; `unread` where there is no text to look at."""
    text = project.read(file)
    if text is None:
        return unread
    long = re.sub(r"^bf", "bfloat", re.sub(r"^fp", "float", precision))
    return any(re.search(rf"(?<![a-z]){word}", text.lower()) for word in (precision, long))


def _is_test_of(file: str, name: str) -> bool:
    return re.fullmatch(rf"test_{re.escape(name)}(?:_\w+)?\.py", file.rsplit("/", 1)[-1]) is not None
