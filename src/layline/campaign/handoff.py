"""What a campaign needs before it can begin: each prerequisite with where it was found, or that it is missing. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.campaign.handoff_request import Prerequisite, Request, recommend_mode
from layline.campaign.project.benchmark import Benchmark, find_tasks, read_benchmark
from layline.campaign.project.harness import choose_header, choose_metric
from layline.campaign.project.names import family, find_benches, find_kernels, find_stems, find_tests, narrow
from layline.campaign.project.tests import choose_selection
from layline.campaign.project.values import has_unknown
from layline.campaign.project.variables import find_unread
from layline.campaign.project_docs import (
    PRECISION,
    Line,
    choose_command,
    describe_columns,
    find_harness,
    find_kernel_files,
    find_lines,
    find_named,
    find_row,
    find_variable,
    names_operator,
    propose_metric,
)
from layline.campaign.values.manifest import LANGUAGES, METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from layline.campaign.project_docs import Row


SHOWN = 5
"""Candidates that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The tree's files, and what its skills and pages say."""

    files: Sequence[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    """Of its benchmarks: programs, and suites of commands for them."""
    read: Callable[[str], str | None] = lambda _path: None
    """The text of a file of the tree."""
    benchmark: Benchmark | None = None
    """What the focused benchmark does, where it could be followed."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for backends that its code names, and where."""

    @property
    def lines(self) -> list[Line]:
        """Commands that documents show, and those of the project's suites."""
        files = list(self.files)
        tasks = (
            task
            for path, text in self.sources.items()
            if path.endswith((".yaml", ".yml"))
            for task in find_tasks(path, text, files)
        )
        return [*find_lines(self.texts), *(Line(text=task.text, where=task.where) for task in tasks)]


def find_prerequisites(request: Request, project: Project) -> Iterator[Prerequisite]:
    """The specification's table, row by row; given values first, then what the tree and its documents show without
    doubt.
    """
    mode = recommend_mode(request.backend, request.gpu, new_kernel=request.new_kernel)
    row = find_row(request.operator, project.texts)
    yield _find_kernel(request, project, row)
    yield from _find_trusted(request) if request.trusted_metric else _find_commands(request, project, row)
    yield from _find_measure(request, project.benchmark)
    if not request.trusted_metric:
        told = "no gain is called real without it: write transfer_command into the draft (docs/campaign.md)"
        yield Prerequisite(name="Training-step simulation", value="none", found=told)
    if row is not None and not request.trusted_metric:
        yield Prerequisite(name="Project skill", value=row.document, found=f"{row.where} names this operator's files")
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
        found=why if known else f"missing: say --metric, one of {', '.join(METRICS)}",
    )


