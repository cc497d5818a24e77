"""Places outside patches that no longer fit upstream: as a value, as a finding, as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Evidence, Location, Severity
from layline.core.report import Annotation
from layline.coupling.drift_model import finding_id
from layline.coupling.model import Consequence, Coupling, State, Touch
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
    tip_evidence: Evidence | None = None
    culprit: str | None = None
    fails_already: bool = False
    """Neither the pin nor the tip has the name."""

    @property
    def id(self) -> str:
        """Stable while file, target, what we do with it and severity stay the same; lines may move."""
        return finding_id(self.touch, self.target, self.location.path, self.severity.value)


def tells_elsewhere(item: Coupling) -> bool:
    """Whether a place outside patches is told: what surely breaks or fails already; of overrides, calls also what may."""
    if item.consequence is Consequence.WILL_BREAK:
        return item.touch in TOUCHES
    if item.state is State.MISSING:
        return item.consequence is Consequence.LOOK
    return item.consequence is Consequence.MAY_BREAK and item.touch in {Touch.OVERRIDE, Touch.CALL}


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
        "severity": item.severity.value,
        "today": "does-not-fit" if item.fails_already else "fits",
        "detail": item.detail,
        "new_target": item.new_target,
        "tip_evidence": encode_evidence(item.tip_evidence),
        "culprit": item.culprit,
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
