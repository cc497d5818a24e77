"""Prerequisites as tables, and a draft manifest that keeps what only a person can say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.campaign.handoff import name_harness
from layline.campaign.handoff_bench import read_environment
from layline.campaign.handoff_project import Project
from layline.campaign.handoff_request import Prerequisite, Request
from layline.campaign.operators import NAMES
from layline.campaign.operators.find import find_operator
from layline.campaign.project.harness import list_shapes, render_harness
from layline.campaign.values.manifest import LANGUAGES, SPECIFIED
from layline.core.evidence import Alert, Severity
from layline.core.report import Answer, Bullets, Cell, Paragraph, Report, Section, Table
from layline.errors import ConfigError
from layline.yaml_text import NotYaml, dump_yaml, load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from layline.campaign import answers


DRAFT_MARK = "# layline: draft manifest; the next hand-off writes it again and keeps the values that you filled in"
_OF_THE_USER = ("project_skill", "target_shapes", "representative_shapes", "git_commit", "git_branch", "max_iterations")
"""Keys that no option sets: what an earlier draft says there was written by a person."""
_SAID = {
    "transfer_command": "transfer_command: null  # simulates training steps; without it no gain is called real",
    "time_limit_s": "time_limit_s: 900.0  # of each run of quick_command and test_command",
}
"""Keys of a command's campaign that stand in the draft with their defaults, so that a person sees them."""
_ABSENT = {
    "test_command": "not found; without it a candidate is checked by quick_command alone",
    "benchmark_command": "not found; without it the last measurement is that of quick_command",
}
"""What follows where an optional command is not there."""
_DERIVED = frozenset({"name", "measuring", "operator", "rebuild_command"})


def read_earlier_draft(place: Path) -> dict[str, Any]:
    """What the draft of an earlier hand-off says; a file that Layline did not write is refused."""
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text.startswith("# layline: draft manifest"):
        raise ConfigError(
            f"{place} exists and is not a draft of Layline.", hint="Choose another name, or remove it first."
        )
    try:
        found = load_yaml(text)
    except NotYaml:
        raise ConfigError(
            f"{place} is no longer YAML: what you wrote there cannot be kept.", hint="Correct it, or remove it first."
        ) from None
    return found if isinstance(found, dict) else {}


def build_handoff(
    request: Request,
    rows: tuple[Prerequisite, ...],
    environment: tuple[Prerequisite, ...],
    disagreements: tuple[str, ...],
    drafts: tuple[str, str | None],
) -> Answer:
    """Every prerequisite with where it was found; what is missing needs a person."""
    missing = [row for row in (*rows, *environment[:1]) if row.value is None]
    report = Report(
        title=f"Hand-off: {request.operator} on {request.gpu} in {request.backend}",
        sections=(
            Section(title="Prerequisites", blocks=(_table(rows),)),
            Section(title="Environment", blocks=(_table(environment),)),
            Section(title="Contradictions", blocks=(Bullets(disagreements) if disagreements else Paragraph("None."),)),
            Section(
                title="Next",
                blocks=(Bullets((_find_next(request, has_missing=any(row.value is None for row in rows)),)),),
            ),
        ),
        alerts=tuple(Alert(severity=Severity.LOOK, message=f"{row.name}: {row.found}") for row in missing),
    )
    place = request.option("harness") or name_harness(request)
    data: answers.Handoff = {
        "schema": "layline.handoff/1",
        "prerequisites": [_encode(row) for row in rows],
        "environment": [_encode(row) for row in environment],
        "contradictions": list(disagreements),
        "missing": [row.name for row in missing],
        "draft": drafts[0],
        "harness": {"path": place, "text": drafts[1]} if drafts[1] is not None else None,
    }
    return Answer(report=report, data=data, needs_person=bool(missing or disagreements))


def _find_next(request: Request, *, has_missing: bool) -> str:
    draft = "Write a draft, and its harness, with `--draft draft.yaml`"
    filled = ", fill in what is marked MISSING" if has_missing else ""
    return f"{draft}{filled}, then begin with `layline campaign new {request.operator} --from draft.yaml`."