def _find_kernel(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """By its name where one file has it, else from the project's own map."""
    name, named = "Kernel source file path", find_kernels(request, project.files)
    if request.option("kernel") or len(named) == 1 or row is None:
        return _choose(request, "kernel", named, name)
    listed = find_kernel_files(row, request.language, project.files)
    named_after = [file for file in listed if request.backend.lower() in file.rsplit("/", 1)[-1].lower()]
    own = narrow(listed, request.operator) or (named_after if len(named_after) == 1 else listed)
    if len(own) == 1:
        return Prerequisite(name=name, value=own[0], found=row.where)
    if listed:
        told = f"missing: {row.where} leads to {len(own)} files ({_list_some(own)}); say --kernel"
        return Prerequisite(name=name, value=None, found=told)
    return _choose(request, "kernel", named, name)


def _find_commands(request: Request, project: Project, row: Row | None) -> Iterator[Prerequisite]:
    yield _find_test(request, project, row)
    yield _find_bench(request, project, row)
    yield _find_quick(request, project)
    yield _find_shapes(request, project, row)


def _find_test(request: Request, project: Project, row: Row | None) -> Prerequisite:
    name = "Focused test command"
    listed = [file for file, _options in find_named(row.read("test"), project.files)] if row else []
    named = find_tests(request, project.files)
    own = narrow([file for file in named if file in listed] or named or listed, request.operator, "test_") or listed
    if request.option("test") or len(own) != 1:
        return _command(request, "test", own, name, "pytest {} -v")
    lost = find_lost_precision(request, project, own[0], row)
    if lost:
        others = [
            file
            for file in project.files
            if _is_test_of(file, family(request.operator)) and _names(project, file, lost)
        ]
        if len(others) != 1:
            told = f"missing: no test of {family(request.operator)} is known to be that of {lost}; say --test"
            return Prerequisite(name=name, value=None, found=told)
        told = f"{others[0]} is the only test of {family(request.operator)} that names {lost}"
        return Prerequisite(name=name, value=f"pytest {others[0]} -v", found=told)
    shown = choose_command("pytest", own[0], request.operator, request.backend, project.lines)
    if shown is not None:
        return Prerequisite(name=name, value=shown.text, found=shown.where)
    found = _command(request, "test", own, name, "pytest {} -v")
    found = replace(found, found=row.where) if row is not None and own[0] in listed else found
    words = [word for word in request.operator.lower().split("_") if PRECISION.fullmatch(word)]
    selected = choose_selection(project.read(own[0]) or "", words, request.backend.upper())
    if not selected:
        return found
    told = f"{found.found}; its tests take {' and '.join(selected)} among others"
    return replace(found, value=f'{found.value} -k "{" and ".join(selected)}"', found=told)


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


def _find_quick(request: Request, project: Project) -> Prerequisite:
    """Written around the benchmark where that can be followed; a template is named, not taken."""
    name, found = "Quick validation harness", find_harness(project.files)
    if request.option("quick"):
        return _choose(request, "quick", [], name)
    if project.benchmark is not None:
        told = (
            f"--draft writes it, unless it exists, around {project.benchmark.function} ({project.benchmark.where}); sets "
            f"{', '.join(read_environment(project, request)) or 'no variable'}, reads LAYLINE_SHAPES"
        )
        return Prerequisite(name=name, value=f"python {request.option('harness') or name_harness(request)}", found=told)
    if not found:
        return _choose(request, "quick", [], name)
    told = (
        f"missing: copy {found[0]}, set its backend to {request.backend.upper()}, adapt it to {request.operator}, let it read "
        "its shapes as JSON from LAYLINE_SHAPES; say --quick 'python COPY'"
    )
    return Prerequisite(name=name, value=None, found=told)


def _find_shapes(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """Those that the project's benchmark goes through; else its tables, of which a person says which count."""
    name = "Target shapes"
    if project.benchmark is not None:
        made = project.benchmark
        told = f"{made.where} measures them: {', '.join(made.axes)}; read from its code, without running it"
        if made.undecided:
            told += f"; a run may measure others: the machine decides {' and '.join(made.undecided)}, taken as false here; compare with its output"
        told += "; shapes that do not count go out of target_shapes"
        return Prerequisite(name=name, value=f"{len(made.shapes)} shapes", found=told)
    bench = find_benches(project.files, [*find_stems(request.operator), family(request.operator)])
    bench += [file for file, _options in find_named(row.read("bench"), project.files)] if row else []
    folders = {file.rpartition("/")[0] for file in bench}
    tables = [
        one for one in project.files if one.rpartition("/")[0] in folders and one.endswith(("/config.py", "/shapes.py"))
    ]
    is_measured = _find_bench(request, project, row).value is not None or any(
        names_operator(project.sources[file], family(request.operator)) for file in bench if file in project.sources
    )
    where = (
        f"{tables[0]} has the benchmark's own"
        if tables and is_measured
        else "no benchmark of it was found to read them from"
    )
    told = f"missing: {where}; write those that count under target_shapes, each with a label"
    return Prerequisite(name=name, value=None, found=told)


def name_harness(request: Request) -> str:
    """One file for each target."""
    return re.sub(r"[^\w.-]", "_", f"quick_{request.operator}_{request.backend.lower()}.py")


def find_benchmark(request: Request, project: Project) -> Benchmark | None:
    """The focused benchmark, followed with its options; None where there is none or it cannot be followed to the end."""
    command = _find_bench(request, project, find_row(request.operator, project.texts)).value or ""
    words = (word for word in command.split() if re.fullmatch(r"[\w./-]+\.py", word))
    path = next((word for word in words if word in project.files), None)
    found = read_benchmark(path, command, project.read) if path is not None and not request.trusted_metric else None
    return found if found is not None and choose_metric(found) and not has_unknown(dict(found.arguments)) else None


def read_environment(project: Project, request: Request) -> dict[str, str]:
    """The variables that stand before the focused benchmark."""
    command = _find_bench(request, project, find_row(request.operator, project.texts)).value or ""
    return dict(re.findall(r"(?:^|\s)([A-Z][A-Z0-9_]*)=(\S+)", command.split("python", 1)[0]))


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


def _choose(request: Request, option: str, candidates: list[str], name: str) -> Prerequisite:
    given = request.option(option)
    if given:
        return Prerequisite(name=name, value=given, found="given")
    if len(candidates) == 1:
        return Prerequisite(name=name, value=candidates[0], found=f"the only match in the tree: {candidates[0]}")
    if candidates:
        return Prerequisite(
            name=name,
            value=None,
            found=f"missing: {len(candidates)} candidates ({_list_some(candidates)}); say --{option}",
        )
    return Prerequisite(name=name, value=None, found=f"missing: nothing in the tree says it; say --{option}")


def _list_some(files: Sequence[str]) -> str:
    more = len(files) - SHOWN
    return ", ".join(files[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _command(request: Request, option: str, candidates: list[str], name: str, form: str) -> Prerequisite:
    found = _choose(request, option, candidates, name)
    if found.value is None or found.found == "given":
        return found
    return Prerequisite(name=name, value=form.format(found.value), found=found.found)


def _find_bench(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """As the project shows it; one that chooses its backend by a variable that no code reads measures another kernel."""
    found = _choose_bench(request, project, row)
    unread = find_unread(found.value or "", project.variables) if not request.option("bench") else None
    if unread is None:
        return found
    name, beside = unread
    listed = ", ".join(f"{other} ({where})" for other, where in sorted(beside.items()))
    told = f"missing: {found.found}; but no code reads {name}: it names {listed}; say --bench with the right one"
    return replace(found, value=None, found=told)


def _choose_bench(request: Request, project: Project, row: Row | None) -> Prerequisite:
    """The benchmark of this very operator; one that serves a whole family needs the options its documents show."""
    name = "Focused benchmark command"
    own = find_benches(project.files, find_stems(request.operator))
    listed = find_named(row.read("bench"), project.files) if row else []
    shared = [file for file, _options in listed] or find_benches(project.files, [family(request.operator)])
    if request.option("bench") or not (own or shared):
        found = _command(request, "bench", own, name, "python {}")
        told = f"missing: {row.where} names no benchmark of it; say --bench" if row is not None else found.found
        return found if found.value is not None else replace(found, found=told)
    chosen, lines = (own or shared)[0], project.lines
    if chosen in project.sources and not names_operator(project.sources[chosen], family(request.operator)):
        where = row.where if row is not None and chosen in shared else "its name"
        told = (
            f"missing: {chosen} ({where}) never names {family(request.operator)}; say --bench with one that measures it"
        )
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
        return _with_backend(_command(request, "bench", own, name, "python {}"), request, lines)
    told = f"missing: {chosen} serves every precision of {family(request.operator)}; say --bench with the options of this one"
    return Prerequisite(name=name, value=None, found=told)


def _with_backend(found: Prerequisite, request: Request, lines: Sequence[Line]) -> Prerequisite:
    """The command with its backend chosen, where a document names the variable for it."""
    variable = find_variable(family(request.operator), lines)
    if found.value is None or "_BACKEND=" in found.value or variable is None:
        return found
    told = f"{found.found}; {variable.text} as in {variable.where}"
    return replace(found, value=f"{variable.text}={request.backend.upper()} {found.value}", found=told)


def find_disagreements(request: Request, machine: Mapping[str, str]) -> Iterator[str]:
    """What the request says against itself or against this machine."""
    expected = LANGUAGES.get(request.backend.upper())
    language = request.option("lang")
    if expected and language and language.upper() != expected:
        yield f"backend {request.backend} is written in {expected}, --lang says {language}"
    seen = machine.get("gpu")
    if seen and request.gpu not in ("cpu", seen):
        yield f"the target is {request.gpu}, this machine has {seen}"
    metric = request.option("metric")
    if metric and metric not in METRICS:
        yield f"{metric!r} is not one of {', '.join(METRICS)}"
    mode = recommend_mode(request.backend, request.gpu, new_kernel=request.new_kernel)
    chosen = request.option("mode")
    if chosen and chosen != mode.execution_mode:
        yield f"--mode {chosen} against the recommended {mode.execution_mode} ({mode.why})"
