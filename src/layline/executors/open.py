"""Which executor a user means by `local`, `local:N`, `auto` or `ray://…`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from layline.errors import ConfigError
from layline.executors.dispatch import Attempt, Tally
from layline.executors.local import LocalExecutor
from layline.executors.machine import Machine, Silent
from layline.executors.on_ray import HERE, NoCluster, RayExecutor
from layline.executors.parcels import Parcel
from layline.executors.values import Plain, Tell


class Executor(Protocol):
    name: str
    tally: Tally

    def machines(self) -> tuple[Machine, ...]: ...

    def look(self) -> tuple[Machine | Silent, ...]:
        """The machines, and those that are there and do not answer."""
        ...

    def send(self, receiver: str, parcels: Sequence[Parcel]) -> int:
        """Hand files to a function on every machine that lacks them; how many were handed over."""
        ...

    def map(self, name: str, jobs: Sequence[Plain], each: Callable[[int, Plain], None] = ...) -> list[Plain]:
        """The answers of a pure function, in the order of the jobs; `each` is told as they come."""
        ...

    def screen(
        self, name: str, jobs: Sequence[Plain], kind: str, note: Callable[[Attempt], None] = ...
    ) -> Generator[tuple[int, Plain]]:
        """Job number and answer, as they come, from machines of one kind; closed early, nobody works on."""
        ...

    def choose(self, kind: str) -> Machine | None:
        """A machine of this kind that may be measured on; the same one as long as it is there."""
        ...

    def measure(self, name: str, job: Plain, on: Machine, limit_s: float, tell: Tell = ...) -> Plain:
        """At most once; raises Lost. `tell` hears what the function says (`say`) while it runs."""
        ...

    def close(self) -> None: ...


@contextmanager
def open_executor(words: str) -> Iterator[Executor]:
    """`auto`: the running Ray cluster, or one that is started here for this command."""
    executor = _choose(words)
    try:
        yield executor
    finally:
        executor.close()


@contextmanager
def open_wanted(words: str | None) -> Iterator[Executor | None]:
    """None where nobody asked for one."""
    if words is None:
        yield None
        return
    with open_executor(words) as executor:
        yield executor


def _choose(words: str) -> Executor:
    name, _, number = words.partition(":")
    if name == "local" and (not number or (number.isdecimal() and int(number))):
        return LocalExecutor(int(number or 1))
    if words == "auto":
        try:
            return RayExecutor("auto")
        except NoCluster:
            return RayExecutor(HERE)
    if words.startswith("ray://") or name == "ray":
        return RayExecutor(words if words.startswith("ray://") else number.removeprefix("//"))
    raise ConfigError(f"{words!r} is not an executor.", hint="Write local, local:N, auto or ray://HOST:PORT.")
