"""What a run has shown against what the list says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from layline.core.condition import ALWAYS, say
from layline.core.evidence import Location
from layline.core.patch import Effect, Guard, Inventory, Moment, Patch, Style, TargetKind, Unregistered
from layline.patches.tracing.compare import Records, Seen, compare, read_records
from layline.patches.tracing.run import run_traced


def _effect(target: str | None, *, when: str | None = None, moment: Moment = Moment.INSTALL) -> Effect:
    style = Style.BINDING_REPLACEMENT
    return Effect(
        style=style, target=target, location=Location("own/a.py", 3), when=say(when) if when else None, moment=moment
    )


UNSEEN = [
    # what is listed, its patch's guard, modules imported, why it was not seen
    (_effect(None), "always", {"up.a"}, "is set on single objects, which are not watched"),
    (_effect("up.a.f"), "always", set(), "no module of up was imported"),
    (_effect("up.models.new.a.f"), "fast", {"up", "up.models"}, "up.models.new was not imported"),
    (
        replace(_effect("up.a.nn.Norm"), target_kind=TargetKind.EXTERNAL),
        "fast",
        {"up.a"},
        "is a name of another package that is reached through upstream; it is watched under neither name",
    ),
    (_effect("up.a.f"), "fast", {"up.a"}, "only when fast"),
    (_effect("up.a.f", when="ready"), "fast", {"up.a"}, "only when fast and ready"),
    (_effect("up.a.f", moment=Moment.TRANSIENT), "always", {"up.a"}, "only until our code undoes it"),
    (_effect("up.a.f"), "always", {"up.a"}, "its installer did not run"),
]


@pytest.mark.parametrize(("effect", "guard", "modules", "why"), UNSEEN, ids=[row[3] for row in UNSEEN])
def test_what_was_not_seen_is_explained(effect: Effect, guard: str, modules: set[str], why: str) -> None:
    patch = Patch(
        id="p",
        backend="up",
        phase=None,
        priority=None,
        location=Location("own/a.py", 1),
        handler="install",
        handler_lines=(1, 4),
        guard=Guard(when=say(guard) if guard != "always" else ALWAYS),
        effects=(effect,),
    )
    traced = compare(
        [Inventory(backend="up", commit="c", patches=(patch,))], Records(modules=modules), Path("/nowhere")
    )
    assert [row.why for row in traced.unseen] == [why]
    assert traced.recall is None


def _run(tmp_path: Path, code: str) -> dict[str, Seen]:
    """Rebindings of a real run over an upstream called `up`."""
    (tmp_path / "up").mkdir()
    (tmp_path / "up/__init__.py").write_text("")
    (tmp_path / "up/a.py").write_text(
        "def f(): pass\nclass C:\n    def m(self): pass\ndef own():\n    global f\n    f = 1\n"
    )
    (tmp_path / "run.py").write_text(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{code}")
    records, exit_code = run_traced((sys.executable, str(tmp_path / "run.py")), ["up"])
    assert exit_code == 0
    listed = Unregistered(effect=_effect("up.a.f"), within="run")
    traced = compare([Inventory(backend="up", commit="c", unregistered=(listed,))], records, tmp_path)
    return {one.target: one for one in (*(pair[0] for pair in traced.both), *traced.only_seen)}


def test_writes_onto_modules_have_their_line_and_classes_are_compared_at_the_end(tmp_path: Path) -> None:
    code = "import up.a\ndef g(*a): pass\nup.a.f = g\nup.a.C.m = g\ndel up.a.own\nsetattr(up.a, 'h', 1)\n"
    seen = _run(tmp_path, code)
    assert {name: (one.how, one.at) for name, one in seen.items()} == {
        "up.a.f": ("set", "run.py:5"),
        "up.a.C.m": ("set", "run.py:4"),
        "up.a.own": ("deleted", "run.py:7"),
        "up.a.h": ("set", "run.py:8"),
    }


def test_modules_that_python_has_loaded_before_are_watched_too(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("import os, time\ndef mine(*given): ...\nos.fork = mine\ntime.sleep = mine\n")
    records, _ = run_traced((sys.executable, str(tmp_path / "run.py")), ["os", "time"])
    assert {(row["target"], row["by_line"]) for row in records.writes} == {("os.fork", 3), ("time.sleep", 4)}


def test_a_module_that_takes_over_the_class_of_one_of_upstream_is_not_watched(tmp_path: Path) -> None:
    code = "import up.a, types\nmine = types.ModuleType('mine')\nmine.__class__ = type(up.a)\nmine.f = print\n"
    assert _run(tmp_path, code) == {}


def test_what_upstream_does_to_itself_is_no_rebinding(tmp_path: Path) -> None:
    assert _run(tmp_path, "import up.a\nup.a.C()\n") == {}


def test_a_process_that_does_not_run_python_leaves_nothing(tmp_path: Path) -> None:
    records, code = run_traced(("true",), ["up"])
    assert (code, records.processes) == (0, [])
    (tmp_path / "1.jsonl").write_text(json.dumps({"kind": "process", "target": "python x"}) + "\n")
    assert read_records(tmp_path).processes == ["python x"]


def test_the_tracer_needs_nothing_but_the_standard_library() -> None:
    code = "import layline.patches.tracing.tracer, sys; print(any(name.startswith('pydantic') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
