"""One row of drift as a sentence and what stands below it."""

from __future__ import annotations

from collections.abc import Iterator

from layline.change.signatures import ParameterChange
from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.core.listing import Diagnostic
from layline.core.patch import Holder
from layline.core.prose import count, listed
from layline.core.revision import Commit
from layline.core.why import PROBLEMS, Reason, Why, say, say_parts
from layline.coupling.drift_model import Drift
from layline.patches.drift.places import stands_in

_ENV = "env:"
_CAUSES = 4
"""So many commits are named of a row."""
_OUTSIDE = (Why(Reason.FROM_OUTSIDE),)
NOT_RUN = frozenset(
    {
        Reason.GUARD_NEVER,
        Reason.GUARD_OVER,
        Reason.NOT_RUN_NOW,
        Reason.NOT_RUN_ANY_MORE,
        Reason.NOT_RUN_AT_ALL,
    }
)
"""Why a patch can be deleted: a condition that is false at the tip."""
_IN_MESSAGE = frozenset({Reason.KEY_DROPPED, Reason.KEY_NEEDED})
"""Reasons that the first line tells."""
_NO_TYPO = (Reason.NEVER_HAD_ASKED, Reason.COMES_LATER, Reason.CAME_AND_WENT, Reason.HAD_UNTIL)
"""What is known of a name that the pin does not have says more than one that is spelled like it."""


def tell_row(row: Drift, *, together: bool = False) -> Diagnostic:
    """One row as a compiler would print it; `together`: below a heading that has given the reason."""
    return Diagnostic(
        location=row.location,
        severity=row.severity,
        code=row.code,
        message=say_row(row),
        details=tuple(tell_details(row, together=together)),
    )


def say_row(row: Drift) -> str:
    """One sentence about the target; the reason stands below it."""
    target = row.target or row.patch
    if dropped := _say_dropped(row):
        return f"upstream no longer mentions {dropped}"
    if beside := _say_beside(row, target):
        return beside
    said = _say_kept(row, target) or row.kind.facts.message.format(target=target)
    if row.kind is DriftKind.SIGNATURE_CHANGED and (owners := _find_decorated(row)):
        said = f"the decorators of {listed([f'{target}{one}' for one in owners])} changed"
    if row.fails_by_itself and row.kind is not DriftKind.UNCHANGED:
        said = f"{target} is still there"  # another signature or body is not what breaks it
    if row.kind in {DriftKind.MOVED, DriftKind.RENAMED} and row.suggestion is not None:
        said += f" to {row.suggestion.target}"
    meant = row.suggestion.target if row.suggestion is not None else row.effect and row.effect.suggestion
    if row.kind is DriftKind.DEAD_AT_PIN and row.pin_evidence is not None:
        said = f"dead patch: {target} exists at the pin, but our patch has no effect on it"
    elif row.kind is DriftKind.DEAD_AT_PIN and meant and meant != target and not row.has(*_NO_TYPO):
        said += f". Did you mean {meant}?"
    if any(one.why.reason is Reason.STOPS_APPLYING for one in row.findings):
        said += "; the patch stops applying"
    if row.has(Reason.REFUSES_VERSION):
        said += "; our code refuses the tip's version"
    if row.fails_by_itself or (row.severity is Severity.BREAKS and row.kind is DriftKind.UNCHANGED):
        ours = "what we register" if _is_registered(row) else "our replacement"
        said += f", but {ours} fits neither pin nor tip" if row.fails_already else f", but {ours} no longer fits"
    return said


def _say_dropped(row: Drift) -> str:
    """The settings that a patch writes or reads and upstream has dropped, by what they are; empty where none is."""
    did = {Reason.KEY_DROPPED: "sets", Reason.KEY_NEEDED: "reads"}
    why = next((one for one in row.reasons if one.reason in did), None)
    if why is None:
        return ""
    keys = why.names or (why.name,)
    told = [
        f"the {'environment variable' if key.startswith(_ENV) else 'config key'} {key.removeprefix(_ENV)}"
        for key in keys
    ]
    return f"{listed(told, most=len(told))}, which the patch {did[why.reason]}"


def _is_registered(row: Drift) -> bool:
    """The target is the function that registers, and nothing of it is replaced."""
    return row.effect is not None and row.effect.holder is Holder.REGISTRY


