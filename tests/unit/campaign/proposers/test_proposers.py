from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layline.campaign.operators import load_operator
from layline.campaign.proposers import Brief, Declined, Proposed
from layline.campaign.proposers.command import Command
from layline.campaign.proposers.knobs import Knob, choose_settings, find_knobs, fingerprint_source, set_knobs
from layline.campaign.told.brief import describe_brief
from layline.campaign.values.measurement import Bucket
from layline.render.markdown import render_markdown

KERNEL = "#define ROWS 6   /* knob: 4 6 8 */\n#define OTHER 3\nint f(void) { return ROWS; }\n"

KNOBS = [
    ("#define ROWS 6 /* knob: 4 6 8 */", [Knob("ROWS", 6, (4, 6, 8))]),
    ("  #define ROWS 6 // knob: 4 6", [Knob("ROWS", 6, (4, 6))]),
    ("BLOCK_M = 64  # knob: 32 64 128", [Knob("BLOCK_M", 64, (32, 64, 128))]),
    ("#define ROWS 6 /* rows of a tile */", []),
    ("x = 3  # a knob: maybe", []),
    ('text = "ROWS 6 knob: 4"', []),
]


@pytest.mark.parametrize(("text", "expected"), KNOBS)
def test_declared_knobs(text: str, expected: list[Knob]) -> None:
    assert list(find_knobs(text)) == expected


@given(st.sampled_from([4, 6, 8]))
def test_turning_a_knob_changes_that_number_alone(value: int) -> None:
    turned = set_knobs(KERNEL, {"ROWS": value, "ABSENT": 9})
    assert [knob.value for knob in find_knobs(turned)] == [value]
    assert set_knobs(turned, {"ROWS": 6}) == KERNEL


def test_settings_begin_with_todays_and_are_the_same_for_the_same_seed() -> None:
    knobs = tuple(find_knobs(load_operator("gemm").variants[0][1]))
    chosen = choose_settings(knobs, 24, seed=1)
    assert chosen[0] == {knob.name: knob.value for knob in knobs}
    assert chosen == choose_settings(knobs, 24, seed=1)
    assert len({tuple(setting.items()) for setting in chosen}) == len(chosen) == 24
    small = (Knob("A", 1, (1, 2)), Knob("B", 5, (5, 6)))
    assert len(choose_settings(small, 24, seed=1)) == 4


SAME = [
    ("k.c", "int f(void) { return 1; }", "int f ( void )\n{ /* one */ return 1; } // end\n", True),
    ("k.c", "int f(void) { return 1; }", "int f(void) { return 2; }", False),
    ("k.py", "def f():\n    return 1\n", "def f():  # one\n\n    return 1\n", True),
    ("k.py", "def f():\n    return 1\n", "def f():\n    return 2\n", False),
    ("k.sh", "rm a//b", "rm a", False),
    ("k.sh", "x", "x", True),
]


@pytest.mark.parametrize(("path", "one", "other", "same"), SAME)
def test_near_duplicates(path: str, one: str, other: str, same: bool) -> None:
    assert (fingerprint_source(path, one) == fingerprint_source(path, other)) is same


BRIEF = Brief(
    campaign="c",
    operator="gemm",
    language="C",
    hardware="cpu",
    metric="m",
    allowed_files=("src/k.c",),
    best_round=1,
    effective=(),
    ineffective=(),
    inconclusive=(),
    slowest=(),
    lessons=(),
    demanded=(),
    time_limit_s=5.0,
    kernel=(("src/k.c", KERNEL),),
)


def _ask(tmp_path: Path, program: str, *, passed: tuple[str, ...] = (), limit: float = 60.0) -> Proposed | Declined:
    script = tmp_path / "agent.py"
    script.write_text("import json, os, pathlib, subprocess, sys, time\n" + program)
    return Command(f"{sys.executable} {script}", lambda brief: describe_brief(brief, render_markdown), passed).propose(
        replace(BRIEF, time_limit_s=limit)
    )


GOOD = """
brief = json.loads(pathlib.Path("brief.json").read_text())
kernel = pathlib.Path(brief["allowed_files"][0])
kernel.write_text(kernel.read_text().replace("ROWS 6", "ROWS 8"))
pathlib.Path("proposal.json").write_text(json.dumps({"hypothesis": "h", "change": "c", "bucket": "K2", "expect": "+4 %"}))
"""


def test_a_program_answers_with_an_edit(tmp_path: Path) -> None:
    answer = _ask(tmp_path, GOOD)
    assert isinstance(answer, Proposed)
    assert answer.files == {"src/k.c": KERNEL.replace("ROWS 6", "ROWS 8").encode()}
    assert (answer.hypothesis, answer.bucket, answer.expect, answer.remarks) == ("h", Bucket.K2, "+4 %", ())


BAD = [
    ("sys.exit(3)", "ended with 3"),
    ("raise RuntimeError('out of ideas')", "out of ideas"),
    ("time.sleep(60)", "did not answer within 1 s"),
    ("pass", "left no proposal.json"),
    ("pathlib.Path('proposal.json').write_text('not json')", "cannot be read"),
    ("pathlib.Path('proposal.json').write_text('[1]')", "not an object"),
    ("pathlib.Path('proposal.json').write_text('{\"hypothesis\": \"h\"}')", "no change"),
    ("pathlib.Path('proposal.json').write_text(json.dumps({'hypothesis': 'h', 'change': 'c', 'bucket': 'K9'}))", "K9"),
    ("pathlib.Path('proposal.json').write_text(json.dumps({'hypothesis': 'h', 'change': 'c'}))", "changes nothing"),
    ("os.symlink('/etc/passwd', 'proposal.json')", "left no proposal.json"),
    (GOOD + "\nos.unlink('src/k.c'); os.symlink('/etc/passwd', 'src/k.c')", "changes nothing that it may change"),
]


@pytest.mark.parametrize(("program", "says"), BAD)
def test_what_is_no_proposal_is_said(tmp_path: Path, program: str, says: str) -> None:
    answer = _ask(tmp_path, program, limit=1.0 if "sleep" in program else 60.0)
    assert isinstance(answer, Declined)
    assert says in answer.reason
    assert not answer.is_final


def test_edits_elsewhere_are_dropped_not_punished(tmp_path: Path) -> None:
    answer = _ask(
        tmp_path, GOOD + "\npathlib.Path('harness.py').write_text('x'); pathlib.Path('src/other.c').write_text('x')"
    )
    assert isinstance(answer, Proposed)
    assert list(answer.files) == ["src/k.c"]
    assert "harness.py" in answer.remarks[0]


def test_the_folder_holds_the_brief_and_the_kernel_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s")
    monkeypatch.setenv("AGENT_KEY", "k")
    seen = tmp_path / "seen.txt"
    listing = f"""
found = sorted(str(p) for p in pathlib.Path('.').rglob('*') if p.is_file())
pathlib.Path({str(seen)!r}).write_text(json.dumps([found, 'SECRET_TOKEN' in os.environ, os.environ.get('AGENT_KEY')]))
"""
    _ask(tmp_path, listing, passed=("AGENT_KEY",))
    assert seen.read_text() == '[["brief.json", "brief.md", "src/k.c"], false, "k"]'


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    answer = _ask(
        tmp_path,
        GOOD + f"\nchild = subprocess.Popen(['sleep', '60']); pathlib.Path({str(pid)!r}).write_text(str(child.pid))",
    )
    assert isinstance(answer, Proposed)
    for _ in range(600):
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid.read_text()}/status").read_text().find("State:\tZ") >= 0:
            return
        time.sleep(0.1)
    pytest.fail("the child is still running")
