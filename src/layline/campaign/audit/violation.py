"""One broken rule, and where it was read."""

from __future__ import annotations

from dataclasses import dataclass

from layline.core.evidence import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule the folder breaks. BREAKS: the rule's own words are violated. LOOK: a sign a person should read."""

    rule: str
    """The rule's place in the specification, e.g. `rule 4`."""
    message: str
    path: str
    line: int | None = None
    severity: Severity = Severity.BREAKS

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path
