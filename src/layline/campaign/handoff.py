"""What a campaign needs before it can begin: each prerequisite with where it was found, or that it is missing. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.campaign.handoff_bench import find_bench, read_environment
from layline.campaign.handoff_files import find_kernel, find_own_tests, find_test, find_unled
from layline.campaign.handoff_project import Project, choose, list_some
from layline.campaign.handoff_request import Prerequisite, Request, recommend_mode
from layline.campaign.project.benchmark import Benchmark
from layline.campaign.project.harness import choose_header, choose_metric, list_shapes
from layline.campaign.project.names import family, find_benches, find_stems
from layline.campaign.project_docs import (
    describe_columns,
    find_devices,
    find_harness,
    find_named,
    find_row,
    find_suite,
    names_operator,
    propose_metric,
)
from layline.campaign.values.manifest import LANGUAGES, METRICS
from layline.core.prose import verb

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from layline.campaign.project_docs import Row


def find_prerequisites(request: Request, project: Project) -> Iterator[Prerequisite]:
    """The specification's table, row by row; given values first, then what the tree and its documents show without
    doubt.
    """
    mode = recommend_mode(request.backend, request.gpu, new_kernel=request.new_kernel)
    row = find_row(request.operator, project.texts)
    yield find_kernel(request, project, row)
    yield from _find_trusted(request) if request.trusted_metric else _find_commands(request, project, row)
    yield from _find_measure(request, project.benchmark)
    if not request.trusted_metric:
        told = "no gain is called real without it: write transfer_command into the draft (docs/campaign.md)"
        yield Prerequisite(name="Training-step simulation", value="none", found=told)
    if row is not None and not request.trusted_metric:
        yield Prerequisite(name="Project skill", value=row.document, found=f"{row.where} names this operator's files")
    yield from _find_notes(request, project)
    yield Prerequisite(
        name="Scoring rule",
        value="geometric mean",
        found="of the primary metric over all shapes; 0 if one does not pass",
    )
    chosen = request.option("mode") or mode.execution_mode
    yield Prerequisite(name="execution_mode", value=chosen, found="given" if request.option("mode") else mode.why)
    rebuild = request.option("rebuild") or mode.rebuild
    yield Prerequisite(
        name="Rebuild after a change", value=rebuild or "none", found="given" if request.option("rebuild") else mode.why
    )


def _find_measure(request: Request, benchmark: Benchmark | None) -> Iterator[Prerequisite]:
    """What the benchmark must write, by kind of operator."""
    metric, why = request.option("metric") or request.trusted_metric, "given"
    proposed = choose_metric(benchmark) if benchmark is not None else None
    if metric is None:
        metric, why = proposed or propose_metric(request.operator)
    elif not request.option("metric"):
        why = "the operator's"
    columns = ",".join(choose_header(benchmark)) if proposed is not None and benchmark is not None else None
    told = f"{columns or describe_columns(metric)}; by `--summary-csv`, frozen at the baseline; `layline bench csv` reads it"
    yield Prerequisite(name="Benchmark output format", value="frozen CSV", found=told)
    yield Prerequisite(
        name="Correctness column", value="Check", found="PASS or FAIL per shape; any FAIL rejects the candidate"
    )
    known = metric in METRICS or request.trusted_metric
    yield Prerequisite(
        name="Performance metric columns",
        value=metric if known else None,
        found=why if known else f"missing: pass --metric, one of {', '.join(METRICS)}",
    )


def _find_commands(request: Request, project: Project, row: Row | None) -> Iterator[Prerequisite]:
    yield find_test(request, project, row)
    yield _find_suite(request, project, row)
    yield find_bench(request, project, row)
    yield _find_quick(request, project)
    yield _find_shapes(request, project, row)


def _find_notes(request: Request, project: Project) -> Iterator[Prerequisite]:
    """Pages in a folder that is called after the operator: what was tried before."""
    notes = [one for one in project.files if one.endswith(".md") and request.operator in one.split("/")[:-1]]
    if notes:
        yield Prerequisite(name="Notes of earlier work", value=notes[0], found=f"read them first: {list_some(notes)}")


def _find_suite(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """What `campaign accept` runs at the end; where no document shows it, the focused test is."""
    name = "Acceptance suite"
    tests = find_own_tests(request, project, row)
    # of an operator without a test of its own: the command that runs most of the project's tests
    asked = tests[:1] or [one for one in project.files if re.search(r"(^|/)test_[^/]*\.py\Z", one)]
    suites = [one for test in asked if (one := find_suite(test, project.files, project.lines)) is not None]
    found = max(suites, key=suites.count, default=None)
    if found is not None:
        return Prerequisite(name=name, value=found.text, found=f"{found.where}; `campaign accept` runs it")
    told = "no document shows a command for the whole suite: write suite_command into the draft, or `campaign accept` runs the focused test alone"
    return Prerequisite(name=name, value="none", found=told)


def _find_quick(request: Request, project: Project) -> Prerequisite:
    """Written around the benchmark where that can be followed; a template is named, not taken."""
    name, found = "Quick validation harness", find_harness(project.files)
    if request.option("quick"):
        return choose(request, "quick", [], name)
    if project.benchmark is not None:
        told = (
            f"written with --draft, unless it exists: it starts {project.benchmark.path}, measures each shape of LAYLINE_SHAPES by "
            f"{project.benchmark.function} and sets {', '.join(read_environment(project, request)) or 'no environment variable'}"
        )
        return Prerequisite(name=name, value=f"python {request.option('harness') or name_harness(request)}", found=told)
    if not found:
        return choose(request, "quick", [], name)
    told = (
        f"missing: copy {found[0]}, set its backend to {request.backend.upper()}, adapt it to {request.operator}, let it read "
        "its shapes as JSON from LAYLINE_SHAPES; pass --quick 'python COPY'"
    )
    return Prerequisite(name=name, value=None, found=told)


def _find_shapes(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """Those that the project's benchmark goes through; else its tables, of which a person says which count."""
    name = "Target shapes"
    if project.benchmark is not None:
        made = project.benchmark
        told = f"{made.where} measures them: {', '.join(made.axes)}; read from its code, without running it"
        if made.device is not None:
            told += f"; as on {made.device} ({find_devices(request.gpu, project.texts)[1]})"
            told += (
                f"; on {' and '.join(made.others)} it measures others, and a shape that is not measured counts as failed"
                if made.others
                else ""
            )
        if made.undecided:
            one = len(made.undecided) == 1
            told += f"; a run may measure others: only the machine decides {' and '.join(made.undecided)}, and here {'it counts' if one else 'they count'} as false; compare with its output"
        told += "; delete the shapes that do not count from target_shapes"
        if made.evenness is not None:
            added = len(list_shapes(made)) - len(made.shapes)
            told += (
                f"; {added} of them {verb(added, 'was')} added by Layline, with uneven groups: the benchmark draws "
                "only even ones"
            )
            told += f" ({made.evenness.keyword}={made.evenness.value}, {made.path}:{made.evenness.line})"
        return Prerequisite(name=name, value=f"{len(list_shapes(made))} shapes", found=told)
    bench = find_benches(project.files, [*find_stems(request.operator), family(request.operator)])
    bench += [file for file, _options in find_named(row.read("bench"), project.files)] if row else []
    folders = {file.rpartition("/")[0] for file in bench}
    tables = [
        one for one in project.files if one.rpartition("/")[0] in folders and one.endswith(("/config.py", "/shapes.py"))
    ]
    is_measured = find_bench(request, project, row).value is not None or any(
        names_operator(project.sources[file], family(request.operator)) for file in bench if file in project.sources
    )
    where = (
        f"{tables[0]} has the benchmark's own shapes"
        if tables and is_measured
        else "no benchmark was found to read them from"
    )
    told = f"missing: {where}; write those that count under target_shapes, each with a label"
    return Prerequisite(name=name, value=None, found=told)


