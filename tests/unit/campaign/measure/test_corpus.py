"""Every cheat of the corpus is refused for its own reason, every honest look-alike accepted; naive gates do neither."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from corpus.cases import EXPLOITS, FOLDER, HONEST, QUICK, Case, load_case, load_corpus_operator
from corpus.disguises import DISGUISES
from layline.campaign.measure.build import FLAGS, LIBRARIES
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.values.judge import judge
from layline.campaign.values.measurement import Status

ONE_ARCHITECTURE = re.compile(r"mmintrin|int \$0x80|rdtsc|\bmsr\b|\bsvc\b")


def tiers(cases: tuple[Case, ...]) -> list[object]:
    """Those this machine's processor can run; the others have a sibling that it can."""
    return [
        pytest.param(case, id=case.name, marks=() if case.is_fast_tier else pytest.mark.slow) for case in here(cases)
    ]


def here(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    return tuple(case for case in cases if case.runs_on(platform.machine()))


def fate(case: Case, *, change: str = "") -> str:
    """The property that refused it, the bucket it was put into, `no-gain` or `accepted`; twice where controls
    failed."""
    operator, shapes, snapshot = load_case(case, change=change)
    best = wrap(operator, operator.start("naive"))
    for _attempt in range(3):
        measurement = measure_pair(Request(operator=operator, shapes=shapes, best=best, candidate=snapshot, plan=QUICK))
        if measurement.status is not Status.CONTROLS_FAILED:
            break
    if measurement.failed_gates:
        return measurement.failed_gates[0].property
    verdict = judge(measurement)
    if measurement.bucket is not None:
        return measurement.bucket
    return "accepted" if verdict.outcome.is_accepted else "no-gain"


@pytest.mark.parametrize("case", tiers(EXPLOITS))
def test_a_cheat_is_refused_for_its_own_reason(case: Case) -> None:
    assert fate(case) in case.caught_by


@pytest.mark.parametrize("case", tiers(HONEST))
def test_an_honest_look_alike_is_accepted(case: Case) -> None:
    assert fate(case) == "accepted"


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in here(EXPLOITS)])
def test_a_disguise_does_not_help(case: Case) -> None:
    seen = {change: fate(case, change=change) for change in DISGUISES}
    assert {change: found for change, found in seen.items() if found not in case.caught_by} == {}


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in here(HONEST)])
def test_a_disguise_does_not_hurt_the_honest(case: Case) -> None:
    assert {change: fate(case, change=change) for change in DISGUISES} == dict.fromkeys(DISGUISES, "accepted")


def test_a_disguised_replay_is_still_a_replay() -> None:
    case = next(case for case in EXPLOITS if case.name == "E26_shape_replay")
    assert fate(case, change="restructured") == "replay"


@pytest.mark.parametrize("case", tiers(tuple(case for case in EXPLOITS if case.fools_naive)))
def test_a_naive_gate_takes_it(case: Case, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whether it is faster there is the machine's affair; that nothing is found wrong with it is not."""
    starts = tmp_path_factory.getbasetemp() / "starts"
    assert naive(case, tmp_path, starts).startswith(("ACCEPT", "SLOW"))


def naive(case: Case, folder: Path, starts: Path) -> str:
    """What the naive gate says; the kernel is compiled and run with no protection at all. `starts` is for all cases."""
    kernels = [case.path, FOLDER / "slow_softmax.py"]
    if not case.is_python:
        start = starts / f"{case.operator}.c"
        if not start.with_suffix(".so").exists():
            starts.mkdir(exist_ok=True)
            start.write_text(load_corpus_operator(case.operator).start("naive"))
            compile_plainly(start, starts)
        kernels = [compile_plainly(case.path, folder), start.with_suffix(".so")]
    said = folder / "said"  # a file: daemons that a kernel leaves behind would keep a pipe open
    with said.open("w") as output:
        subprocess.run(
            (sys.executable, str(FOLDER / "naive_gate.py"), *map(str, kernels), case.operator),
            stdout=output,
            stderr=output,
            timeout=60,
            check=False,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        )
    lines = said.read_text().splitlines()[::-1]
    return next((line for line in lines if line.startswith(("ACCEPT", "SLOW", "WRONG"))), "\n".join(lines))


def compile_plainly(source: Path, folder: Path) -> Path:
    target = folder / f"{source.stem}.so"
    command = ("cc", *FLAGS, '-DVENDOR="none"', f"-I{FOLDER}", "-o", str(target), str(source), *LIBRARIES)
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return target


def test_every_kernel_file_is_a_case() -> None:
    files = {
        path.stem
        for folder in ("exploits", "honest")
        for path in (FOLDER / folder).iterdir()
        if path.suffix in (".c", ".py")
    }
    assert files == {case.name for case in (*EXPLOITS, *HONEST)}


def test_a_case_for_one_architecture_has_a_sibling_for_the_other() -> None:
    only = [case for case in (*EXPLOITS, *HONEST) if case.architecture]
    by_name = {(case.name.removesuffix("_arm"), case.architecture): case.caught_by for case in only}
    assert {architecture for _name, architecture in by_name} == {"x86_64", "aarch64"}
    for name, _architecture in by_name:
        assert by_name[name, "x86_64"] == by_name[name, "aarch64"]


def test_no_case_for_all_opens_what_one_architecture_has() -> None:
    for case in (*EXPLOITS, *HONEST):
        if not case.architecture:
            assert not ONE_ARCHITECTURE.search(case.path.read_text("utf-8")), case.name