def _find_decorated(row: Drift) -> list[str]:
    """Where nothing of the signature changed but decorators: whose these are, of a class also its `.__init__`."""
    told = [one for one in row.reasons if one.reason is Reason.SIGNATURE]
    alone = all(one.name == ParameterChange.DECORATORS.value for one in told)
    return list(dict.fromkeys(one.other for one in told)) if alone else []


def _say_beside(row: Drift, target: str) -> str:
    """What keeps it from working, and what has no name: nothing is said of a target; empty where something is."""
    if row.breaks_elsewhere:
        if not row.has(Reason.NOT_INSTALLED):
            return f"our replacement of {target} does not work"
        return f"{target} is not patched" if row.target else f"{target} changes nothing here"
    if row.kind is DriftKind.UNRESOLVED and not row.target:
        return f"what {target} changes here cannot be named without running the code"
    return ""


def _say_kept(row: Drift, target: str) -> str:
    """What is known to be as it was, where that is not the target itself; empty where it is."""
    if stands_in(row):
        return f"{target} is only set where upstream cannot be imported"
    source = (row.effect and row.effect.alias_of) or target
    if row.kind is not DriftKind.UNCHANGED or row.severity is not Severity.OK:
        return ""
    if row.reasons == _OUTSIDE:
        return (
            f"{target}: its class is still there, but upstream does not define the name there: a base class of another "
            "package has it, or our code adds it"
        )
    if source.partition(".")[0] != target.partition(".")[0]:
        module = source.rpartition(".")[0]
        return f"{target} is still imported from {module}; {module.partition('.')[0]} itself is not compared"
    return ""


def tell_details(row: Drift, *, together: bool) -> Iterator[tuple[str, str]]:
    """What stands below the sentence: the patch, why, since when, what may mend it."""
    if row.effect is not None and row.severity is not Severity.OK:
        yield "patch", row.effect.id if row.effect.id == row.patch else f"{row.patch} [{row.effect.id}]"
    if not (together or stands_in(row)) and row.reasons != _said_already(row):
        yield from (("why", said) for why in _find_why(row) if (said := say(why)))
    if row.copied is not None:
        yield "ours", f"an edited copy of upstream's body ({row.copied:.0%} alike)"
    if row.culprit is not None and not row.causes:
        yield "since", say_commit(row.culprit)
    causes: dict[Commit, list[Why]] = {}
    for cause in row.causes:
        causes.setdefault(cause.commit, []).append(cause.why)
    for commit, parts in list(causes.items())[:_CAUSES]:
        yield "since", f"{say_commit(commit)}: {say_parts(parts, (one.why for one in row.findings))}"
    if len(causes) > _CAUSES:
        yield "since", f"{count(len(causes) - _CAUSES, 'more commit')}: `--format json` names them"
    told = row.kind in {DriftKind.DEAD_AT_PIN, DriftKind.MOVED, DriftKind.RENAMED} or row.has(Reason.STILL_REACHES)
    if row.suggestion is not None and not told:
        yield "fix", f"{row.suggestion.target} may take its place ({row.suggestion.reason})"


def _find_why(row: Drift) -> list[Why]:
    """What breaks it first; what else became of the target after that, each a line of its own."""
    worst = {one.why for one in row.findings if one.severity is row.severity and one.why.reason in PROBLEMS}
    # a condition that is known to be false is certain
    told = [why for why in row.reasons if why.reason is not Reason.NOT_CERTAIN or not row.has(*NOT_RUN)]
    told = [why for why in told if why.reason not in _IN_MESSAGE]
    if row.has(Reason.MISRETURNS):  # says both numbers
        told = [why for why in told if why.reason is not Reason.RETURN_COUNT]
    if row.severity is Severity.BREAKS and worst:  # that it takes what is passed is no comfort then
        told = [why for why in told if why.reason is not Reason.TAKES_ALL]
    return told


def say_commit(commit: Commit) -> str:
    """Twelve characters of its hash, its date and its title, which names the pull request."""
    return f"{commit.hash[:12]} ({commit.date}): {commit.subject}"


def _said_already(row: Drift) -> tuple[Why, ...]:
    """Reasons that would only repeat the first line."""
    if _say_kept(row, row.target or row.patch) and row.reasons == _OUTSIDE:
        return _OUTSIDE
    return (Why(Reason.NOW, row.suggestion.target),) if row.suggestion is not None else ()
