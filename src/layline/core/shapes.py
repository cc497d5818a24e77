"""The shapes of the published records: tables of fields, and the rules that no table tells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from layline.core import checks
from layline.core.checks import Field, Problem, find_field_problems, find_unknown_fields, find_unsafe_values
from layline.core.period import Cadence, parse_moment, parse_period

LABELS = ("monitor", "plan sync", "urgent sync")
"""Recommendation labels, calmest first."""
STATUSES = ("verified", "draft", "superseded")


def leading_label(text: str) -> str | None:
    """The label that `text` begins with, followed by nothing, a space or punctuation."""
    for label in LABELS:
        rest = text.removeprefix(label)
        if rest != text and not rest[:1].isalnum() and not rest.startswith(("-", "_")):
            return label
    return None


def recommendation(value: Any) -> str | None:
    """Free text that begins with a label."""
    wrong = checks.line(value)
    if wrong is None and leading_label(value) is None:
        return f"{checks.shorten(value)} does not begin with {', '.join(LABELS[:-1])} or {LABELS[-1]}"
    return wrong


GAP_FIELDS = (
    Field("id", checks.identifier),
    Field("title", checks.line),
    Field("backend", checks.an_object),
    Field("backend.key", checks.identifier),
    Field("backend.label", checks.line),
    Field("generated_at", checks.day),
    Field("status", checks.one_of(*STATUSES)),
    Field("scope", checks.prose),
    Field("local", checks.an_object),
    Field("local.source_path", checks.line),
    Field("local.version", checks.line, required=False),
    Field("local.commit", checks.commit),
    Field("local.commit_date", checks.day, required=False),
    Field("upstream", checks.an_object),
    Field("upstream.repo", checks.https_link),
    Field("upstream.ref", checks.line),
    Field("upstream.version", checks.line, required=False),
    Field("upstream.commit", checks.commit),
    Field("upstream.commit_date", checks.day, required=False),
    Field("stats", checks.an_object),
    Field("stats.commit_gap", checks.count),
    Field("stats.diff_files", checks.count, required=False),
    Field("stats.insertions", checks.count, required=False),
    Field("stats.deletions", checks.count, required=False),
    Field("integration", checks.an_object, required=False),
    Field("integration.backend_files", checks.count, required=False),
    Field("integration.tracked_files", checks.count, required=False),
    Field("integration.integration_model", checks.prose, required=False),
    Field("highlights", checks.some_items),
    Field("highlights[]", checks.prose),
    Field("dashboard_summary", checks.an_object, required=False),
    Field("dashboard_summary.headline", checks.prose),
    Field("dashboard_summary.recommendation", recommendation),
    Field("dashboard_summary.why_it_matters", checks.a_list, required=False),
    Field("dashboard_summary.why_it_matters[]", checks.prose),
    Field("dashboard_summary.feature_deltas", checks.a_list, required=False),
    Field("dashboard_summary.feature_deltas[]", checks.prose),
    Field("dashboard_summary.dependency_deltas", checks.a_list, required=False),
    Field("dashboard_summary.dependency_deltas[]", checks.prose),
    Field("dashboard_summary.integration_risks", checks.a_list, required=False),
    Field("dashboard_summary.integration_risks[]", checks.prose),
    Field("artifacts", checks.some_items),
    Field("artifacts[]", checks.an_object),
    Field("artifacts[].label", checks.line),
    Field("artifacts[].path", checks.relative_path(".pdf")),
    Field("artifacts[].format", checks.one_of("pdf")),
    Field("artifacts[].language", checks.identifier),
    Field("artifacts[].kind", checks.identifier),
    Field("artifacts[].primary", checks.flag, required=False),
)

GAP_WRITING = (
    Field("dashboard_summary.headline", checks.one_sentence),
    Field("dashboard_summary.why_it_matters", checks.between_items(3, 5)),
)
"""What Layline holds itself to beyond what it reads."""

PERIODIC_FIELDS = (
    Field("report_id", checks.line),
    Field("content_type", checks.one_of(*(cadence.content_type for cadence in Cadence))),
    Field("title", checks.line),
    Field("report_path", checks.relative_path(".md")),
    Field("report_github_url", checks.https_link),
    Field("time_window", checks.an_object),
    Field("time_window.timezone", checks.zone_name),
    Field("time_window.start", checks.moment),
    Field("time_window.end", checks.moment),
    Field("generated_at", checks.moment),
    Field("merged_pr_count", checks.count),
    Field("category_breakdown", checks.an_object),
    Field("category_breakdown.*", checks.count),
    Field("recommendations", checks.an_object),
    Field("recommendations.*", recommendation),
    Field("key_findings", checks.some_items),
    Field("key_findings[]", checks.prose),
)

# A status object is open; what these names promise must hold. None means unmeasured.
_STATUS_NAMES = {
    "upstream_repo": checks.https_link,
    "upstream_ref": checks.line,
    "upstream_head": checks.commit,
    "commit_gap": checks.count,
    "recommendation": recommendation,
}
_STATUS_SUFFIXES = {"_commit": checks.commit, "_date": checks.day, "_ts": checks.moment, "_commits": checks.count}


def find_gap_problems(plain: Any, *, strict: bool = False, extra: Collection[str] = ()) -> Iterator[Problem]:
    """Yields everything wrong with a gap record; `strict` adds the rules for writing, where only `extra` is unknown."""
    if not isinstance(plain, Mapping):
        yield Problem("", f"is {checks.kind_of(plain)}, not an object")
        return
    yield from find_unsafe_values(plain)
    yield from find_field_problems(plain, GAP_FIELDS)
    yield from _find_artifact_problems(plain.get("artifacts"))
    if strict:
        yield from find_field_problems(plain, GAP_WRITING)
        yield from find_unknown_fields({key: value for key, value in plain.items() if key not in extra}, GAP_FIELDS)


def find_periodic_problems(
    plain: Any, cadence: Cadence, required: Collection[str] = (), *, strict: bool = False, extra: Collection[str] = ()
) -> Iterator[Problem]:
    """Yields everything wrong with a periodic record of `cadence` that must tell the `required` statuses."""
    if not isinstance(plain, Mapping):
        yield Problem("", f"is {checks.kind_of(plain)}, not an object")
        return
    yield from find_unsafe_values(plain)
    yield from find_field_problems(plain, PERIODIC_FIELDS)
    yield from _find_cadence_problems(plain, cadence)
    yield from _find_window_problems(plain, cadence)
    yield from _find_status_problems(plain, required)
    if strict:
        own = {key: value for key, value in plain.items() if key not in extra and not key.endswith("_status")}
        yield from find_unknown_fields(own, PERIODIC_FIELDS)
        yield from _find_miscounts(plain)


def _find_artifact_problems(artifacts: Any) -> Iterator[Problem]:
    items = [item for item in artifacts if isinstance(item, Mapping)] if isinstance(artifacts, list | tuple) else []
    paths: dict[str, int] = {}
    for index, item in enumerate(items):
        path = item.get("path")
        # two names that differ in case are one file on some machines
        name = path.removeprefix("./").casefold() if isinstance(path, str) else f"#{index}"
        if name in paths:
            yield Problem(f"artifacts[{index}].path", f"is the same file as artifacts[{paths[name]}].path")
        paths.setdefault(name, index)
    if sum(item.get("primary") is True for item in items) > 1:
        yield Problem("artifacts", "more than one is primary")


def _find_cadence_problems(plain: Mapping[str, Any], cadence: Cadence) -> Iterator[Problem]:
    report_id, content_type = plain.get("report_id"), plain.get("content_type")
    if isinstance(report_id, str) and report_id.strip():
        try:
            parse_period(report_id, cadence)
        except ValueError as error:
            yield Problem("report_id", f"{checks.shorten(report_id)} {error}")
    if content_type in [other.content_type for other in Cadence if other is not cadence]:
        yield Problem("content_type", f"is {content_type!r} in a folder of {cadence.value} reports")


def _find_window_problems(plain: Mapping[str, Any], cadence: Cadence) -> Iterator[Problem]:
    window = plain.get("time_window")
    try:
        start, end = parse_moment(window["start"]), parse_moment(window["end"])  # type: ignore[index]
    except (TypeError, KeyError, ValueError):
        return  # told by the table
    if end < start:
        yield Problem("time_window.end", f"lies before the start ({window['start']})")  # type: ignore[index]
        return
    try:
        period = parse_period(plain["report_id"], cadence)
    except (TypeError, KeyError, ValueError):
        return
    if end.date() < period.first or start.date() >= period.after:
        yield Problem("time_window", f"covers no day of {period.id} (from {period.first}, before {period.after})")


def _find_status_problems(plain: Mapping[str, Any], required: Collection[str]) -> Iterator[Problem]:
    recommendations = plain.get("recommendations")
    for key in required:
        if f"{key}_status" not in plain:
            yield Problem(f"{key}_status", "is missing")
        if isinstance(recommendations, Mapping) and key not in recommendations:
            yield Problem(f"recommendations.{key}", "is missing")
    for key, value in plain.items():
        if key.endswith("_status"):
            wrong = checks.identifier(key.removesuffix("_status"))  # it names a page and a badge
            if wrong is not None:
                yield Problem(key, f"names a target: {wrong}")
            yield from _find_wrong_status(key, value)


def _find_wrong_status(place: str, status: Any) -> Iterator[Problem]:
    if not isinstance(status, Mapping):
        yield Problem(place, f"is {checks.kind_of(status)}, not an object")
        return
    for name, value in status.items():
        suffixed = (check for suffix, check in _STATUS_SUFFIXES.items() if name.endswith(suffix))
        check = _STATUS_NAMES.get(name) or next(suffixed, None)
        reason = check(value) if check is not None and value is not None else None
        if reason is not None:
            yield Problem(f"{place}.{name}", reason)


def _find_miscounts(plain: Mapping[str, Any]) -> Iterator[Problem]:
    counted, told = plain.get("category_breakdown"), plain.get("merged_pr_count")
    if isinstance(counted, Mapping) and all(checks.count(number) is None for number in counted.values()):
        total = sum(counted.values())
        if total != told:
            yield Problem("category_breakdown", f"adds up to {total}, but merged_pr_count is {told}")