def read_document(place: Path) -> str:
    try:
        return place.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def find_metric(request: Request) -> str | None:
    """The metric of the CPU operator that ships under this name, for a kernel in C."""
    if request.language != "C" or request.gpu != "cpu" or request.operator not in NAMES:
        return None
    operator = find_operator(request.operator).operator
    return operator.metric if operator.language == "c" else None


def _table(rows: tuple[Prerequisite, ...]) -> Table:
    shown = tuple(
        (row.name, Cell(row.value, code=True) if row.value else "missing", row.found.removeprefix("missing: "))
        for row in rows
    )
    return Table(columns=("requirement", "value", "where"), rows=shown)


def _encode(row: Prerequisite) -> answers.Prerequisite:
    return {"name": row.name, "value": row.value, "found": row.found}


def render_quick(request: Request, project: Project) -> str | None:
    """The harness that the draft names, where one is written."""
    if project.benchmark is None or request.option("quick"):
        return None
    return render_harness(project.benchmark, request.operator, read_environment(project, request))


def render_draft(
    request: Request, rows: tuple[Prerequisite, ...], created: str, earlier: Mapping[str, Any], project: Project
) -> str:
    """A manifest with every key of the specification; what is missing is marked, and `campaign new` refuses it so."""
    known = {row.name: row.value for row in rows}
    backend = request.backend.upper()
    values: dict[str, Any] = {
        "target_op": request.operator,
        "target_backend": backend,
        "target_lang": (request.option("lang") or LANGUAGES.get(backend, backend)).upper(),
        "target_gpu": request.gpu,
        "execution_mode": known["execution_mode"],
        "project_skill": request.option("project_skill") or known.get("Project skill"),
        "performance_target": request.option("target"),
        "primary_metric": known["Performance metric columns"],
        "target_shapes": "all" if request.trusted_metric else _list_shapes(project),
        "kernel_source": known["Kernel source file path"],
        "test_command": _read_command(known["Focused test command"]),
        "benchmark_command": _read_command(known["Focused benchmark command"]),
        "quick_command": _read_command(known["Quick validation harness"]),
        "representative_shapes": [],
        "git_commit": True,
        "git_branch": "auto",
        "max_iterations": None,
        "created": created,
    }
    kept = {key for key in SPECIFIED if earlier.get(key) is not None and (values[key] is None or key in _OF_THE_USER)}
    values |= {key: earlier[key] for key in sorted(kept)}
    optional = {"project_skill", "performance_target", "max_iterations", "test_command", "benchmark_command"}
    if request.trusted_metric:
        optional.add("quick_command")
    lines = [DRAFT_MARK, f"name: {request.operator}_{backend.lower()}_{request.gpu}_{created[:10].replace('-', '')}"]
    for key in SPECIFIED:
        dumped = dump_yaml({key: values[key]}, sort_keys=False).rstrip("\n")
        mark = "" if values[key] is not None else _ABSENT.get(key, "" if key in optional else "MISSING")
        lines.append(f"{dumped}  # {mark}" if mark and not request.trusted_metric else dumped)
    if request.trusted_metric:
        lines += ["measuring: trusted", f"operator: {request.operator}"]
    else:
        rebuild = _rebuild(known) or earlier.get("rebuild_command")
        lines += ["measuring: command", dump_yaml({"rebuild_command": rebuild}).rstrip("\n")]
        suite = known.get("Acceptance suite")
        if suite not in (None, "none") and "suite_command" not in earlier:
            lines.append(dump_yaml({"suite_command": suite}).rstrip("\n"))
        lines += [line for key, line in _SAID.items() if key not in earlier]
    added = {key: value for key, value in earlier.items() if key not in SPECIFIED and key not in _DERIVED}
    if added:
        lines.append(dump_yaml(added, sort_keys=False).rstrip("\n"))
    return "\n".join(lines) + "\n"


def _list_shapes(project: Project) -> list[dict[str, Any]] | None:
    return list_shapes(project.benchmark) if project.benchmark is not None else None


def _read_command(value: str | None) -> str | None:
    return None if value == "not needed" else value


def _rebuild(known: dict[str, str | None]) -> str | None:
    value = known["Rebuild after a change"]
    return None if value == "none" else value
