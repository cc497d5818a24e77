"""One contract for every executor: processes of this machine, and a Ray cluster of three nodes on it (`make slow`)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from layline.errors import ConfigError, Error
from layline.executors import Executor, Lost, Machine, Parcel, digest_code, open_executor
from layline.executors.calls import call_same
from layline.executors.local import LocalExecutor

TRIAL = "layline.executors.trial:"
pytestmark = [  # Ray leaves sockets open while it looks for free ports
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray", reason="Ray is not installed: pip install './layline[ray]'")
    from ray.cluster_utils import Cluster

    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.added = [made.add_node(num_cpus=1) for _ in range(2)]
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.fixture(params=["local:2", pytest.param("ray", marks=pytest.mark.slow)])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    words = request.param if request.param != "ray" else f"ray:{request.getfixturevalue('cluster').address}"
    with open_executor(words) as opened:
        yield opened


def jobs(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"number": number, **more} for number in range(count)]


def count_calls(log: Path) -> Counter[str]:
    return Counter(line.split()[0] for line in log.read_text().splitlines())


def test_answers_come_in_the_order_of_the_jobs(executor: Executor) -> None:
    assert [one["number"] for one in executor.map(f"{TRIAL}greet", jobs(12))] == list(range(12))
    assert (executor.tally.attempts, executor.tally.lost) == (12, 0)


def test_a_killed_worker_costs_its_shard_once(executor: Executor, tmp_path: Path) -> None:
    log = tmp_path / "log"
    asked = [{"number": number, "flag": str(tmp_path / f"flag{number % 2}"), "log": str(log)} for number in range(4)]
    found = executor.map(f"{TRIAL}die_once", asked)
    assert [one["number"] for one in found] == [0, 1, 2, 3]
    assert (executor.tally.lost, executor.tally.late, executor.tally.doubled) == (2, 0, 0)
    assert sum(count_calls(log).values()) == executor.tally.attempts == 6


def test_a_measurement_runs_at_most_once(executor: Executor, tmp_path: Path) -> None:
    job = {"number": 0, "flag": str(tmp_path / "flag"), "log": str(tmp_path / "log")}
    with pytest.raises(Lost):
        executor.measure(f"{TRIAL}die_once", job, executor.machines()[0], 60)
    assert count_calls(tmp_path / "log") == {"0": 1}
    assert (executor.tally.attempts, executor.tally.lost) == (1, 1)


def test_a_late_answer_is_dropped(executor: Executor, tmp_path: Path) -> None:
    machine = executor.machines()[0]
    job = {"number": 0, "seconds": 30, "log": str(tmp_path / "log")}
    with pytest.raises(Lost, match="no answer within 6 s"):
        executor.measure(f"{TRIAL}rest", job, machine, 6)
    assert executor.measure(f"{TRIAL}greet", {"number": 5}, machine, 60)["number"] == 5


def test_a_measurement_tells_how_far_it_is(executor: Executor, tmp_path: Path) -> None:
    """Heard while it runs: it ends when the second word has been heard."""
    heard: list[str] = []

    def tell(said: str) -> None:
        heard.append(said)
        if len(heard) == 2:
            (tmp_path / "heard").touch()

    job = {"says": ["begins", "so far: +3 %"], "heard": str(tmp_path / "heard"), "seconds": 60}
    assert executor.measure(f"{TRIAL}report", job, executor.machines()[0], 90, tell) == {"heard": True}
    assert heard == ["begins", "so far: +3 %"]


def test_what_the_function_raises_is_raised_here(executor: Executor) -> None:
    with pytest.raises(Error, match=r"Job 0 cannot be done\."):
        executor.map(f"{TRIAL}refuse", jobs(1))


def test_only_functions_of_ours_are_called(executor: Executor) -> None:
    with pytest.raises(Error, match="is not a function of Layline"):
        executor.map("os:getcwd", jobs(1))


def test_another_kind_of_machine_is_refused(executor: Executor) -> None:
    with pytest.raises(ConfigError, match="Abacus"):
        list(executor.screen(f"{TRIAL}greet", jobs(1), "Abacus"))
    kind = executor.machines()[0].kind
    assert executor.choose("Abacus") is None
    chosen = executor.choose(kind)
    assert chosen is not None
    assert (chosen.kind, chosen in executor.machines()) == (kind, True)
    assert sorted(number for number, _ in executor.screen(f"{TRIAL}greet", jobs(3), kind)) == [0, 1, 2]


def test_a_job_too_many_waits_for_room(executor: Executor, tmp_path: Path) -> None:
    """Two processes here, three nodes of one core each there."""
    room = {"local": 2, "ray": 3}[executor.name]
    kind = executor.machines()[0].kind
    asked = jobs(room + 2, seconds=0.5, log=str(tmp_path / "log"))
    found = [answer for _, answer in executor.screen(f"{TRIAL}rest", asked, kind)]
    at_once = max(sum(one["began"] <= other["began"] < one["ended"] for one in found) for other in found)
    assert at_once <= room
    assert executor.tally.attempts == room + 2


def test_what_nobody_waits_for_gives_its_machine_back(executor: Executor, tmp_path: Path) -> None:
    room = {"local": 2, "ray": 3}[executor.name]
    kind = executor.machines()[0].kind
    log = str(tmp_path / "log")
    asked = [{"number": number, "seconds": 300 if number else 0, "log": log} for number in range(room)]
    looking = executor.screen(f"{TRIAL}rest", asked, kind)
    assert next(looking)[0] == 0
    looking.close()
    began = time.monotonic()
    assert len(list(executor.screen(f"{TRIAL}greet", jobs(room), kind))) == room
    assert time.monotonic() - began < 200


def test_another_version_of_the_code_is_refused(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layline.executors.local.digest_code", lambda: "other")
    monkeypatch.setattr("layline.executors.on_ray.digest_code", lambda: "other")
    with pytest.raises(ConfigError, match="nother version of Layline"):
        executor.map(f"{TRIAL}greet", jobs(1))


def test_a_worker_of_another_version_does_nothing() -> None:
    """A machine that joined after the others were asked."""
    assert "Another version" in call_same(f"{TRIAL}greet", {"number": 1}, "other")["message"]
    assert call_same(f"{TRIAL}greet", {"number": 1}, digest_code())["answer"]["number"] == 1


def test_a_cut_answer_is_a_lost_one() -> None:
    cut = "import json,layline.executors.worker as w; w.print = lambda text, **k: (k['file'].write(text[:9] + chr(10)) if 'machine' not in text else k['file'].write(text + chr(10))); w.main()"
    executor = LocalExecutor(1, command=(sys.executable, "-P", "-c", cut))
    with pytest.raises(Lost, match="its answer was cut short"):
        executor.map(f"{TRIAL}greet", jobs(1))
    assert executor.tally.lost == 3
    executor.close()


ASKER = f"""import sys
from layline.executors import open_executor, read_machine
with open_executor("local") as opened:
    opened.measure("{TRIAL}rest", {{"number": 0, "seconds": 300, "log": sys.argv[1]}}, read_machine(), 300)
