"""The built-in proposer: declared structural variants, and sweeps over declared knobs; one space is one round."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from layline.campaign.model import Bucket, Operator, Shape, Snapshot
from layline.campaign.proposers.answer import Declined, Proposed
from layline.campaign.proposers.brief import Brief
from layline.campaign.proposers.knobs import choose_settings, find_knobs, set_knobs
from layline.campaign.proposers.screen import TODAY, Screened, screen

TOGETHER = "all variants"
SETTINGS = 24
"""Settings of one knob space that are looked at."""
WORTH = 0.01
"""A screened gain under this is not worth a round."""
WORTH_ON_DEVICE = 0.03
"""The same on an accelerator, whose rounds are dear and whose deciding clock is noisier."""


@dataclass(frozen=True, slots=True)
class Space:
    """What one round may choose from: texts of the one kernel file by a telling name."""

    title: str
    why: str
    texts: dict[str, str]


@dataclass(slots=True)
class Search:
    """Goes through the spaces it knows, cheapest knowledge first; each is tried once per best kernel."""

    operator: Operator
    shapes: tuple[Shape, ...]
    may_go_on: Callable[[], bool] = lambda: True
    settings: int = SETTINGS
    name: str = "search"
    _done: set[str] = field(default_factory=set)

    def propose(self, brief: Brief) -> Proposed | Declined:
        """The fastest of the next space that looks worth a round."""
        if len(brief.allowed_files) != 1:
            return Declined(reason="the search edits one kernel file; this campaign has several", is_final=True)
        notes: list[str] = []
        tried = (*brief.effective, *brief.ineffective, *brief.inconclusive)
        self._done |= {
            item.change.rpartition(": ")[0] for item in tried
        }  # an earlier run of the loop may have been cut off
        for space in self._spaces(brief):
            if not self.may_go_on():
                return Declined(reason="the time is used up", is_final=True)
            self._done.add(space.title)
            found = self._try(brief, space, notes)
            if found is not None:
                return found
        return Declined(reason="; ".join(notes) or "every declared variant and knob space was tried", is_final=True)

    def _spaces(self, brief: Brief) -> Iterator[Space]:
        text = dict(brief.kernel)[brief.allowed_files[0]]
        others = [(name, variant) for name, variant in self.operator.variants if not _is_setting_of(text, variant)]
        if self.operator.language == "triton" and len(others) > 1 and TOGETHER not in self._done:
            # workers start and compile side by side there: one look at all structures costs little more than one at one
            share = max(2, self.settings // len(others))
            texts = [self._settings_of(name, variant, 1, share) for name, variant in others]
            merged = {name: text for some in texts for name, text in some.items()}
            yield Space(TOGETHER, "another structure suits this operator better", merged)
        yield from self._sweeps(text) if TOGETHER in self._done else ()
        for name, variant in (*self.operator.starts, *self.operator.variants):
            title = f"variant {name}"
            if title not in self._done and variant != text and not _is_setting_of(text, variant):
                yield Space(
                    title, f"the structure `{name}` suits this operator better", self._settings_of(name, variant, 1)
                )
        yield from self._sweeps(text)

    def _sweeps(self, text: str) -> Iterator[Space]:
        for turn in range(2):
            title = f"knobs of {_outline(text)}, sweep {turn + 1}"
            if title not in self._done and any(find_knobs(text)):
                yield Space(
                    title,
                    "other tile, depth and unroll sizes fit registers and caches better",
                    self._settings_of("best", text, turn + 7),
                )

    def _settings_of(self, name: str, text: str, seed: int, count: int | None = None) -> dict[str, str]:
        knobs = tuple(find_knobs(text))
        if not knobs:
            return {name: text}
        chosen = choose_settings(knobs, count or self.settings, seed)
        return {f"{name} {_say(setting)}": set_knobs(text, setting) for setting in chosen}

    def _try(self, brief: Brief, space: Space, notes: list[str]) -> Proposed | None:
        path, today = brief.allowed_files[0], dict(brief.kernel)[brief.allowed_files[0]]
        candidates = {name: text for name, text in space.texts.items() if text != today}
        snapshots = {name: Snapshot(files=((path, text),)) for name, text in {TODAY: today, **candidates}.items()}
        looked = screen(self.operator, self.shapes, snapshots, may_go_on=self.may_go_on)
        gain, best = _read_gain(looked)
        failed = [item for item in looked if item.score is None]
        summary = f"{space.title}: {len(snapshots) - 1} settings screened, {len(failed)} refused"
        worth = WORTH_ON_DEVICE if self.operator.language == "triton" else WORTH
        if best is None or gain < worth:
            notes.append(f"{summary}, none faster")
            return None
        return Proposed(
            files={path: candidates[best].encode()},
            hypothesis=f"{space.why[0].upper()}{space.why[1:]}.",
            change=f"{space.title}: {best}",
            bucket=Bucket.K1,
            expect=f"+{gain:.0%}",
            remarks=(summary, *(f"{item.name}: {item.reason}" for item in failed[:5])),
        )


def _read_gain(looked: list[Screened]) -> tuple[float, str | None]:
    """The best candidate and how much faster than today's kernel it looked."""
    scores = {item.name: item.score for item in looked if item.score is not None}
    today = scores.pop(TODAY, None)
    if today is None or not scores:
        return 0.0, None
    best = min(scores, key=lambda name: scores[name])
    return math.expm1(today - scores[best]), best


def _say(setting: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


def _outline(text: str) -> str:
    """Names the structure: the same for all settings of one kernel."""
    return " ".join(knob.name for knob in find_knobs(text)) or "this kernel"


def _is_setting_of(text: str, variant: str) -> bool:
    today = {knob.name: knob.value for knob in find_knobs(text)}
    return bool(today) and set_knobs(variant, today) == text
