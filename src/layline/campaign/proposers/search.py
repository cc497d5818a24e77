"""The built-in proposer: declared structural variants, and sweeps over declared knobs; one space is one round.

All structures are looked at first, each in a few settings, and the fastest is proposed; then the knobs of the working
kernel are swept, sweep after sweep over settings nobody has looked at, while there is time and anything is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from layline.campaign.proposers.answer import Declined, Proposed
from layline.campaign.proposers.brief import Brief
from layline.campaign.proposers.compose import compose
from layline.campaign.proposers.knobs import choose_settings, find_knobs, set_knobs
from layline.campaign.proposers.screen import screen_here
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.values.measurement import Bucket
from layline.campaign.values.operator import Operator, Shape, Snapshot

TOGETHER = "all variants"
SETTINGS = 24
"""Settings of one knob space that are looked at in one sweep."""
FEW = 6
"""Settings of each structure that are looked at when structures are compared."""
SWEEPS = 2
"""Fruitless sweeps over one structure after which a run without a time limit has seen enough."""
WORTH = 0.02
"""A screened gain under this is not worth a round: it could not be told from nothing there."""
WORTH_ON_DEVICE = 0.03
"""The same on an accelerator, whose rounds are dear and whose deciding clock is noisier."""
FASTEST = 6
"""Settings of the last look that are told in the ledger."""
AT_THE_ROOF = 0.95
"""Share of the measured roof above which no setting can bring a gain worth a round."""


@dataclass(frozen=True, slots=True)
class Space:
    """What one round may choose from: texts of the one kernel file by a telling name."""

    title: str
    why: str
    texts: dict[str, str]


@dataclass(slots=True)
class Search:
    """Goes through the spaces it knows; what was looked at once is not looked at again."""

    operator: Operator
    shapes: tuple[Shape, ...]
    may_go_on: Callable[[], bool] = lambda: True
    is_timed: bool = False
    """Whether `may_go_on` ends the search: it then goes on while anything is left to look at."""
    settings: int = SETTINGS
    few: int = FEW
    name: str = "search"
    look: Callable[..., list[Screened]] = screen_here
    """How settings are looked at: `screen_here`, which builds, runs and times each."""
    _seen: set[str] = field(default_factory=set)
    """Kernel texts that were proposed, or seen not to be faster than the working kernel."""

    def propose(self, brief: Brief) -> Proposed | Declined:
        """The fastest of the next space that looks worth a round."""
        if len(brief.allowed_files) != 1:
            return Declined(reason="the search edits one kernel file; this campaign has several", is_final=True)
        if brief.bounds and all((bound.roof_share or 0.0) >= AT_THE_ROOF for bound in brief.bounds):
            return Declined(reason=f"every shape is at {AT_THE_ROOF:.0%} of the measured roof or above", is_final=True)
        notes: list[str] = []
        for space in self._spaces(brief):
            if not self.may_go_on():
                return Declined(reason="; ".join(("the time is used up", *notes)), is_final=True)
            found = self._try(brief, space, notes)
            if found is not None:
                return found
        return Declined(reason="; ".join(notes) or "every declared variant and knob setting was tried", is_final=True)

    @property
    def _is_on_device(self) -> bool:
        return self.operator.is_on_device

    def _spaces(self, brief: Brief) -> Iterator[Space]:
        today = dict(brief.kernel)[brief.allowed_files[0]]
        tried = [item.change for item in (*brief.effective, *brief.ineffective, *brief.inconclusive)]
        # time on a device is dear: an earlier run of the loop that was cut off has compared the structures
        has_compared = self._is_on_device and any(change.startswith(f"{TOGETHER}: ") for change in tried)
        if not has_compared:
            yield from self._structures(today)
        yield from self._sweeps(today, tried)
        if has_compared:
            yield from self._structures(today)

    def _structures(self, today: str) -> Iterator[Space]:
        listed = self.operator.variants if self._is_on_device else (*self.operator.starts, *self.operator.variants)
        others = [(name, text) for name, text in listed if text != today and not _is_setting_of(today, text)]
        # workers start and compile side by side on a device: one look at many costs little more than one at a few
        count = max(2, self.settings // max(1, len(others))) if self._is_on_device else self.few
        texts = {key: turned for name, text in others for key, turned in _settings_of(name, text, count, 1).items()}
        texts = {key: turned for key, turned in texts.items() if turned not in self._seen}
        if texts:
            yield Space(TOGETHER, "another structure suits this operator better", texts)

    def _sweeps(self, today: str, tried: list[str]) -> Iterator[Space]:
        if not any(find_knobs(today)):
            return
        title = f"knobs of {_outline(today)}"
        fruitless = sum(change.startswith(f"{title}: ") for change in tried) if self._is_on_device else 0
        while fruitless < SWEEPS or (self.is_timed and not self._is_on_device):
            # neighbours of the working kernel first, then anywhere; a new seed per sweep finds new settings
            texts = _settings_of("best", today, self.settings + len(self._seen), 7 + len(self._seen) + fruitless)
            texts = dict([(key, text) for key, text in texts.items() if text not in self._seen][: self.settings])
            if not texts:
                return
            fruitless += 1
            yield Space(title, "other tile, depth and unroll sizes fit registers and caches better", texts)

    def _try(self, brief: Brief, space: Space, notes: list[str]) -> Proposed | None:
        path, today = brief.allowed_files[0], dict(brief.kernel)[brief.allowed_files[0]]
        self._seen.add(today)
        candidates = {name: text for name, text in space.texts.items() if text != today}
        if not candidates:
            return None
        snapshots = {name: Snapshot(files=((path, text),)) for name, text in {TODAY: today, **candidates}.items()}
        looked = self.look(self.operator, self.shapes, snapshots, may_go_on=self.may_go_on)
        for made in compose(looked, {TODAY: today, **candidates}):
            if made.text not in self._seen and made.text not in candidates.values():
                candidates[made.name] = made.text
                looked.append(Screened(name=made.name, score=made.score, reason="each pass was looked at by itself"))
        gain, best = _read_gain(looked)
        self._seen.update(candidates[name] for name in _find_slower(looked) if name in candidates)
        failed = [item for item in looked if item.score is None]
        summary = f"{space.title}: {len(snapshots) - 1} settings screened, {len(failed)} refused"
        if best is None or gain < (WORTH_ON_DEVICE if self._is_on_device else WORTH):
            self._seen.update(candidates[item.name] for item in looked if item.name in candidates)
            notes.append(f"{summary}, none faster")
            return None
        self._seen.add(candidates[best])
        return Proposed(
            files={path: candidates[best].encode()},
            hypothesis=f"{space.why[0].upper()}{space.why[1:]}.",
            change=f"{space.title}: {best}",
            bucket=Bucket.K1,
            expect=f"+{gain:.0%}",
            remarks=(summary, *_tell_fastest(looked), *(f"{item.name}: {item.reason}" for item in failed[:5])),
        )


def _read_gain(looked: list[Screened]) -> tuple[float, str | None]:
    """The best candidate and how much faster than today's kernel it looked."""
    scores = {item.name: item.score for item in looked if item.score is not None and not item.is_out}
    today = scores.pop(TODAY, None)
    if today is None or not scores:
        return 0.0, None
    best = min(scores, key=lambda name: scores[name])
    return math.expm1(today - scores[best]), best


