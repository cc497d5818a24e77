"""Rules about the folder itself: manifest, round folders, summaries, logs, lessons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.campaign.audit.folder import headings_of, lines_of
from layline.campaign.audit.violation import Violation
from layline.campaign.values.manifest import MAX_ITERATIONS, METRICS, MINUTE, SPECIFIED
from layline.core.evidence import Severity
from layline.core.prose import verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.audit.folder import CampaignFolder, RoundFolder

SECTIONS = ("Hypothesis", "Single change", "Results", "Decision", "Attribution", "Next direction")
TRANSFER = "Real-training transfer check"
TREND_COLUMNS = (
    "Round",
    "Status",
    "Description",
    "Fwd Avg TFLOPS",
    "Fwd Peak TFLOPS",
    "Bwd Avg TFLOPS",
    "Bwd Peak TFLOPS",
    "Combined Step TFLOPS",
    "vs Baseline",
    "Key Finding",
)
_PLACEHOLDER = re.compile(r"\(\s*(append rounds here|filled (?:in )?(?:after|when))", re.IGNORECASE)
_DECISION = re.compile(r"\b(BASELINE|ACCEPTED|ROLLED BACK|ROLLBACK)\b")


def find_manifest_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """The manifest has every parameter, within its limits."""
    path, manifest = "manifest.yaml", folder.manifest
    if not manifest:
        yield Violation(rule="PREPARE_ENVIRONMENT", message="there is no readable manifest", path=path)
        return
    for key in SPECIFIED:
        if key not in manifest:
            yield Violation(rule="PREPARE_ENVIRONMENT", message=f"the manifest does not say `{key}`", path=path)
    limit = manifest.get("max_iterations")
    if isinstance(limit, int) and not 0 < limit < MAX_ITERATIONS:
        yield _at(
            folder,
            path,
            "max_iterations",
            rule="input parameters",
            message=f"max_iterations is {limit}, not below {MAX_ITERATIONS}",
        )
    if "created" in manifest and not MINUTE.match(str(manifest["created"])):
        yield _at(folder, path, "created", rule="timestamps", message="created is not YYYY-MM-DD HH:MM")
    metric = str(manifest.get("primary_metric", ""))
    if metric and not any(part.strip() in METRICS for part in metric.split(",")):
        yield _at(
            folder,
            path,
            "primary_metric",
            rule="scoring",
            message=(
                f"primary_metric is not one of the specification's ({', '.join(METRICS)}) but a ratio or formula of "
                "its own, so Rules 3, 8 and 9 cannot be checked"
            ),
            severity=Severity.LOOK,
        )


def find_round_folder_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """Round folders are `round-1`, `round-2`, … without a gap, each with summary, snapshot and CSV."""
    rounds = folder.rounds
    if not rounds:
        yield Violation(rule="rule 4", message="there is no round", path="rounds")
        return
    for item in rounds:
        if item.suffix:
            yield Violation(
                rule="round numbering",
                message=f"the folder is `{item.name}`, not `round-{item.number}`",
                path=item.path,
            )
    numbers = {item.number for item in rounds}
    missing = [number for number in range(1, max(numbers) + 1) if number not in numbers]
    if missing:
        yield Violation(
            rule="rule 4",
            message=f"rounds {_ranges(missing)} of {max(numbers)} have no folder: no summary, no snapshot, no figures",
            path="rounds",
        )
    for item in rounds:
        yield from _find_missing_parts(item)


def _find_missing_parts(item: RoundFolder) -> Iterator[Violation]:
    if not item.holds("summary.md"):
        yield Violation(rule="rule 4", message=f"round {item.number} has no summary.md", path=item.path)
    if not item.holds("kernel_snapshot"):
        yield Violation(
            rule="rule 5",
            message=f"round {item.number} has no kernel_snapshot/: it cannot be diffed or rolled back to",
            path=item.path,
        )
    if not item.holds("artifacts/benchmark.csv"):
        yield Violation(
            rule="measurement contract", message=f"round {item.number} has no artifacts/benchmark.csv", path=item.path
        )


def find_summary_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """Every summary has every section, and a decision."""
    for item in folder.rounds:
        path = f"{item.path}/summary.md"
        if folder.text(path) is None:
            continue
        titles = {title.lower() for _, title in headings_of(folder, path)}
        missing = [name for name in SECTIONS if name.lower() not in titles]
        if missing:
            yield Violation(
                rule="rule 4",
                message=f"the summary of round {item.number} has no section {_quoted(missing)}",
                path=path,
            )
        if TRANSFER.lower() not in titles:
            yield Violation(
                rule="rule 11", message=f"the summary of round {item.number} has no `{TRANSFER}`", path=path
            )
        decisions = _DECISION.findall("\n".join(line.text for line in lines_of(folder, path)))
        if not decisions:
            yield Violation(
                rule="rule 3", message=f"round {item.number} records neither ACCEPTED nor ROLLED BACK", path=path
            )
        if {"ROLLED BACK", "ROLLBACK"} & set(decisions) and "rollback analysis" not in titles:
            yield Violation(
                rule="rule 4", message=f"round {item.number} was rolled back without a `Rollback Analysis`", path=path
            )


def find_second_baselines(folder: CampaignFolder) -> Iterator[Violation]:
    """Only round 1 is the baseline; a later one breaks the chain every figure is compared along."""
    for item in folder.rounds:
        path = f"{item.path}/summary.md"
        first = next(iter(headings_of(folder, path)), None)
        named = "baseline" in item.suffix.lower() or (first is not None and "baseline" in first[1].lower())
        if item.number > 1 and named:
            yield Violation(
                rule="rule 9",
                path=path,
                line=first[0] if first else None,
                message=f"round {item.number} is another baseline: the chain from round 1 is cut and gains before "
                "it are not comparable",
            )


def find_harness_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """One harness per campaign."""
    harnesses = sorted(file for file in folder.files if re.fullmatch(r"quick_test_bench[^/]*\.py", file))
    if not harnesses:
        yield Violation(rule="quick validation", message="there is no quick_test_bench.py", path=".")
    for extra in (name for name in harnesses if name != "quick_test_bench.py"):
        yield Violation(
            rule="measurement contract",
            message="a second harness measures rounds of the same campaign: figures of two harnesses are never "
            "compared",
            path=extra,
        )


def find_log_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """`logs/optimize.md` has every round, no placeholder, and a termination check before the final report."""
    path = "logs/optimize.md"
    if folder.text(path) is None:
        yield Violation(rule="logging", message="there is no logs/optimize.md", path="logs")
        return
    for line in lines_of(folder, path):
        if _PLACEHOLDER.search(line.text):
            yield Violation(
                rule="logging",
                message=f"a placeholder was never filled: {line.text.strip()}",
                path=path,
                line=line.number,
            )
    titles = [title.lower() for _, title in headings_of(folder, path)]
    absent = [
        item.number
        for item in folder.rounds
        if item.number > 1 and not any(re.match(rf"round-{item.number}\b", title) for title in titles)
    ]
    if absent:
        yield Violation(
            rule="logging", message=f"the optimization history has no entry for round {_ranges(absent)}", path=path
        )
    final = [item for item in folder.rounds if re.search(r"final|status|end", item.suffix)]
    if final and "termination check" not in titles:
        yield Violation(
            rule="termination",
            message=f"the campaign ended ({final[-1].name}) without a `Termination Check` that names T1, T2, T3 or T4",
            path=path,
        )


def find_trend_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """`logs/performance_trend.md` has the exact columns and one row per round."""
    path = "logs/performance_trend.md"
    if folder.text(path) is None:
        yield Violation(rule="rule 8", message="there is no logs/performance_trend.md", path="logs")
        return
    tables = [line for line in lines_of(folder, path) if line.text.lstrip().startswith("|")]
    if not tables:
        yield Violation(rule="rule 8", message="there is no trend table", path=path)
        return
    columns = tuple(cell.strip() for cell in tables[0].text.strip().strip("|").split("|"))
    if columns != TREND_COLUMNS:
        changed = [name for name in TREND_COLUMNS if name not in columns]
        said = f"without {_quoted(changed)}" if changed else "in another order"
        yield Violation(
            rule="rule 8", message=f"the trend table's columns drifted: {said}", path=path, line=tables[0].number
        )
    rows = {int(match[1]) for line in tables[1:] if (match := re.match(r"\|\s*(\d+)\s*\|", line.text))}
    last = max((item.number for item in folder.rounds), default=0)
    absent = [number for number in range(1, last + 1) if number not in rows]
    if absent:
        yield Violation(
            rule="rule 8",
            message=f"{len(rows)} of {last} rounds {verb(len(rows), 'has')} a trend row; missing: {_ranges(absent)}",
            path=path,
        )


def find_lesson_faults(folder: CampaignFolder) -> Iterator[Violation]:
    """Lessons are attributed to a round and never sell a cache as a technique."""
    if folder.tips is None:
        if folder.tips_path:
            yield Violation(
                rule="rule 4", message="no lessons file was found", path=folder.tips_path, severity=Severity.LOOK
            )
        return
    headings = [line for line in folder.tips.splitlines() if line.startswith("#")]
    if not any(re.search(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2} round-\d+", heading) for heading in headings):
        yield Violation(
            rule="historical experience",
            path=folder.tips_path,
            severity=Severity.LOOK,
            message="no lesson names the round it comes from (`YYYY-MM-DD HH:MM round-N — ACCEPTED / ROLLED BACK`)",
        )
    praised = re.compile(r"id\((?:activation|grad_out|a|x)\)")
    for number, text in enumerate(folder.tips.splitlines(), 1):
        if praised.search(text) and not re.search(r"forbid|anti-pattern|over-?fit|do not|never", text, re.IGNORECASE):
            yield Violation(
                rule="rule 11",
                message="a lesson names an activation cache without calling it an anti-pattern",
                path=folder.tips_path,
                line=number,
            )


def _at(
    folder: CampaignFolder, path: str, key: str, *, rule: str, message: str, severity: Severity = Severity.BREAKS
) -> Violation:
    line = next((item.number for item in lines_of(folder, path) if item.text.startswith(f"{key}:")), None)
    return Violation(rule=rule, message=message, path=path, line=line, severity=severity)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _ranges(numbers: list[int]) -> str:
    """4–7, 9–13: runs of numbers as a person writes them."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
