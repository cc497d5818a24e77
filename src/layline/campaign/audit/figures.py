"""Rules about figures: CSV schema, shapes, correctness, representative shapes, scores, history."""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING, Any

from layline.campaign.audit.folder import lines_of
from layline.campaign.audit.violation import Violation
from layline.campaign.values.bench_csv import HEADER_LINE, parse_bench_csv
from layline.campaign.values.scores import find_inconsistencies
from layline.core.evidence import Severity
from layline.core.prose import count, verb
from layline.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.audit.folder import CampaignFolder
    from layline.campaign.values.bench_csv import BenchTable

_NONDETERMINISM = re.compile(r"non-?determinis|data race|race (?:fix|root)|\brace\b", re.IGNORECASE)


def find_csv_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """The CSV has the frozen header in every round, and figures that agree with one another."""
    frozen: str | None = None
    for item in folder.rounds:
        path = f"{item.path}/artifacts/benchmark.csv"
        text = folder.text(path)
        if text is None:
            continue
        header = text.splitlines()[0] if text else ""
        if frozen is not None and header != frozen:
            yield Violation(
                rule="measurement contract",
                message="the header is not the one frozen at the baseline",
                path=path,
                line=1,
            )
        frozen = frozen if frozen is not None else header
        columns = header.split(",")
        if {"M", "N", "K"} <= set(columns) and header != HEADER_LINE:
            added = [name for name in columns if name not in HEADER_LINE.split(",")]
            yield Violation(
                rule="measurement contract",
                message=(
                    f"the header drifted from the frozen one: {count(len(added), 'column')} added ({', '.join(added)})"
                ),
                path=path,
                line=1,
            )
        table = _read(text, path)
        if isinstance(table, str):
            yield Violation(rule="measurement contract", message=table, path=path)
            continue
        yield from _find_figure_faults(table, path)


def _find_figure_faults(table: BenchTable, path: str) -> Iterator[Violation]:
    failed = [row.label for row in table.rows if not row.passed]
    if failed:
        yield Violation(
            rule="rule 6",
            message=f"{len(failed)} of {len(table.rows)} shapes did not pass and the round was kept: "
            f"{', '.join(failed)}",
            path=path,
        )
    deviations = [row.number(f"{name}_stddev") for row in table.rows if row.passed for name in table.metrics]
    stated = [value for value in deviations if value is not None]
    if stated and not any(stated):
        yield Violation(
            rule="noise assessment",
            message=f"every one of {len(stated)} standard deviations is 0: one run per shape, so noise was never "
            "measured",
            path=path,
        )
    for message in find_inconsistencies(table):
        yield Violation(rule="measurement contract", message=message, path=path, severity=Severity.LOOK)


def find_dropped_shapes(folder: CampaignFolder) -> Iterator[Violation]:
    """The target shapes of the manifest are those the baseline measured, and every later round's."""
    targets = _labels(folder.manifest.get("target_shapes"))
    baseline = _baseline(folder)
    if baseline is None or not targets:
        return
    measured = [row.label for row in baseline.rows]
    dropped = [label for label in measured if label not in targets]
    if dropped:
        line = next(
            (item.number for item in lines_of(folder, "manifest.yaml") if item.text.startswith("target_shapes:")), None
        )
        yield Violation(
            rule="rule 2",
            path="manifest.yaml",
            line=line,
            message=f"{len(dropped)} of {len(measured)} shapes of the baseline {verb(len(dropped), 'is')} no longer in "
            f"target_shapes: {', '.join(dropped)}",
        )
    missing = [label for label in targets if label not in measured]
    if missing:
        yield Violation(
            rule="rule 2",
            path="manifest.yaml",
            message=f"{count(len(missing), 'target shape')} {verb(len(missing), 'was')} not measured at the baseline: "
            f"{', '.join(missing)}",
        )


def find_representative_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """Three to five representative shapes, all PASS at the baseline, a skewed one for grouped operators."""
    chosen = _labels(folder.manifest.get("representative_shapes"))
    if not chosen:
        return
    path = "manifest.yaml"
    line = next(
        (item.number for item in lines_of(folder, path) if item.text.startswith("representative_shapes:")), None
    )
    if not 3 <= len(chosen) <= 5:
        yield Violation(rule="BASELINE", message=f"{len(chosen)} representative shapes, not 3–5", path=path, line=line)
    baseline = _baseline(folder)
    failed = [
        label
        for label in chosen
        if baseline is not None and (row := baseline.row(label)) is not None and not row.passed
    ]
    if failed:
        yield Violation(
            rule="BASELINE",
            message=f"representative shapes that did not pass at the baseline: {', '.join(failed)}",
            path=path,
            line=line,
        )
    operator = str(folder.manifest.get("target_op", "")).lower()
    text = str(folder.manifest.get("representative_shapes", "")).lower()
    if ("group" in operator or "moe" in operator) and not re.search(r"skew|top_k|cf=|group_lens|degenerate", text):
        yield Violation(
            rule="rule 11",
            message="a grouped operator without one skewed expert distribution among the representative shapes",
            path=path,
            line=line,
        )


