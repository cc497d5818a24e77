"""Which machine gets the next job: one with room, of these one that lost nothing, of these the least busy."""

from __future__ import annotations

import heapq
from collections.abc import Mapping


class Capacity:
    """Machines of one kind and how many jobs each takes at once. A choice costs the logarithm of their number."""

    def __init__(self, most: Mapping[str, int]) -> None:
        self._most = {machine: room for machine, room in most.items() if room > 0}
        self._busy = dict.fromkeys(self._most, 0)
        self._lost = dict.fromkeys(self._most, 0)
        self._free = sum(self._most.values())
        self._queue = [(0, 0, machine) for machine in self._most]
        """Lost and busy as they were; an entry that is no longer true is passed over."""

    def has_room(self) -> bool:
        return self._free > 0

    def take(self) -> str:
        """A machine, of which one place is taken now; ask only where there is room."""
        while True:
            lost, busy, machine = heapq.heappop(self._queue)
            if (lost, busy) == (self._lost[machine], self._busy[machine]) and busy < self._most[machine]:
                break
        self._busy[machine] += 1
        self._free -= 1
        self._note(machine)
        return machine

    def give_back(self, machine: str, *, is_lost: bool = False) -> None:
        self._busy[machine] -= 1
        self._lost[machine] += is_lost
        self._free += 1
        self._note(machine)

    def _note(self, machine: str) -> None:
        if self._busy[machine] < self._most[machine]:
            heapq.heappush(self._queue, (self._lost[machine], self._busy[machine], machine))
