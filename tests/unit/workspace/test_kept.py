"""Kept answers: found again by what they were read from, never by the commit; compared when asked to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from histories import History
from layline.app.gap import gap_show
from layline.app.patches_read import patches_find, patches_port, patches_show
from layline.core.report import Answer
from layline.errors import Error
from layline.patches.kept import read_inventories
from layline.workspace.kept import Results, compare, find_inputs, find_judged
from layline.workspace.open import Workspace, know_packages, open_workspace, pin_to

FILES = {
    "own/__init__.py": "",
    "own/boot.py": "import up.a\n\n\ndef new(): pass\n\n\nup.a.f = new\n",
    "conf/a.yaml": "key: 1\n",
    "pyproject.toml": "",
    "README.md": "one\n",
}
CHANGES: list[tuple[str, dict[str, str | bytes | None], bool]] = [
    ("nothing", {}, True),
    ("a document", {"README.md": "two\n"}, True),
    ("another folder's yaml", {"other/a.yaml": "key: 2\n"}, True),
    ("a module", {"own/boot.py": "import up.a\nup.a.g = 1\n"}, False),
    ("a module that appears", {"own/more.py": ""}, False),
    ("a module that goes", {"own/boot.py": None}, False),
    ("a test", {"tests/test_a.py": ""}, False),
    ("a patch file", {"fix.patch": "--- a/up/a.py\n"}, False),
    ("a configuration", {"conf/a.yaml": "key: 3\n"}, False),
    ("a build file", {"part/pyproject.toml": ""}, False),
    ("a folder called src", {"part/src/data.txt": "1\n"}, False),
]


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    upstream = History.start(tmp_path / "up")
    pin = upstream.commit("Add", {"up/__init__.py": "", "up/a.py": "def f(): pass\n"})
    downstream = History.start(tmp_path / "down")
    downstream.commit("all", dict(FILES))
    config = f'[project]\nname = "own"\n\n[backends.up]\npin = {{ revision = "{pin}" }}\nref = "HEAD"\nobjects = "{upstream.path}"\npackages = ["up"]\nconfigs = ["conf"]\n'  # fmt: skip
    (downstream.path / "layline.toml").write_text(config)
    return downstream


def open_at(history: History, at: str = "HEAD") -> Workspace:
    return open_workspace(history.path / "layline.toml", at=at)


@pytest.mark.parametrize(("name", "files", "same"), CHANGES, ids=[row[0] for row in CHANGES])
def test_what_an_answer_is_read_from(
    history: History, name: str, files: dict[str, str | bytes | None], same: bool
) -> None:
    history.commit("change", files)
    before, after = find_inputs(open_at(history, "HEAD~1")), find_inputs(open_at(history))
    assert (before == after) is same


OTHER_SETTINGS: list[tuple[str, str, str, bool]] = [
    ("the address of ours", "[project]\n", '[project]\nrepository = "https://example.org/own"\n', True),
    ("the folder of reports", "[project]\n", '[project]\ndocs = "papers"\n', True),
    ("a ref that is resolved", 'ref = "HEAD"\n', 'ref = "main"\n', True),
    ("a policy", "[project]\n", "[policy]\nplan_behind = 7\n\n[project]\n", True),
    ("areas of a report", 'ref = "HEAD"\n', 'ref = "HEAD"\nareas = { core = ["up/*"] }\n', True),
    ("source roots", "[project]\n", '[project]\nsource_roots = ["lib"]\n', False),
    ("folders of configs", 'configs = ["conf"]', 'configs = ["other"]', False),
    ("what reports call it", 'ref = "HEAD"\n', 'ref = "HEAD"\nlabel = "Up"\n', False),
]


@pytest.mark.parametrize(("name", "old", "new", "same"), OTHER_SETTINGS, ids=[row[0] for row in OTHER_SETTINGS])
def test_a_setting_that_no_judge_looks_at_keeps_inventory_and_drift(
    history: History, name: str, old: str, new: str, same: bool
) -> None:
    before, file = find_judged(open_at(history)), history.path / "layline.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    assert (find_judged(open_at(history)) == before) is same


def test_the_tree_is_listed_once_whatever_the_settings(history: History) -> None:
    workspace = open_at(history)
    other = pin_to(know_packages(workspace), "up", "HEAD")
    assert other.settings != workspace.settings
    assert other.tree is workspace.tree
    assert replace(workspace, downstream=open_at(history).downstream).tree is not workspace.tree


LOST_PINS: list[tuple[str, str]] = [
    ("no submodule", 'path = "third/up"'),
    ("no file", 'pin = { file = "PIN" }'),
    ("a file without the variable", 'pin = { file = "own/boot.py", variable = "UP_COMMIT" }'),
    ("a commit that is not here", f'pin = {{ revision = "{"0" * 40}" }}'),
]


@pytest.mark.parametrize(("name", "pin"), LOST_PINS, ids=[row[0] for row in LOST_PINS])
def test_another_upstream_without_a_pin_is_none_at_the_next_commit_too(history: History, name: str, pin: str) -> None:
    """An error names no commit: with one in it every answer was found anew at every commit."""
    file = history.path / "layline.toml"
    file.write_text(f'{file.read_text()}\n[backends.other]\n{pin}\nobjects = "{history.path.parent / "up"}"\n')
    before = find_judged(open_at(history))
    history.commit("change", {"README.md": "two\n"})
    assert find_judged(open_at(history)) == before


def test_a_kept_answer_is_stamped_with_the_commit_asked_for(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = read_inventories(open_at(history), ("up",))
    commit = history.commit("change", {"README.md": "two\n"})
    monkeypatch.setattr("layline.patches.opened.open_reading", None)  # nothing is read again
    (second,) = read_inventories(open_at(history), ("up",))
    assert second == replace(first, commit=commit)


ASKED_AGAIN: list[tuple[str, str, Callable[[Workspace], Answer]]] = [
    ("how far behind", "layline.gap.show.read_diff", lambda it: gap_show(it, "up", today=date(2026, 6, 30))),
    ("where is a word", "layline.patches.opened.read_downstream", lambda it: patches_find(it, "own.boot")),
    ("one patch", "layline.patches.opened.read_downstream", lambda it: patches_show(it, "up.a.f")),
    ("one patch elsewhere", "layline.patches.opened.read_downstream", lambda it: patches_port(it, "up.a.f")),
]


@pytest.mark.parametrize(("name", "reader", "ask"), ASKED_AGAIN, ids=[row[0] for row in ASKED_AGAIN])
def test_a_question_asked_again_reads_nothing_anew(
    history: History,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    reader: str,
    ask: Callable[[Workspace], Answer],
) -> None:
    first = ask(open_at(history))
    monkeypatch.setattr(reader, None)
    assert ask(open_at(history)) == first


def test_what_a_process_has_read_is_read_again_after_a_change(history: History) -> None:
    patches_show(open_at(history), "up.a.f")
    history.commit("change", {"own/boot.py": "import up.a\nup.a.g = 1\n"})
    assert patches_show(open_at(history), "up.a.g").data["patch"]["file"] == "own/boot.py"


def test_a_wrong_kept_answer_is_found_by_a_check(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, dict[str, object]] = {}
    monkeypatch.setattr(Results, "store", lambda self, key, value: kept.update({key: value}))
    read_inventories(open_at(history), ("up",))
    ((key, value),) = kept.items()
    monkeypatch.undo()
    monkeypatch.setenv("LAYLINE_CACHE", str(history.path.parent / "cache"))
    Results("inventory").store(key, {**value, "unregistered": []})
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    with pytest.raises(Error, match=r"the kept answer .* differs from the fresh one: unregistered was"):
        read_inventories(open_at(history), ("up",))


def test_an_answer_that_cannot_be_decoded_is_found_again(history: History) -> None:
    key_of: list[str] = []
    original = Results.store

    def note(self: Results, key: str, value: dict[str, object]) -> None:
        key_of.append(key)
        original(self, key, {"nothing": "of the kind"})

    Results.store = note  # type: ignore[method-assign]
    try:
        (first,) = read_inventories(open_at(history), ("up",))
    finally:
        Results.store = original  # type: ignore[method-assign]
    (second,) = read_inventories(open_at(history), ("up",))
    assert first == second


def test_the_first_difference_is_named() -> None:
    compare("it", None, {"a": 1})
    compare("it", {"a": [1, {"b": 2}], "commit": "x"}, {"a": [1, {"b": 2}], "commit": "y"})
    with pytest.raises(Error, match=r"a\[1\]\.b was 2 and is 3"):
        compare("it", {"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]})


def test_a_kept_list_does_not_pay_for_the_analysers() -> None:
    code = "import sys, layline.app.patches; print(*(name for name in sys.modules if name.startswith('layline.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {".".join(name.split(".")[:3]) for name in done.stdout.split()}
    assert not {"layline.interpreter", "layline.coupling", "layline.patches.inventory"} & rooms
    assert len(done.stdout.split()) <= 60
