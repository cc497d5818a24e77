"""How far a pinned backend is behind, every figure with the command that reproduces it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, cast

from layline import codec
from layline.core.evidence import Alert, Evidence, Fact, Severity, Skipped, encode_skipped
from layline.core.prose import plural, verb
from layline.core.report import Answer, Cell, Report, Section, Table
from layline.errors import ConfigError
from layline.gap.endpoints import Endpoints
from layline.git import DIFF_RULE, DIFF_SETTINGS
from layline.history.changes import read_diff
from layline.history.commits import compare_commits, count_own, read_commit, say_count, say_own
from layline.history.tags import find_release, nearest_tag
from layline.source.declared_version import read_version
from layline.workspace.kept import Results, result_key

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.gap import answers
    from layline.git import Repository
    from layline.workspace.open import Workspace


FIGURES = ("behind", "ahead", "files", "insertions", "deletions", "age_days")


def measure(upstream: Repository, backend: Backend, ends: Endpoints) -> list[Fact[Any]]:
    """Every figure of a gap; two commits stay as far apart as they are, so what was measured once is kept."""
    results = Results("gap-show")
    key = result_key(upstream.name, codec.encode(ends), list(backend.packages), upstream.refs("refs/tags"))
    found = results.load(key, lambda plain: [codec.decode(Fact, one, where="cache") for one in plain["facts"]])
    if found is None:
        found = _measure(upstream, backend, ends)
        results.store(key, {"facts": codec.encode(found)})
    return found


def _measure(upstream: Repository, backend: Backend, ends: Endpoints) -> list[Fact[Any]]:
    pin, tip = read_commit(upstream, ends.pin), read_commit(upstream, ends.tip)
    distance = compare_commits(upstream, ends.pin, ends.tip)
    diff = read_diff(upstream, ends.pin, ends.tip)
    numstat = f"git diff --shortstat {' '.join(DIFF_SETTINGS)} {ends.pin} {ends.tip}"

    def fact(name: str, value: object, command: str, *more: Evidence) -> Fact[Any]:
        return Fact(
            name=name, value=value, evidence=(Evidence(repo=upstream.name, commit=ends.tip, command=command), *more)
        )

    facts = [
        fact("pin.commit", ends.pin, f"git rev-parse {ends.pin}^{{commit}}", ends.pin_evidence),
        fact("pin.date", pin.date, f"git log -1 --format=%cs {ends.pin}"),
        fact("pin.subject", pin.subject, f"git log -1 --format=%s {ends.pin}"),
        fact("tip.commit", ends.tip, f"git rev-parse {ends.tip}^{{commit}}"),
        fact("tip.date", tip.date, f"git log -1 --format=%cs {ends.tip}"),
        fact("tip.subject", tip.subject, f"git log -1 --format=%s {ends.tip}"),
        fact("behind", distance.behind, say_count(ends.pin, ends.tip)),
        fact("ahead", distance.ahead, say_count(ends.tip, ends.pin)),
        fact("merge_base", distance.merge_base, f"git merge-base {ends.pin} {ends.tip}"),
        fact("relation", distance.relation.value, f"git merge-base {ends.pin} {ends.tip}"),
        fact("files", len(diff.files), numstat),
        fact("insertions", diff.insertions, numstat),
        fact("deletions", diff.deletions, numstat),
        fact(
            "age_days",
            (date.fromisoformat(tip.date) - date.fromisoformat(pin.date)).days,
            f"git log --no-walk=unsorted --format=%cs {ends.tip} {ends.pin}",
        ),
    ]
    if distance.ahead and distance.merge_base is not None:
        parted = read_commit(upstream, distance.merge_base).date
        own = count_own(upstream, ends.pin, ends.tip)
        facts.append(fact("ahead_own", own, say_own(ends.pin, ends.tip)))
        facts.append(fact("merge_base.date", parted, f"git log -1 --format=%cs {distance.merge_base}"))
    for side, commit in (("pin", ends.pin), ("tip", ends.tip)):
        version = read_version(upstream, commit, backend.packages)
        if version is not None:
            facts.append(Fact(name=f"{side}.version", value=version.text, evidence=(version.evidence,)))
        tag = nearest_tag(upstream, commit)
        if tag is not None:
            facts.append(fact(f"{side}.tag", list(tag), say_count(tag[0], commit)))
    newest = find_release(upstream, ends.pin, ends.tip)
    if newest is not None and newest.lacks and not newest.is_merged:
        facts.append(fact("newest_release", [newest.name, newest.date], f"git log -1 --format=%cs {newest.name}"))
    return facts


def parse_limit(text: str) -> tuple[str, int]:
    """`behind>200` → ("behind", 200)."""
    name, _, number = text.partition(">")
    if name.strip() not in FIGURES or not number.strip().isdigit():
        raise ConfigError(
            f"--fail-on {text!r} is not a limit.", hint=f"Write NAME>NUMBER with NAME one of {', '.join(FIGURES)}."
        )
    return name.strip(), int(number)


def find_broken_limits(values: dict[str, Any], limits: tuple[tuple[str, int], ...], ends: Endpoints) -> list[Alert]:
    return [
        Alert(severity=Severity.BREAKS, message=f"{name} is {values[name]}, above the limit of {limit}, at {ends.ref}")
        for name, limit in limits
        if values[name] > limit
    ]


def build_data(workspace: Workspace, key: str, facts: list[Fact[Any]], ends: Endpoints, today: date) -> answers.Gap:
    told = {fact.name: fact.value for fact in facts}
    age = (today - date.fromisoformat(told["tip.date"])).days
    return {
        "schema": "layline.gap/1",
        "backend": key,
        "downstream_commit": workspace.commit,
        "pin": {"path": ends.pin_evidence.path, **_side("pin", told)},
        "tip": {"ref": ends.ref, **_side("tip", told), "age_days": age},
        "behind": told["behind"],
        "ahead": told["ahead"],
        "ahead_own": told.get("ahead_own", told["ahead"]),
        "merge_base": told["merge_base"],
        "relation": told["relation"],
        "files": told["files"],
        "insertions": told["insertions"],
        "deletions": told["deletions"],
        "age_days": told["age_days"],
        "date": today.isoformat(),
        "diff_rule": DIFF_RULE,
        "evidence": {fact.name: fact.evidence[0].command for fact in facts},
        "repositories": {"downstream": workspace.downstream.name, "upstream": facts[0].evidence[0].repo},
    }


def _side(side: str, told: dict[str, Any]) -> answers.Side:
    return {
        "commit": told[f"{side}.commit"],
        "date": told[f"{side}.date"],
        "subject": told[f"{side}.subject"],
        "version": told.get(f"{side}.version"),
        "tag": told.get(f"{side}.tag"),
    }


_LABELS = {
    "pin.commit": "pin",
    "pin.date": "pin date",
    "pin.subject": "pin subject",
    "pin.version": "pin version",
    "pin.tag": "tag in the pin's history",
    "tip.commit": "tip",
    "tip.date": "tip date",
    "tip.subject": "tip subject",
    "tip.version": "tip version",
    "tip.tag": "tag in the tip's history",
    "newest_release": "newest release",
    "ahead_own": "ahead, without copies of commits that the tip has",
    "merge_base": "merge base",
    "merge_base.date": "merge base date",
    "age_days": "age in days",
    "files": "files changed",
}
_ORDER = ("pin.", "tip.", "")


def build_report(
    workspace: Workspace, label: str, facts: list[Fact[Any]], alerts: tuple[Alert, ...], today: date
) -> Report:
    ordered = sorted(facts, key=lambda fact: next(i for i, start in enumerate(_ORDER) if fact.name.startswith(start)))
    values = {fact.name: fact.value for fact in facts}
    # where releases are cut on other branches, the tag that the tip happens to hold says nothing of them; nor does one
    # that is older than the pin
    far = "tip.tag" in values and values["tip.tag"][1] > values["behind"]
    silent = {"tip.tag"} if far or "newest_release" in values else set[str]()
    rows = tuple((_LABELS.get(fact.name, fact.name), _show_value(fact)) for fact in ordered if fact.name not in silent)

    def say(name: str, noun: str) -> str:
        return f"{values[name]} {noun if values[name] == 1 else plural(noun)}"  # 0 is a figure here

    parted = f" (their histories diverged on {values['merge_base.date']})" if "merge_base.date" in values else ""
    sentence = (
        f"{label} is pinned {say('behind', 'commit')} behind {values['tip.commit'][:8]} and {values['ahead']} ahead; "
        f"{say('files', 'file')} {verb(values['files'], 'differs')}, +{values['insertions']} −{values['deletions']} lines, "
        f"{say('age_days', 'day')} apart{parted}."
    )
    evidence = tuple(
        (_LABELS.get(fact.name, fact.name), Cell(item.command or str(item), code=True), item.repo)
        for fact in ordered
        for item in fact.evidence
    )
    return Report(
        title=sentence,
        meta=(
            ("downstream", f"{workspace.downstream.name} at {workspace.commit[:12]}"),
            ("looked at on", f"{today}; dates are committer dates in the committer's own time zone"),
            ("diff", DIFF_RULE),
        ),
        alerts=alerts,
        sections=(
            Section(title="", blocks=(Table(columns=("what", "value"), rows=rows),)),
            Section(title="Evidence", blocks=(Table(columns=("what", "command", "in a clone of"), rows=evidence),)),
        ),
    )


def join_gaps(workspace: Workspace, found: list[Answer], skipped: list[Skipped]) -> Answer:
    """One row for each backend; what each answer warns of, with its name."""
    gaps = [cast("answers.Gap", one.data) for one in found]
    rows = tuple(
        (
            workspace.label(gap["backend"]),
            gap["pin"]["commit"][:12],
            gap["pin"]["date"],
            *(str(gap[name]) for name in ("behind", "ahead", "files", "age_days")),
            gap["tip"]["commit"][:12],
        )
        for gap in gaps
    )
    columns = ("backend", "pin", "pin date", "behind", "ahead", "files changed", "age in days", "tip")
    alerts = tuple(
        replace(alert, message=f"{workspace.label(gap['backend'])}: {alert.message}")
        for gap, one in zip(gaps, found, strict=True)
        for alert in one.report.alerts
    )
    data: answers.AllGaps = {"schema": "layline.gap/1", "backends": gaps, "skipped": encode_skipped(skipped)}
    report = Report(
        title="The gap of all backends",
        meta=found[0].report.meta,
        alerts=alerts,
        sections=(Section(title="", blocks=(Table(columns=columns, rows=rows, numeric=frozenset(range(3, 7))),)),),
        skipped=tuple(skipped),
    )
    return Answer(report=report, data=data, needs_person=any(one.needs_person for one in found))


def _show_value(fact: Fact[Any]) -> str | Cell:
    match fact.name:
        case "pin.tag" | "tip.tag":
            name, distance = fact.value
            return name if distance == 0 else f"{name} ({distance} commit{'' if distance == 1 else 's'} before)"
        case "newest_release":
            return f"{fact.value[0]} of {fact.value[1]}, cut on another branch"
        case "pin.commit" | "tip.commit":
            return Cell(
                str(fact.value), evidence=Evidence(repo=fact.evidence[0].repo, commit=str(fact.value)), code=True
            )
        case _:
            return "none" if fact.value is None else str(fact.value)
