"""The `ray` executor: a Ray cluster, for analyses as tasks and for measuring as actors that never run twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from layline.core.environment import install_extra
from layline.errors import ConfigError
from layline.executors.calls import ANSWER, HINT, MESSAGE, call
from layline.executors.dispatch import Answered, Attempt, Event, Gone, Raised, Tally, collect, dispatch
from layline.executors.machine import Machine, digest_code, read_machine
from layline.executors.values import Lost, Plain

_AHEAD = 2
"""Jobs that are on their way for each core of the cluster."""
_START_S = 120.0


def import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ConfigError("Ray is not installed.", hint=install_extra("ray")) from None
    return ray


class NoCluster(ConfigError):
    """Nothing runs where a cluster was asked for."""


class RayExecutor:
    """A cluster that is joined, or (`address` None) one that is started here and ends with this command."""

    name = "ray"

    def __init__(self, address: str | None) -> None:
        self._ray = import_ray()
        self.tally = Tally()
        self._own = not self._ray.is_initialized()
        if self._own:
            here = {"include_dashboard": False} if address is None else {"address": address}
            try:
                self._ray.init(namespace="layline", log_to_driver=False, configure_logging=False, **here)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise NoCluster(f"No Ray cluster answers at {address}: {_short(error)}.") from None

    def machines(self) -> tuple[Machine, ...]:
        """Each node that answers, asked on the node itself; a cluster may list one that is gone for a while."""
        ray = self._ray
        asked = [
            ray.remote(_describe)
            .options(num_cpus=0, max_retries=0, scheduling_strategy=self._at(node["NodeID"]))
            .remote(node["NodeID"])
            for node in ray.nodes()
            if node["Alive"]
        ]
        return tuple(found for one in asked if (found := self._hear(one)) is not None)

    def _hear(self, asked: Any) -> Machine | None:
        try:
            return Machine(**_thaw(self._ray.get(asked, timeout=_START_S)))
        except self._ray.exceptions.RayError:
            return None

    def check(self) -> tuple[Machine, ...]:
        """The machines, if every one of them runs the code that this command runs."""
        found = self.machines()
        other = sorted({one.host for one in found if one.code != digest_code()})
        if other:
            raise ConfigError(
                f"Another version of Layline runs on {', '.join(other)}.", hint="Install the same on every node."
            )
        return found

    def map(
        self, name: str, jobs: Sequence[Plain], each: Callable[[int, Plain], None] = lambda *_: None
    ) -> list[Plain]:
        self.check()
        return collect(dispatch(jobs, _Tasks(self._ray, name, self._cores()), tally=self.tally), each)

    def screen(
        self, name: str, jobs: Sequence[Plain], kind: str, note: Callable[[Attempt], None] = lambda _: None
    ) -> Iterator[tuple[int, Plain]]:
        """Only on machines of one kind: times of two kinds are never compared."""
        fitting = [one for one in self.check() if one.kind == kind]
        if not fitting:
            raise ConfigError(f"No machine of the cluster is a {kind}.")
        nodes = [self._at(one.node) for one in fitting]
        counted = self._ray.cluster_resources().get("GPU", 0)
        accelerators = sum(len(one.accelerators) for one in fitting) if counted else 0
        pool = _Tasks(self._ray, name, sum(one.cores for one in fitting), nodes, accelerators)
        return dispatch(jobs, pool, tally=self.tally, note=note)

    def measure(self, name: str, job: Plain, on: Machine, limit_s: float) -> Plain:
        """One call of one actor, which Ray neither restarts nor asks again; an answer after the limit is dropped."""
        ray = self._ray
        self.tally.attempts += 1
        actor = (
            ray.remote(_Measurer)
            .options(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy=self._at(on.node))
            .remote()
        )
        try:
            return self._open(name, ray.get(actor.measure.remote(name, job), timeout=limit_s))
        except ray.exceptions.GetTimeoutError:
            self.tally.lost += 1
            raise Lost(name, f"no answer within {limit_s:g} s") from None
        except ray.exceptions.RayError as error:
            self.tally.lost += 1
            raise Lost(name, _short(error)) from None
        finally:
            ray.kill(actor)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()

    def _cores(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _at(self, node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node_id=node, soft=False)

    @staticmethod
    def _open(name: str, reply: Plain) -> Plain:
        if ANSWER not in reply:
            raise ConfigError(reply[MESSAGE] or name, hint=reply[HINT])
        answer: Plain = reply[ANSWER]
        return answer


class _Measurer:
    """Runs on a node; one actor for each call."""

    def measure(self, name: str, job: Plain) -> Plain:
        return call(name, job)


def _describe(node: str) -> Plain:
    return dataclasses.asdict(read_machine(node))


def _thaw(plain: Plain) -> Plain:
    return {**plain, "accelerators": tuple(plain["accelerators"])}


class _Tasks:
    """The cluster as `dispatch` sees it. Ray itself tries nothing again: what is lost is counted once, by the
    driver.
    """

    def __init__(self, ray: Any, name: str, cores: int, nodes: Sequence[Any] = (), accelerators: int = 0) -> None:
        self._ray = ray
        self._name = name
        self._most = accelerators or _AHEAD * cores
        self._nodes = nodes
        self._options: dict[str, Any] = {"num_cpus": 1, "max_retries": 0}
        if accelerators:  # one task on each; Ray ends its process afterwards, so that nothing stays on the device
            self._options["num_gpus"] = 1
        self._running: dict[Any, int] = {}
        self._task = ray.remote(call)

    def has_room(self) -> bool:
        return len(self._running) < self._most

    def start(self, attempt: Attempt, job: Plain) -> None:
        options = dict(self._options)
        if self._nodes:
            options["scheduling_strategy"] = self._nodes[attempt.number % len(self._nodes)]
        self._running[self._task.options(**options).remote(self._name, job)] = attempt.number

    def wait(self) -> Iterable[Event]:
        done, _ = self._ray.wait(list(self._running), num_returns=1)
        return [self._read(ref, self._running.pop(ref)) for ref in done]

    def _read(self, ref: Any, attempt: int) -> Event:
        try:
            reply = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            return Gone(attempt, _short(error))
        if ANSWER in reply:
            return Answered(attempt, reply[ANSWER])
        return Raised(attempt, reply[MESSAGE], reply[HINT])


def _short(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
