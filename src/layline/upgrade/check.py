"""Whether every place of ours fits the upstream commit it will meet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Severity
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.prose import count, verb
from layline.core.report import Annotation, Answer, Paragraph, Report, Rule, Section, Subject, Table
from layline.coupling.drift_model import finding_id
from layline.coupling.model import Touch
from layline.history.commits import find_merge_base, read_commit
from layline.upgrade.absolute import Judged, Standing
from layline.upgrade.judging import find_lines, pin_of
from layline.upgrade.trailers import Promise, parse_promise

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.upgrade import answers
    from layline.workspace.open import Workspace

SCHEMA: Literal["layline.upgrade-check/1"] = "layline.upgrade-check/1"
_RECENT = 200
"""Commits among which the last step of an upgrade is looked for."""
_RULE = Rule(
    id="UPGRADE101",
    name="DoesNotFit",
    title="upgrade/does-not-fit",
    text="A place of ours does not fit the upstream commit that the downstream pins.",
)


def build_check_answer(
    workspace: Workspace, key: str, standing: Standing, here: Standing | None, *, promised: bool
) -> Answer:
    """What fits one upstream commit; `here`: what fits the pin, where that is another one."""
    commit = standing.commit
    today = find_today(standing, here) if here is not None else frozenset()
    promise = read_promise(workspace, key) if promised else None
    label = workspace.label(key)
    warns = any(_rate(one, today, here) is Severity.LOOK for one in standing.misfits)
    there = read_commit(workspace.open_backend(key), commit)
    title = _say(label, standing, f"{commit[:8]} ({there.date})", promise, len(find_lines(today)))
    data: answers.Checked = {
        "schema": SCHEMA,
        "backend": key,
        "commit": workspace.commit,
        "pin": commit,
        "places": [encode_judged(one, today) for one in standing.places],
        "does_not_fit": len(standing.bad_lines),
        "does_not_fit_today": len(find_lines(today)),
        "planned": promise.left if promise is not None else None,
        "skipped": [{"what": one.what, "why": one.why} for one in standing.skipped],
    }
    return Answer(
        report=_build_report(title, standing),
        data=data,
        needs_person=bool(standing.misfits),
        findings=tuple(_annotate(key, one, _rate(one, today, here)) for one in standing.misfits),
        subject=Subject(repo=workspace.downstream.name, commit=workspace.commit, question=f"upgrade-check/{key}"),
        listing=Listing(
            title=title,
            meta=_say_counts(standing, warns=warns, compared=here is not None),
            groups=_group(standing, today, here),
            skipped=standing.skipped,
        ),
    )


def find_today(then: Standing, now: Standing) -> frozenset[Judged]:
    """Misfits at another commit that do not fit the pin either."""
    known = {(one.location.line, *one.key) for one in now.misfits}
    return frozenset(one for one in then.misfits if (one.location.line, *one.key) in known)


def leave_out_older(then: Standing, now: Standing, upstream: Repository) -> Standing:
    """The same without what the history says of names that the pin still has: they went later, and otherwise."""
    fit = {one.key for one in now.places if one.fits}

    def stands(one: Judged) -> bool:
        if one.removed is None or one.key not in fit:
            return True
        commit = upstream.resolve(one.removed.commit)
        return find_merge_base(upstream, commit, now.commit) != commit

    return replace(then, places=tuple(one if stands(one) else replace(one, removed=None) for one in then.places))


def read_promise(workspace: Workspace, key: str) -> Promise | None:
    """What the plan promised, where the commit looked at is a step of an upgrade, or follows one at the same pin."""
    words = ("log", "--first-parent", f"-{_RECENT}", "-z", "--format=%H%n%B", workspace.commit, "--")
    for one in workspace.downstream.git(*words).decode("utf-8", "replace").split("\0"):
        commit, _, message = one.partition("\n")
        promise = parse_promise(message)
        if promise is not None:
            pins = [pin_of(workspace.look_at(at), key)[1] for at in (commit, workspace.commit)]
            return promise if pins[0] == pins[1] else None
    return None


def encode_judged(one: Judged, today: Collection[Judged] = ()) -> answers.Judged:
    return {
        "file": one.location.path,
        "line": one.location.line,
        "target": one.target,
        "way": one.way,
        "fits": one.fits,
        "why": one.told,
        "evidence": str(one.evidence) if one.evidence is not None else None,
        "misfit_today": one in today,
    }


def say_fit(standing: Standing, where: str) -> str:
    """How many places do not fit a commit."""
    bad, total = len(standing.bad_lines), len(find_lines(standing.places))
    if not bad:
        return f"the one place fits {where}" if total == 1 else f"all {count(total, 'place')} fit {where}"
    return f"{bad} of {count(total, 'place')} {'does' if bad == 1 else 'do'} not fit {where}"


def _say(label: str, standing: Standing, where: str, promise: Promise | None, today: int) -> str:
    bad = len(standing.bad_lines)
    some = ("it fails" if bad == 1 else "they fail") if today == bad else f"{today} of them {verb(today, 'fails')}"
    already = f"; {some} at today's pin already" if today else ""
    said = f"{label}: {say_fit(standing, where)}{already}."
    if promise is None:
        return said
    return f"{said} The plan expected {promise.left} to be left at step {promise.step} of {promise.steps}."


_ALONE = "Each place is checked against this commit alone: an error may be old, such as a patch that never worked."
_BOTH = "Each place is checked against this commit: an error may be old, such as a patch that never worked."
_WARNED = "A warning is an override that fits upstream's own calls neither here nor at today's pin."
_COMPARED = (
    "`patches drift` compares the pin with this commit: what it finds broken counts here, too, even in examples. Its "
    "reasons call this commit the tip, whichever of the two is newer."
)
_UNSEEN = (
    "`patches drift` checks more, because it compares two commits: names that a replacement's body uses, attributes that "
    "our code reads, and arguments that land in another parameter than before. So does `upgrade check --pin REF`."
)
_LEFT = "Examples, benchmarks and tests are not counted."


def _say_counts(standing: Standing, *, warns: bool, compared: bool) -> tuple[str, ...]:
    """What an error and a warning are here, which files count, and why there are more rows than places."""
    rows, places = len(standing.misfits), len(standing.bad_lines)
    several = f"{rows} rows: a place is one line of ours, and a line that uses several names has one row for each."
    beside = (_COMPARED,) if compared else (_UNSEEN, _LEFT)
    return (
        _BOTH if compared else _ALONE,
        *([_WARNED] if warns else []),
        *beside,
        *([several] if rows > places else []),
    )


def _rate(one: Judged, today: frozenset[Judged], here: Standing | None) -> Severity:
    """An override that only a call of upstream's shows to be wrong, and that is so today, is a warning: here as in
    `patches drift`.
    """
    is_old = here is None or one in today
    return Severity.LOOK if one.way == Touch.OVERRIDE.value and is_old else Severity.BREAKS


def _group(standing: Standing, today: frozenset[Judged], here: Standing | None) -> tuple[Group, ...]:
    items = tuple(
        Diagnostic(
            location=one.location,
            severity=_rate(one, today, here),
            code="does-not-fit",
            message=f"{one.way} {one.target}",
            details=(("why", one.told), *((("today", "it does not fit today's pin"),) if one in today else ())),
        )
        for one in sorted(standing.misfits, key=lambda one: (_rate(one, today, here) is Severity.LOOK, one in today))
    )
    return (Group(items=items),) if items else ()


def _build_report(title: str, standing: Standing) -> Report:
    rows = tuple((str(one.location), one.way, one.target, one.told) for one in standing.misfits)
    table = Table(columns=("place", "how", "target", "why"), rows=rows)
    section = Section(title="Does not fit", blocks=(table,) if rows else (Paragraph("Everything fits."),))
    return Report(title=title, sections=(section,), skipped=standing.skipped)


def _annotate(key: str, one: Judged, severity: Severity) -> Annotation:
    return Annotation(
        id=finding_id("upgrade-check", key, *one.key),
        rule=_RULE,
        severity=severity,
        message=f"{one.way} {one.target}: {one.told}",
        path=one.location.path,
        line=one.location.line,
        upstream=one.evidence,
    )
