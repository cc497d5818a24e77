"""Places outside patches that no longer fit upstream: as a value, as a finding, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Evidence, Location, Severity
from layline.core.report import Annotation
from layline.core.why import Reason, Why
from layline.coupling.drift_model import finding_id
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.coupling.told import find_try, tells_elsewhere
from layline.patches.drift.rules import RULES

if TYPE_CHECKING:
    from layline.core.answers import Place
    from layline.patches import answers
    from layline.patches.drift.baseline import Accepted

IMPORTS = "imports"
"""How an import that fails is called among places outside patches."""
TOUCHES = {
    Touch.IMPORT: IMPORTS,
    Touch.MODULE: IMPORTS,
    Touch.SCRIPT: IMPORTS,
    Touch.ATTRIBUTE: "reads",
    Touch.FIELD: "reads",
    Touch.SUBCLASS: "subclasses",
    Touch.OVERRIDE: "overrides",
    Touch.CALL: "calls",
}
"""What our code does with a name outside patches, in a word; patches have rows of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A place outside patches that no longer fits upstream: an import, a base, an override, a call, a field."""

    touch: str
    target: str
    location: Location
    severity: Severity
    detail: str
    new_target: str | None = None
    differs: bool = False
    """What has the new name takes other parameters: the name alone mends no call."""
    tip_evidence: Evidence | None = None
    culprit: str | None = None
    causes: tuple[tuple[str, str], ...] = ()
    """Where several commits made it so: what each did, in words, and its hash."""
    fails_already: bool = False
    """Neither the pin nor the tip has the name."""
    fits_today: bool = True
    runs_today: bool = True
    """No import before it fails at the pin."""
    also: tuple[Location, ...] = ()
    """Further places that this row tells."""
    waiting: tuple[Location, ...] = ()
    """Patched places that fit, and that nobody installs any more: what calls for them fails with this import."""
    repeat: int = 0
    """Which of those that are alike but for their lines, in a file with several."""

    @property
    def places(self) -> tuple[Location, ...]:
        """Each is a place of its own, told in one row."""
        return self.location, *self.also

    @property
    def today(self) -> Literal["fits", "not-run", "does-not-fit"]:
        """What it does at the pin."""
        if self.fails_already or not self.fits_today:
            return "does-not-fit"
        return "fits" if self.runs_today else "not-run"

    @property
    def id(self) -> str:
        """Stable while file, target, what we do with it and severity stay the same; lines may move."""
        words = (self.touch, self.target, self.location.path, self.severity.value)
        return finding_id(*words, *([str(self.repeat)] if self.repeat else []))


def find_elsewhere(couplings: Iterable[Coupling]) -> Iterator[Elsewhere]:
    """Every other place of ours that breaks or fails already; overrides and calls also where they only may."""
    for item, also in merge_imports([item for item in couplings if tells_elsewhere(item)]):
        already = item.fails_already
        yield Elsewhere(
            touch=TOUCHES[item.touch],
            target=item.target,
            location=item.location,
            also=also,
            culprit=item.culprit,
            causes=item.causes,
            severity=Severity.BREAKS if already or item.consequence is Consequence.WILL_BREAK else Severity.LOOK,
            fails_already=already,
            fits_today=item.state is not State.TOO_NEW and not item.is_so_already,
            runs_today=not item.is_behind,
            detail=item.detail if item.why else "; ".join(filter(None, (item.state.value, item.detail))),
            new_target=item.new_target,
            differs=any(why.reason is Reason.OTHER_PARAMETERS for why in item.why),
            tip_evidence=item.tip_evidence,
        )


def merge_imports(items: Iterable[Coupling]) -> Iterator[tuple[Coupling, tuple[Location, ...]]]:
    """One row for each `try` of ours whose import fails, and for all imports of a file that only the tip has: its first
    line, which names the others, and the places of those.
    """
    groups: dict[tuple[str, int], list[Coupling]] = {}
    for item in items:
        if (key := _find_group(item)) is not None:
            groups.setdefault(key, []).append(item)
    for item in items:
        key = _find_group(item)
        together = groups[key] if key is not None else [item]
        first, *others = sorted(together, key=lambda one: (one.location.line, one.target))
        if item is first:
            more = dict.fromkeys(one.location for one in others if one.location != item.location)
            yield replace(item, why=(*item.why, _name_others(item, others))) if others else item, tuple(more)


def _name_others(first: Coupling, others: list[Coupling]) -> Why:
    if find_try(first) is not None:
        own = first.target.rpartition(".")[2]
        return Why(Reason.GONE_TOO, names=tuple(sorted(_shorten(one.target, own) for one in others)))
    names = (f"{one.target.rpartition('.')[2]} (line {one.location.line})" for one in others)
    return Why(Reason.TOO_NEW_TOO, names=tuple(names))


def _shorten(target: str, other: str) -> str:
    """The last part of a name; with its module where another name ends like it."""
    *_, last = parts = target.split(".")
    return ".".join(parts[-2:]) if last == other else last


def _find_group(item: Coupling) -> tuple[str, int] | None:
    if any(why.reason is Reason.IMPORT_TOO_NEW for why in item.why):
        return item.location.path, 0
    line = find_try(item)
    return None if line is None else (item.location.path, line)


def annotate_elsewhere(item: Elsewhere, accepted: str | None) -> Annotation:
    return Annotation(
        id=item.id,
        rule=RULES[item.touch],
        severity=item.severity,
        path=item.location.path,
        line=item.location.line,
        upstream=item.tip_evidence,
        message=f"{item.touch} {item.target}: {item.detail}",
        accepted=accepted,
    )


def encode_elsewhere(item: Elsewhere, accepted: Accepted | None) -> answers.Elsewhere:
    return {
        "id": item.id,
        "touch": item.touch,
        "target": item.target,
        "location": str(item.location),
        "also_at": [str(place) for place in item.also],
        "severity": item.severity.value,
        "today": item.today,
        "detail": item.detail,
        "new_target": item.new_target,
        "tip_evidence": encode_evidence(item.tip_evidence),
        "culprit": item.culprit,
        "culprits": [{"why": why, "commit": commit} for why, commit in item.causes],
        "accepted": encode_accepted(accepted),
    }


def encode_accepted(accepted: Accepted | None) -> answers.Accepted | None:
    return None if accepted is None else {"reason": accepted.reason, "until": accepted.until.isoformat()}


def encode_evidence(evidence: Evidence | None) -> Place | None:
    if evidence is None:
        return None
    return {
        "repo": evidence.repo,
        "commit": evidence.commit,
        "path": evidence.path,
        "lines": list(evidence.lines) if evidence.lines else None,
        "link": evidence.permalink,
    }
