"""What became of one symbol: a value that answers are kept with, apart from what finds it."""

from __future__ import annotations

from dataclasses import dataclass

from layline.change.signatures import SignatureChange
from layline.core.drift import DriftKind
from layline.core.finding import Suggestion
from layline.core.why import Why, say_all
from layline.source.definitions import DefinitionKind
from layline.source.symbols import Symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One symbol at pin and tip."""

    name: str
    kind: DriftKind
    before: Symbol
    after: Symbol
    changes: tuple[SignatureChange, ...] = ()
    """Differences of the signature (of a class: of its `__init__`); of a moved object, against its new home."""
    body_changed: bool = False
    suggestions: tuple[Suggestion, ...] = ()
    why: tuple[Why, ...] = ()
    commits: tuple[str, ...] = ()
    """Of a lost symbol: the commits that moved it, then the one that removed it; where history was looked at."""

    @property
    def detail(self) -> str:
        """The reasons in words."""
        return say_all(self.why)

    @property
    def is_class_no_more(self) -> bool:
        """It was a class and is a function."""
        before, after = self.before.definition, self.after.definition
        kinds = (before and before.kind, after and after.kind)
        return kinds == (DefinitionKind.CLASS, DefinitionKind.FUNCTION)

    @property
    def new_home(self) -> str | None:
        """The dotted name to use at the tip, where something better than `name` is known."""
        moved = self.kind in {DriftKind.MOVED, DriftKind.RENAMED, DriftKind.BINDING_LOST}
        return self.suggestions[0].target if moved and self.suggestions else None