def _tell_fastest(looked: list[Screened]) -> Iterator[str]:
    """What the last look saw of the fastest few: milliseconds of a step, the mean over shapes."""
    left = sorted(
        (item for item in looked if item.score is not None and not item.is_out), key=lambda item: item.score or 0.0
    )
    for item in left[:FASTEST]:
        passes = ", ".join(f"{step} {shape} {ms:.4f}" for step, shape, ms in item.times)
        yield f"{item.name}: {math.exp(item.score or 0.0):.4f} ms{f' ({passes})' if passes else ''}"


def _find_slower(looked: list[Screened]) -> Iterator[str]:
    """Candidates that failed, or were no faster than the working kernel."""
    today = next((item.score for item in looked if item.name == TODAY), None)
    for item in looked:
        if item.score is None or (today is not None and item.score >= today):
            yield item.name


def _settings_of(name: str, text: str, count: int, seed: int) -> dict[str, str]:
    """At most `count` settings of a kernel by a telling name; the kernel itself where it has no knobs."""
    knobs = tuple(find_knobs(text))
    if not knobs:
        return {name: text}
    return {f"{name} {_say(setting)}": set_knobs(text, setting) for setting in choose_settings(knobs, count, seed)}


def _say(setting: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


def _outline(text: str) -> str:
    """Names the structure: the same for all settings of one kernel."""
    return " ".join(knob.name for knob in find_knobs(text)) or "this kernel"


def _is_setting_of(text: str, variant: str) -> bool:
    today = {knob.name: knob.value for knob in find_knobs(text)}
    return bool(today) and set_knobs(variant, today) == text