def _is_said(word: str, project: Project) -> bool:
    texts = (*project.files, *project.texts.values(), *project.sources.values())
    return any(word.lower() in text.lower() for text in texts)


def name_harness(request: Request) -> str:
    """One file for each target."""
    return re.sub(r"[^\w.-]", "_", f"quick_{request.operator}_{request.backend.lower()}.py")


def _find_trusted(request: Request) -> Iterator[Prerequisite]:
    """Where an operator definition ships, Layline feeds, checks and times; a command of the user's may still be
    given.
    """
    named = (
        ("test", "Focused test command", "the operator's fp64 oracle checks every timed call"),
        ("bench", "Focused benchmark command", "`layline campaign measure --full`"),
        ("quick", "Quick validation harness", "`layline campaign measure`"),
    )
    for option, name, instead in named:
        given = request.option(option)
        yield Prerequisite(
            name=name, value=given or "not needed", found="given" if given else f"trusted measuring: {instead}"
        )


def find_disagreements(request: Request, machine: Mapping[str, str], project: Project | None = None) -> Iterator[str]:
    """What the request says against itself, against this machine or against the project's code."""
    unled = find_unled(request, project) if project is not None and not request.option("kernel") else None
    if unled is not None:
        yield f"the backend is {request.backend}, but {unled} leads to no {request.language} kernel: {request.operator} may have none"
    expected = LANGUAGES.get(request.backend.upper())
    language = request.option("lang")
    if expected and language and language.upper() != expected:
        yield f"backend {request.backend} is written in {expected}, --lang says {language}"
    if project is not None and expected is None and not _is_said(request.backend, project):
        yield f"nothing in the project mentions {request.backend}: no document, benchmark or file name"
    seen = machine.get("gpu")
    if seen and request.gpu not in ("cpu", seen):
        yield f"the target is {request.gpu}, this machine has {seen}"
    metric = request.option("metric")
    if metric and metric not in METRICS:
        yield f"{metric!r} is not one of {', '.join(METRICS)}"
    mode = recommend_mode(request.backend, request.gpu, new_kernel=request.new_kernel)
    chosen = request.option("mode")
    if chosen and chosen != mode.execution_mode:
        yield f"--mode is {chosen}, but {mode.execution_mode} is recommended ({mode.why})"