"""


def test_a_worker_ends_with_whoever_asked_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    asker = subprocess.Popen([sys.executable, "-c", ASKER, str(log)])
    while not log.exists() or not log.read_text():
        assert asker.poll() is None
        time.sleep(0.05)
    worker = int(log.read_text().split()[1])
    asker.kill()
    asker.wait()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{worker}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    assert time.monotonic() < deadline


@pytest.mark.parametrize("words", ["local:0", "local:x", "slurm", ""])
def test_what_is_no_executor_is_refused(words: str) -> None:
    with pytest.raises(ConfigError, match="is not an executor"), open_executor(words):
        pass


@pytest.mark.slow
def test_a_file_travels_once_to_each_node_that_lacks_it(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "made"
    made: list[int] = []

    def make() -> Path:
        made.append(1)
        file.write_bytes(bytes(range(256)) * 4096)
        return file

    parcels = [Parcel({"number": number, "folder": str(tmp_path)}, make) for number in range(2)]
    with open_executor(f"ray:{cluster.address}") as opened:
        assert opened.send(f"{TRIAL}keep", parcels) == 3, "the second is had by all, the first by nobody"
    assert made == [1]
    assert [len(line.split()) for line in (tmp_path / "kept").read_text().splitlines()] == [2, 2, 2]
    assert {line.split()[0] for line in (tmp_path / "kept").read_text().splitlines()} == {str(256 * 4096)}


OTHER = f"""import sys
from layline.executors import open_executor
with open_executor(f"ray:{{sys.argv[1]}}") as opened:
    opened.map("{TRIAL}rest", [{{"number": number, "seconds": 2, "log": sys.argv[2]}} for number in range(300)])
