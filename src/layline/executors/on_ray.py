"""The `ray` executor: a Ray cluster, for analyses as tasks and for measuring as actors that never run twice."""

from __future__ import annotations

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from typing import Any

from layline.core.environment import install_extra
from layline.errors import ConfigError
from layline.executors.calls import ANSWER, HINT, MESSAGE, call, call_same
from layline.executors.capacity import Capacity
from layline.executors.dispatch import Answered, Attempt, Event, Gone, Raised, Tally, collect, dispatch
from layline.executors.machine import Machine, Silent, digest_code
from layline.executors.parcels import FILE, LACKS, PARCELS, Parcel, read_blocks
from layline.executors.silence import NO_TIME, Reason, ask_unknown, find_reason
from layline.executors.values import Lost, Plain, Tell, ignore

HERE = "local"
"""The address by which Ray starts a cluster of its own on this machine."""
_AHEAD = 1
"""Jobs on their way for each core of the cluster; with more, others would wait behind them."""
_START_S = 120.0
_HINT = "`ray start --head` starts one. Every node needs the same Ray, Python, RAY_AUTH_MODE and token."
_HEAR_S = 1.0
"""So often a run is asked how far it is."""
_LOOK_S = 10.0
"""So often a growing cluster is asked how large it is."""


def import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing of ours calls home
    try:
        import ray
    except ImportError:
        raise ConfigError("Ray is not installed.", hint=install_extra("ray")) from None
    for name in ("ray", "ray.client_builder"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return ray


class NoCluster(ConfigError):
    """Nothing runs where a cluster was asked for."""


class RayExecutor:
    """A cluster that is joined, or (`HERE`) one that is started on this machine and ends with this command."""

    name = "ray"

    def __init__(self, address: str) -> None:
        self._ray = import_ray()
        self.tally = Tally()
        self._own = not self._ray.is_initialized()
        if self._own:
            self._join(address)

    def _join(self, address: str) -> None:
        ray = self._ray
        more: dict[str, Any] = {} if address.startswith("ray://") else {"configure_logging": False}
        if address == HERE:
            more["include_dashboard"] = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what fails is raised, too
                ray.init(address, namespace="layline", log_to_driver=False, **more)
        except ConnectionError as error:
            raise NoCluster(f"No Ray cluster answers at {address}: {_short(error)}.", hint=_HINT) from None
        except (ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise ConfigError(f"The Ray cluster at {address} refuses: {_short(error)}.", hint=_HINT) from None

    def machines(self) -> tuple[Machine, ...]:
        return tuple(one for one in self.look() if isinstance(one, Machine))

    def look(self) -> tuple[Machine | Silent, ...]:
        """Each node, asked on the node itself, or why it does not answer; a cluster may list one that is gone for a
        while.
        """
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        describe = ask_unknown()
        asked = [self._ask(describe, node["NodeID"]).remote(node["NodeID"]) for node in nodes]
        heard = (self._hear(node, one) for node, one in zip(nodes, asked, strict=True))
        return tuple(one for one in heard if one is not None)

    def _ask(self, function: Callable[..., Any], node: str) -> Any:
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": self._at(node)}
        return self._ray.remote(function).options(**options)

    def _hear(self, node: dict[str, Any], asked: Any) -> Machine | Silent | None:
        errors = self._ray.exceptions
        try:
            said = self._ray.get(asked, timeout=_START_S)
            reason = find_reason(said)
        except (errors.NodeDiedError, errors.WorkerCrashedError, errors.TaskUnschedulableError):
            return None
        except errors.GetTimeoutError:
            reason = Reason(f"no answer within {_START_S:.0f} s", NO_TIME)
        except (errors.RayError, ImportError) as error:
            reason = Reason(_short(error), "`ray logs` on that node may say more.")
        if reason is not None:
            host = str(node.get("NodeManagerHostname", ""))
            return Silent(host=host, node=node["NodeID"], why=reason.why, hint=reason.hint)
        return Machine(**said)

    def check(self) -> tuple[Machine, ...]:
        """The machines, if every one of them answers and runs the code that this command runs."""
        found = self.look()
        silent = next((one for one in found if isinstance(one, Silent)), None)
        if silent is not None:
            raise ConfigError(f"{silent.host} cannot be used: {silent.why}.", hint=silent.hint)
        machines = tuple(one for one in found if isinstance(one, Machine))
        other = sorted({one.host for one in machines if one.code != digest_code()})
        if other:
            raise ConfigError(
                f"Another version of Layline runs on {', '.join(other)}.",
                hint="Install the same version on every node.",
            )
        if not self._count("CPU"):
            raise ConfigError("No node of the cluster has a core for Layline.", hint="Start one with --num-cpus.")
        return machines

    def send(self, receiver: str, parcels: Sequence[Parcel]) -> int:
        """Every node gets what it lacks, in blocks through Ray's own store, and each file is made once at most."""
        nodes = [one.node for one in self.check()] if parcels else []
        about = {PARCELS: [parcel.about for parcel in parcels]}
        asked = {node: self._ask(call_same, node).remote(receiver, about, digest_code()) for node in nodes}
        lacking = {node: self._open(receiver, self._ray.get(one))[LACKS] for node, one in asked.items()}
        sent = 0
        for number, parcel in enumerate(parcels):
            to = [node for node in nodes if number in lacking[node]]
            if to:
                self._deliver(receiver, parcel, to)
            sent += len(to)
        return sent

    def _deliver(self, receiver: str, parcel: Parcel, nodes: Sequence[str]) -> None:
        file = parcel.make()
        blocks = [self._ray.put(block) for block in read_blocks(file)]
        asked = [self._ask(_receive, node).remote(receiver, parcel.about, blocks) for node in nodes]
        for one in asked:
            self._open(receiver, self._ray.get(one))

    def map(
        self, name: str, jobs: Sequence[Plain], each: Callable[[int, Plain], None] = lambda *_: None
    ) -> list[Plain]:
        self.check()
        return collect(dispatch(jobs, _Anywhere(self, name), tally=self.tally), each)

    def screen(
        self, name: str, jobs: Sequence[Plain], kind: str, note: Callable[[Attempt], None] = lambda _: None
    ) -> Generator[tuple[int, Plain]]:
        """Only on machines of one kind: times of two kinds are never compared."""
        fitting = [one for one in self.check() if one.count(kind)]
        if not fitting:
            raise ConfigError(f"No machine of the cluster is of kind {kind}.")
        pool = _OnKind(self, name, fitting, kind)
        try:
            yield from dispatch(jobs, pool, tally=self.tally, note=note)
        finally:
            pool.drop()

    def choose(self, kind: str) -> Machine | None:
        """Of the nodes that offer it one with room now: a driver may hold the only core of its node for days."""
        fitting = [one.only(kind) for one in self.machines() if one.count(kind) and one.code == digest_code()]
        offered = {what: self._count_by_node(what) for what in ("CPU", "GPU")}
        usable = [one for one in fitting if offered["GPU" if one.accelerators else "CPU"].get(one.node)]
        free = self._find_free("CPU")
        return min(usable, key=lambda one: (one.node not in free, one.node), default=None)

    def measure(self, name: str, job: Plain, on: Machine, limit_s: float, tell: Tell = ignore) -> Plain:
        """One call of one actor, which Ray neither restarts nor asks again; an answer after the limit is dropped.

        Others may use the machine first: the limit begins anew when it is this job's turn.
        """
        ray = self._ray
        options = self._reserve(on)
        self.tally.attempts += 1
        actor = ray.remote(_Measurer).options(max_restarts=0, max_task_retries=0, **options).remote()
        board = None if tell is ignore else ray.remote(_Board).options(num_cpus=0).remote()
        try:
            ray.get(actor.__ray_ready__.remote(), timeout=limit_s)
            asked = actor.measure.remote(name, job, digest_code(), board)
            self._listen(asked, board, tell, limit_s)
            return self._open(name, ray.get(asked, timeout=_START_S))
        except ray.exceptions.GetTimeoutError:
            self.tally.lost += 1
            raise Lost(name, f"no answer within {limit_s:g} s") from None
        except ray.exceptions.RayError as error:
            self.tally.lost += 1
            raise Lost(name, self.explain(error)) from None
        finally:
            for one in (actor, board):
                if one is not None:
                    ray.kill(one)

    def _listen(self, asked: Any, board: Any, tell: Tell, limit_s: float) -> None:
        """Until there is an answer or the time is up; a board that is gone costs what it would have told."""
        ray, until = self._ray, time.monotonic() + limit_s
        pause = limit_s if board is None else _HEAR_S
        while not ray.wait([asked], timeout=max(0.0, min(pause, until - time.monotonic())))[0]:
            if time.monotonic() >= until:
                raise ray.exceptions.GetTimeoutError
            with suppress(ray.exceptions.RayError):
                for said in ray.get(board.take.remote(), timeout=_HEAR_S):
                    tell(said)

    def _reserve(self, on: Machine) -> dict[str, Any]:
        """What a measuring run takes of its node: a core, and an accelerator where it is one that is measured."""
        has = {what: self._count_by_node(what).get(on.node, 0) for what in ("CPU", "GPU")}
        if on.accelerators and not has["GPU"]:
            raise ConfigError(
                f"{on.host} does not offer its {on.kind} to Ray.", hint="Start Ray there with --num-gpus."
            )
        gpus = {"num_gpus": 1} if on.accelerators else {}
        return {"num_cpus": min(1, has["CPU"]), **gpus, "scheduling_strategy": self._at(on.node)}

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()

    def explain(self, error: Exception) -> str:
        """Why an attempt was lost, without the addresses in Ray's own words."""
        errors = self._ray.exceptions
        gone = (errors.NodeDiedError, errors.WorkerCrashedError, errors.ActorDiedError, errors.ActorUnavailableError)
        if isinstance(error, errors.OutOfMemoryError):
            return "Ray ended its process: the node is short of memory"
        return "its process or its node died" if isinstance(error, gone) else _short(error)

    def _count(self, what: str) -> int:
        return int(self._ray.cluster_resources().get(what, 0))

    def _count_by_node(self, what: str) -> dict[str, int]:
        return {node["NodeID"]: int(node["Resources"].get(what, 0)) for node in self._ray.nodes() if node["Alive"]}

    def _find_free(self, what: str) -> set[str]:
        """Nodes with room now; none where Ray does not tell, as to its clients."""
        try:
            found: dict[str, dict[str, float]] = self._ray._private.state.available_resources_per_node()
        except (AttributeError, self._ray.exceptions.RayError):
            return set()
        return {node for node, left in found.items() if left.get(what, 0) >= 1}

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

    def measure(self, name: str, job: Plain, code: str, board: Any) -> Plain:
        with suppress(OSError):  # not everybody may: Ray's workers give way to all others
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        return call_same(name, job, code, ignore if board is None else board.hear.remote)


class _Board:
    """Between a run and whoever asked for it: what was said and not yet heard."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def hear(self, said: str) -> None:
        self._said.append(said)

    def take(self) -> list[str]:
        said, self._said = self._said, []
        return said


def _receive(receiver: str, about: Plain, blocks: Sequence[Any]) -> Plain:
    """On a node: put the blocks together and hand the file over."""
    import ray

    with tempfile.NamedTemporaryFile(prefix="layline-parcel-") as file:
        for block in blocks:
            file.write(ray.get(block))
        file.flush()
        return call(receiver, {**about, FILE: file.name})


class _Tasks:
    """The cluster as `dispatch` sees it. Ray itself tries nothing again: what is lost is counted once, by the
    driver.
    """

    def __init__(self, executor: RayExecutor, name: str) -> None:
        self._executor = executor
        self._ray = executor._ray
        self._name = name
        self._options: dict[str, Any] = {"num_cpus": 1, "max_retries": 0}
        self._running: dict[Any, tuple[int, str]] = {}
        """Attempt and node; the node is empty where Ray chose."""
        self._task = self._ray.remote(call_same)

    def _send(self, attempt: Attempt, job: Plain, node: str = "", **more: Any) -> None:
        task = self._task.options(**self._options, **more)
        self._running[task.remote(self._name, job, digest_code())] = (attempt.number, node)

    def wait(self) -> Iterable[Event]:
        """All that is there: to ask Ray costs as much as there is on its way, whether one answer came or a thousand."""
        first, rest = self._ray.wait(list(self._running), num_returns=1)
        more = self._ray.wait(rest, num_returns=len(rest), timeout=0)[0] if rest else []
        return [self._read(ref, *self._running.pop(ref)) for ref in (*first, *more)]

    def _read(self, ref: Any, attempt: int, node: str) -> Event:
        try:
            reply = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._free(node, is_lost=True)
            return Gone(attempt, self._executor.explain(error))
        self._free(node, is_lost=False)
        if ANSWER in reply:
            return Answered(attempt, reply[ANSWER])
        return Raised(attempt, reply[MESSAGE], reply[HINT])

    def _free(self, node: str, *, is_lost: bool) -> None:
        """A node has answered, or lost what it was asked."""

    def drop(self) -> None:
        """Nobody waits for these any more: others may have their machines."""
        for ref in self._running:
            self._ray.cancel(ref, force=True)


class _Anywhere(_Tasks):
    """Wherever there is a core; a cluster that grows gets more."""

    def __init__(self, executor: RayExecutor, name: str) -> None:
        super().__init__(executor, name)
        self._most = 0
        self._looked = float("-inf")

    def has_room(self) -> bool:
        if time.monotonic() - self._looked > _LOOK_S:
            self._most = _AHEAD * max(1, self._executor._count("CPU"))
            self._looked = time.monotonic()
        return len(self._running) < self._most

    def start(self, attempt: Attempt, job: Plain) -> None:
        self._send(attempt, job)


class _OnKind(_Tasks):
    """Only on machines of one kind."""

    def __init__(self, executor: RayExecutor, name: str, machines: Sequence[Machine], kind: str) -> None:
        super().__init__(executor, name)
        is_device = any(kind != one.processor for one in machines)
        if is_device:  # one task on each; Ray ends its process afterwards, so that nothing stays on the device
            self._options["num_gpus"] = 1
        what = "GPU" if is_device else "CPU"
        given, free = executor._count_by_node(what), executor._find_free(what)
        has = {one.node: one.count(kind) if is_device else one.cores for one in machines}
        most = {node: min(given.get(node, 0), number) for node, number in has.items()}
        self._capacity = Capacity({node: number for node, number in most.items() if node in free} or most)
        if not self._capacity.has_room():
            raise ConfigError(
                f"No node offers a machine of kind {kind} to Ray.",
                hint="Start Ray there with --num-gpus or --num-cpus.",
            )

    def has_room(self) -> bool:
        return self._capacity.has_room()

    def start(self, attempt: Attempt, job: Plain) -> None:
        node = self._capacity.take()
        self._send(attempt, job, node, scheduling_strategy=self._executor._at(node))

    def _free(self, node: str, *, is_lost: bool) -> None:
        self._capacity.give_back(node, is_lost=is_lost)


def _short(error: Exception) -> str:
    """One line of what Ray says: its first, or the last where a function failed and its traceback comes first."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    is_traced = bool(lines) and ("ray::" in lines[0] or "Traceback" in str(error))
    said = lines[-1] if is_traced else next(iter(lines), type(error).__name__)
    return said.rstrip(".")
