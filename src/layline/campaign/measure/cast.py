"""Who opens the processes of a measuring run: the timed arms, the kernel on trial once more, the start, the best."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import Built, NotBuilt, build_kernel
from layline.campaign.measure.controls import CONTROLS
from layline.campaign.measure.crew import Room, open_arm, open_arms
from layline.campaign.measure.placement import Placements
from layline.campaign.measure.probes.probe import AGAIN, BEST, PROFILED, START
from layline.campaign.measure.request import Request
from layline.campaign.measure.stage import Stage
from layline.campaign.values.measurement import Arm
from layline.errors import BenchError


class Cast:
    """Every process has its kernel at a place of its own. Probes beside one another ask at the same time."""

    def __init__(self, request: Request, stage: Stage) -> None:
        self.stage = stage
        self.builts: dict[Arm, Built] = {}
        self.on_trial = Arm.CANDIDATE if request.candidate is not None else Arm.BEST
        self.timed = (Arm.BEST, Arm.CANDIDATE if request.candidate is not None else Arm.AGAIN)
        """The baseline is timed beside itself, which shows the noise."""
        self._request = request
        self._places: dict[Arm, Placements] = {}
        self._start: Built | None = None
        self._waiting: list[list[LiveArm]] = []
        self._aside: defaultdict[tuple[str, int], list[LiveArm]] = defaultdict(list)
        """Started ahead, for the probes that need a process of their own, by what it is and its lane."""
        self._lock = threading.Lock()

    def add(self, arm: Arm, built: Built) -> None:
        """A kernel that can be loaded from now on."""
        self.builts[arm] = built
        self._places[arm] = Placements(built, self.stage.shop, self.stage.rng)

    @property
    def started(self) -> list[LiveArm]:
        """Workers nobody has asked anything yet."""
        return [*chain(*self._waiting), *chain(*self._aside.values())]

    @property
    def idle(self) -> list[LiveArm]:
        """Workers for what comes after the probes that are made side by side."""
        return [*self._aside[AGAIN, 0], *self._aside[BEST, 0]]

    def start_ahead(self, count: int, aside: Iterable[tuple[str, int]] = ()) -> None:
        """Where a process takes seconds to start, those of the next pairs start together, while others work."""
        if not self.stage.device.starts_slowly:
            return
        while len(self._waiting) < count:
            self._waiting.append(self._open_pair())
        for what, lane in aside:
            match what:
                case "again" | "profiled":
                    opened = self._open_again(Room(lane=lane, is_profiled=what == PROFILED))
                case "start":
                    opened = self._open_start(None, lane)
                case _:
                    opened = self._open_best(lane)
            self._aside[what, lane].append(opened)

    def take_pair(self) -> list[LiveArm]:
        """Every kernel that is timed, each at a place of its own; with the best's twins where they start together."""
        return self._waiting.pop(0) if self._waiting else self._open_pair()

    def _open_pair(self) -> list[LiveArm]:
        wanted = dict.fromkeys(self.timed)
        if self.stage.device.starts_slowly:
            wanted |= dict.fromkeys(CONTROLS)
        places = {arm: self.draw_place(arm if arm in self._places else Arm.BEST) for arm in wanted}
        return open_arms(self.stage, places)

    def draw_place(self, arm: Arm) -> Built:
        with self._lock:
            return self._places[arm].draw()

    def open_again(
        self,
        size: int | None,
        masked: tuple[str, ...],
        *,
        lane: int = 0,
        is_stale: bool = False,
        is_profiled: bool = False,
    ) -> LiveArm:
        """Another process for the kernel on trial."""
        ready = self._aside[PROFILED if is_profiled else AGAIN, lane]
        if size is None and not masked and not is_stale and ready:
            return ready.pop(0)  # who was started first is ready first
        room = Room(size=size, masked=masked, lane=lane, is_stale=is_stale, is_profiled=is_profiled)
        return self._open_again(room)

    def _open_again(self, room: Room) -> LiveArm:
        arm = self.on_trial if room.size is not None or room.masked else Arm.AGAIN
        built = self.draw_place(self.on_trial)
        return open_arm(self.stage, arm, built, cache=self.on_trial.value, room=room)

    def open_best(self, *, lane: int = 0) -> LiveArm:
        """Another process for the best."""
        ready = self._aside[BEST, lane]
        return ready.pop(0) if ready else self._open_best(lane)

    def _open_best(self, lane: int) -> LiveArm:
        return open_arm(self.stage, Arm.BEST, self.draw_place(Arm.BEST), room=Room(lane=lane))

    def open_start(self, size: int | None, *, lane: int = 0) -> LiveArm:
        """A process for the campaign's starting kernel."""
        ready = self._aside[START, lane]
        return ready.pop(0) if size is None and ready else self._open_start(size, lane)

    def _open_start(self, size: int | None, lane: int) -> LiveArm:
        built = self._build_start()
        # the same text is compiled once, whatever it is called
        cache = Arm.BEST.value if built is self.builts[Arm.BEST] else "start"
        # on a lane the kernel on trial has the other's memory
        arm = Arm.CANARY if lane else Arm.AGAIN
        return open_arm(self.stage, arm, built, cache=cache, room=Room(size=size, lane=lane))

    def _build_start(self) -> Built:
        with self._lock:
            if self._start is None:
                start = self._request.start or self._request.best
                built: Built | NotBuilt = self.builts[Arm.BEST]  # after the first accepted round they are two
                if start != self._request.best:
                    built = build_kernel(start, self.stage.operator, self.stage.shop)
                if isinstance(built, NotBuilt):
                    raise BenchError(f"The starting kernel no longer compiles: {built.reason}")
                self._start = built
            return self._start