def find_contradicting_scores(folder: CampaignFolder) -> Iterator[Violation]:
    """A round's score is the same wherever it is quoted."""
    named = re.match(r"\s*([A-Za-z_][A-Za-z_ ]*?)\s*(?:=|$)", str(folder.manifest.get("primary_metric", "")))
    if named is None:
        return
    metric = re.escape(named[1])
    own: dict[int, tuple[float, str, int]] = {}
    for item in folder.rounds:
        for line in lines_of(folder, f"{item.path}/summary.md"):
            found = re.search(rf"{metric}\b[^=\n]*=\s*\**\s*(\d+\.\d+)", line.text)
            if found and item.number not in own:
                own[item.number] = (float(found[1]), line.path, line.number)
    for item in folder.rounds:
        for line in lines_of(folder, f"{item.path}/summary.md"):
            quoted = re.search(rf"{metric}\b\s*:\s*R(\d+)\s+(\d+\.\d+)", line.text)
            if quoted and int(quoted[1]) in own and abs(own[int(quoted[1])][0] - float(quoted[2])) > 5e-4:
                value, path, number = own[int(quoted[1])]
                yield Violation(
                    rule="rule 3",
                    path=line.path,
                    line=line.number,
                    message=f"quotes {quoted[2]} as the score of round {quoted[1]}, whose own summary says {value} "
                    f"({path}:{number}): the gain was taken against another kernel",
                )


def find_unproven_gains(folder: CampaignFolder) -> Iterator[Violation]:
    """A gain under 2 % needs three measurements with mean and deviation."""
    for item in folder.rounds:
        path = f"{item.path}/summary.md"
        lines = lines_of(folder, path)
        repeated = any(
            re.search(r"re-?measur|3 (?:runs|times|repeats)|std(?:dev)?\b|\d\s*±", line.text, re.IGNORECASE)
            for line in lines
        )
        for line in lines:
            gain = re.search(r"(?:→|->)[^()\n]*\(\s*\+(\d+(?:\.\d+)?)\s*%\s*\)", line.text)
            if gain and float(gain[1]) < 2 and not repeated:
                yield Violation(
                    rule="noise assessment",
                    message=f"a gain of +{gain[1]} % is inside the noise range and was not re-measured three times",
                    path=path,
                    line=line.number,
                )


def find_nondeterminism(folder: CampaignFolder) -> Iterator[Violation]:
    """Files that speak of a data race: the SNR gate alone had let it pass."""
    for path in (file for file in folder.files if file.startswith("rounds/") and file.endswith(".md")):
        line = next((line for line in lines_of(folder, path) if _NONDETERMINISM.search(line.text)), None)
        if line is not None:
            yield Violation(
                rule="rule 6",
                path=path,
                line=line.number,
                severity=Severity.LOOK,
                message="mentions a data race or non-determinism: figures before its fix came from a kernel whose "
                "result varies inside the SNR gate",
            )


def find_identity_caches(folder: CampaignFolder) -> Iterator[Violation]:
    """Kernel wrappers that look tensors up by identity: only a weight keeps its own across training steps."""
    for path in (file for file in folder.files if "/kernel_snapshot/" in file and file.endswith(".py")):
        try:
            tree = ast.parse(folder.text(path) or "")
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="id"), args=[argument]) if "weight" not in ast.unparse(argument).lower():
                    yield Violation(
                        rule="rule 11",
                        path=path,
                        line=node.lineno,
                        severity=Severity.LOOK,
                        message=f"`id({ast.unparse(argument)})`: a cache keyed on anything but a weight never hits "
                        "in real training",
                    )


def find_history_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """In git: logs only grow, the target set stays, accepted rounds are commits in the prescribed form."""
    if not folder.history:
        return
    yield from _find_rewritten(folder)
    prefix = "[optimize]"
    if folder.manifest.get("git_commit") is True and not any(
        commit.subject.startswith(prefix) for commit in folder.history
    ):
        yield Violation(
            rule="git integration",
            path=f"git log ({len(folder.history)} commits)",
            message="git_commit is true, but no commit has the prescribed form `[optimize] <op> <backend> "
            "round-<N>: …`",
        )
    last = max((item.number for item in folder.rounds), default=0)
    named = [(int(number), commit) for commit in folder.history for number in re.findall(r"\bR(\d+)\b", commit.subject)]
    beyond = [(number, commit) for number, commit in named if number > last]
    if beyond:
        number, commit = max(beyond, key=lambda item: item[0])
        yield Violation(
            rule="rule 4",
            path=f"commit {commit.hash[:12]} ({commit.date})",
            severity=Severity.LOOK,
            message=f"commit subjects name rounds up to R{number}; the folder ends at round {last}",
        )


def _find_rewritten(folder: CampaignFolder) -> Iterator[Violation]:
    states = [commit for commit in folder.history if commit.texts]
    for before, after in itertools.pairwise(states):
        for path in ("logs/optimize.md", "logs/performance_trend.md"):
            old, new = before.texts.get(path), after.texts.get(path)
            if old is not None and (new is None or not new.startswith(old.rstrip("\n"))):
                yield Violation(
                    rule="rule 8", message="an append-only log was rewritten", path=f"{path} at {after.hash[:12]}"
                )
        old, new = before.texts.get("manifest.yaml"), after.texts.get("manifest.yaml")
        if old is not None and old != new:
            yield Violation(
                rule="measurement contract",
                message="the manifest was changed in the middle of the campaign",
                path=f"manifest.yaml at {after.hash[:12]}",
                severity=Severity.LOOK,
            )


def _read(text: str, path: str) -> BenchTable | str:
    header = text.splitlines()[0] if text else ""
    try:
        return parse_bench_csv(text.encode(), where=path, frozen=header)
    except RecordError as error:
        return "; ".join(error.problems)


def _baseline(folder: CampaignFolder) -> BenchTable | None:
    for item in folder.rounds:
        text = folder.text(f"{item.path}/artifacts/benchmark.csv")
        table = _read(text, item.path) if item.number == 1 and text else None
        if table is not None and not isinstance(table, str):
            return table
    return None


def _labels(shapes: Any) -> list[str]:
    if not isinstance(shapes, (list, tuple)):
        return []
    return [str(shape.get("label")) if isinstance(shape, dict) else str(shape) for shape in shapes]