"""


@pytest.mark.slow
def test_two_commands_share_a_cluster(cluster: Any, tmp_path: Path) -> None:
    """One has far more to do than there are cores; the other waits for one of its jobs at most."""
    log = tmp_path / "log"
    other = subprocess.Popen([sys.executable, "-c", OTHER, cluster.address, str(log)])
    try:
        while not log.exists() or len(log.read_text().splitlines()) < 6:
            assert other.poll() is None
            time.sleep(0.2)
        with open_executor(f"ray:{cluster.address}") as opened:
            machine = opened.machines()[0]
            before = len(log.read_text().splitlines())
            assert len(list(opened.screen(f"{TRIAL}greet", jobs(3), machine.kind))) == 3
            assert opened.measure(f"{TRIAL}greet", {"number": 5}, machine, 30)["number"] == 5
            assert len(log.read_text().splitlines()) - before < 150
            assert (opened.tally.attempts, opened.tally.lost) == (4, 0)
        assert other.poll() is None, "it goes on"
    finally:
        other.kill()
        other.wait()


@pytest.mark.slow
def test_a_removed_node_costs_its_shards_and_nothing_is_doubled(cluster: Any, tmp_path: Path) -> None:
    """The last test that uses the cluster: one of its nodes goes while jobs run on it."""
    log = tmp_path / "log"
    with open_executor(f"ray:{cluster.address}") as opened:
        assert len(opened.machines()) == 3
        before = {one.node for one in opened.machines()}
        threading.Thread(target=remove_later, args=(cluster, log)).start()
        found = opened.map(f"{TRIAL}rest", jobs(9, seconds=3, log=str(log)))
        assert [one["number"] for one in found] == list(range(9))
        assert opened.tally.lost > 0
        assert (opened.tally.late, opened.tally.doubled) == (0, 0)
        after: tuple[Machine, ...] = opened.machines()
    assert len(after) == 2
    assert {one.node for one in after} < before


SMI = """#!/bin/sh
echo "$BOARD"
"""


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Three nodes whose driver's tool names an accelerator: two of one product, one of another."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install './layline[ray]'")
    from ray.cluster_utils import Cluster

    tool = tmp_path_factory.mktemp("tool") / "nvidia-smi"
    tool.write_text(SMI)
    tool.chmod(0o755)
    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for number, product in enumerate(("Board 1", "Board 1", "Board 2")):
        line = f"GPU-{number}, {product}, 550, 700 W"
        named = {"BOARD": line, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
        made.add_node(num_cpus=2, num_gpus=1, env_vars=named)
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.mark.slow
def test_an_accelerator_takes_one_job_at_a_time_and_only_of_its_kind(boards: Any, tmp_path: Path) -> None:
    with open_executor(f"ray:{boards.address}") as opened:
        assert sorted(one.kind for one in opened.machines() if one.accelerators) == ["Board 1", "Board 1", "Board 2"]
        asked = jobs(4, seconds=0.5, log=str(tmp_path / "log"))
        found = [answer for _, answer in opened.screen(f"{TRIAL}rest", asked, "Board 1")]
        at_once = max(sum(one["began"] <= other["began"] < one["ended"] for one in found) for other in found)
        assert len(found) == 4
        assert at_once <= 2, "as many as there are"
        other = opened.choose("Board 2")
        assert other is not None
        assert other.accelerators == ("GPU-2, Board 2, 550, 700 W",)
        assert opened.measure(f"{TRIAL}greet", {"number": 5}, other, 60)["number"] == 5
        with pytest.raises(ConfigError, match="Board 3"):
            list(opened.screen(f"{TRIAL}greet", jobs(1), "Board 3"))


def remove_later(cluster: Any, log: Path) -> None:
    while not log.exists() or len(log.read_text().splitlines()) < 4:
        time.sleep(0.2)
    cluster.remove_node(cluster.added[-1], allow_graceful=False)
