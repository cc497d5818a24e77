"""One effect held against both refs: what every judge of drift is asked, each thing looked up once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from layline.change.compare import Comparison
from layline.core.drift import DriftKind, Fate
from layline.core.finding import Suggestion
from layline.core.patch import Effect, Patch, Style
from layline.core.why import FAILS_FIRST, Why
from layline.coupling.anchors import find_in_bases, read_source
from layline.coupling.compare_target import compare_target
from layline.coupling.decide import Outlook, judge_guard
from layline.coupling.drift_model import LOST, Sides
from layline.coupling.fit import Fit, Fitter, find_new_problems
from layline.coupling.replacements import Replacement
from layline.coupling.row_parts import LostRead


@dataclass(frozen=True, eq=False)
class Question:
    """Whether one effect on `target` still does what it was written for."""

    patch: Patch
    effect: Effect
    target: str
    sides: Sides
    fitter: Fitter

    @cached_property
    def comparison(self) -> Comparison:
        return compare_target(self.target, self.effect, self.sides)

    @property
    def kind(self) -> DriftKind:
        """What became of the target itself."""
        return self.comparison.kind

    @cached_property
    def ours(self) -> Replacement | None:
        """What we put in its place; None where that cannot be read, or where we rewrite upstream's text."""
        ours = self.sides.replacements.read(self.effect.replacement_at) if not self.effect.anchors else None
        if ours is None:
            return None
        return replace(
            ours,
            installed=self.sides.replacements.read_line(self.effect.location),
            tree=self.sides.replacements.read_tree(ours.location.path),
        )

    @cached_property
    def fit(self) -> Fit | None:
        """Whether ours takes what upstream passes; None where the target gives no reason to ask."""
        changed = self.kind is DriftKind.SIGNATURE_CHANGED
        if self.effect.anchors or (changed and self.effect.style is Style.SOURCE_REWRITE):
            return None
        if changed or (self.kind is DriftKind.MOVED and self.comparison.after.exists):
            return self.fitter.check(self.comparison, self.ours)
        if self.kind in LOST:
            return find_new_problems(self.comparison, self.ours, self.fitter.comparer)
        return None

    @cached_property
    def dead(self) -> Why | None:
        """Why our code fails before it puts anything in place today already."""
        if self.effect.anchors or self.kind is DriftKind.EXTERNAL:
            return None
        return self.sides.reader.find_dead(self.ours, self.effect.location)

    @cached_property
    def is_decided(self) -> bool:
        """True where how our replacement reads and returns can still make a difference."""
        return not self.effect.anchors and self.kind.facts.fate is not Fate.OPEN and self.dead is None

    @cached_property
    def lost(self) -> tuple[LostRead, ...]:
        """What our replacement reads and the tip does not have; of a target that cannot be decided what fails before
        anything is put in place.
        """
        if self.dead is not None or not (self.is_decided or self.kind is DriftKind.UNRESOLVED):
            return ()
        reader, ours = self.sides.reader, self.ours
        found = reader.find_lost(self.comparison, ours, self.effect.location)
        if not self.is_decided:
            return tuple(item for item in found if item.why.reason in FAILS_FIRST)
        return (*found, *reader.find_outlived(ours, self.sides.running))

    @cached_property
    def outlook(self) -> Outlook | None:
        """What the guard or the condition of the effect says about the tip; of what a replacement of ours does when it
        runs, what that of every write says which puts the replacement in place.
        """
        ground = self.sides.ground
        if ground is None or self.kind is DriftKind.EXTERNAL:
            return None
        own = judge_guard(self.patch, self.effect.when, ground)
        if own is not None:
            return own
        around = [judge_guard(self.patch, one.when, ground) for one in self.patch.effects if self._is_within(one)]
        return around[0] if around and all(one is not None and one.is_over for one in around) else None

    def _is_within(self, other: Effect) -> bool:
        """Whether the replacement of another effect does this one."""
        at, place = other.replacement_at, self.effect.location
        if other is self.effect or at is None or at.path != place.path or at.line > place.line:
            return False
        found = self.sides.replacements.read(at)
        return found is not None and place.line <= (getattr(found.node, "end_lineno", 0) or 0)

    @cached_property
    def text_home(self) -> Suggestion | None:
        """The base class whose method has the text that a source rewrite lost."""
        if not self.lost_texts[1]:
            return None
        return find_in_bases(self.sides.tip, self.comparison.after, self.effect.anchors)

    @cached_property
    def lost_texts(self) -> tuple[list[str], list[str]]:
        """Of a source rewrite: texts that are not in upstream's source at the pin, and at the tip."""
        if not self.effect.anchors or self.kind.facts.fate is not Fate.STAYS:
            return [], []
        sides = (self.sides.pin, self.comparison.before), (self.sides.tip, self.comparison.after)
        then, now = (read_source(side, symbol) for side, symbol in sides)
        return (
            [text for text in self.effect.anchors if text not in then],
            [text for text in self.effect.anchors if text not in now],
        )
