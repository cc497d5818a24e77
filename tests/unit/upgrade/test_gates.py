"""Version tests of ours that an upgrade decides for good: taken out where judging again proves it, else left alone."""

from __future__ import annotations

import pytest

from layline.config import Backend, Pin
from layline.core.evidence import Location
from layline.gap.dependencies.model import Declaration, Kind, Rank
from layline.upgrade.gates import allows
from layline.upgrade.planning import make_plan
from layline.upgrade.question import ask
from layline.upgrade.values import MendKind, Plan
from upgrading import Files, make_project

HEAD = "import keel\nfrom packaging.version import Version\n\n"
STEPS: list[tuple[str, Files]] = [
    ("pin", {"keel/__init__.py": '__version__ = "1.4.0"\n', "keel/a.py": "def f():\n    return 1\n"}),
    ("Say nothing (#2)", {"README.md": "keel\n"}),
    ("Release 2.1", {"keel/__init__.py": '__version__ = "2.1.0"\n', "keel/b.py": "def f():\n    return 1\n"}),
]
OLD, NEW = 'Version(keel.__version__) < Version("2")', 'Version(keel.__version__) >= Version("2")'
CASES: dict[str, tuple[str, str | None]] = {
    # what the file says behind its imports, and what is left of it; None: it stays as it is
    "both_sides": (f"# why\nif {OLD}:\n    old()  # then\nelse:  # gate\n    new()  # now\nrest()\n", "# why\nnew()  # now\nrest()\n"),
    "no_else": (f"first()\n\n# only for old ones\nif {OLD}:\n    old()\n\nrest()\n", "first()\n\nrest()\n"),
    "always": (f"if {NEW}:\n    # how\n    new()\n\n    more()\nrest()\n", "# how\nnew()\n\nmore()\nrest()\n"),
    "chained": (f"if flag:\n    one()\nelif {OLD}:\n    old()\nelse:\n    new()\n", "if flag:\n    one()\nelse:\n    new()\n"),
    "last_of_chain": (f"if flag:\n    one()\nelif {NEW}:\n    new()\nelse:\n    old()\n", "if flag:\n    one()\nelse:\n    new()\n"),
    "first_of_chain": (f"if {OLD}:\n    old()\nelif flag:\n    new()\n", "if flag:\n    new()\n"),
    "alone": (f"def run():\n    if {OLD}:\n        old()\n", "def run():\n    pass\n"),
    "returns": (f"def run():\n    if {OLD}:\n        return old()\n    return new()\n", "def run():\n    return new()\n"),
    "chosen": (f"x = (\n    new\n    if {NEW}\n    else old\n)\n", "x = new\n"),
    "named": (f"IS_OLD = {OLD}\nif not IS_OLD:\n    new()\n", f"IS_OLD = {OLD}\nnew()\n"),
    "imports": (f"if {OLD}:\n    from keel.a import f\nelse:\n    from keel.b import f\n", "from keel.b import f\n"),
    "two": (f"if {OLD}:\n    old()\nif {NEW}:\n    new()\n", "new()\n"),
    # not decided by this upgrade: so at the old pin already, not yet, another package, a flag beside it
    "older": ('if Version(keel.__version__) < Version("1.2"):\n    old()\n', None),
    "later": ('if Version(keel.__version__) >= Version("3"):\n    new()\n', None),
    "foreign": ('import torch\nif Version(torch.__version__) < Version("2"):\n    old()\n', None),
    "flag": (f"if flag and {OLD}:\n    old()\n", None),
    # not the same without it: the rest would never run; a generator would be none; a comment would hang on nothing
    "leaves": (f"def run():\n    if {NEW}:\n        return new()\n    return old()\n", None),
    "generator": (f"def run():\n    if {OLD}:\n        yield 1\n    new()\n", None),
    "comment": (f"if {NEW}:\n    new()\n    # the end\nelse:\n    old()\n", None),
}  # fmt: skip


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    ours: Files = {f"own/{name}.py": HEAD + text for name, (text, _) in CASES.items()}
    project = make_project(
        tmp_path_factory.mktemp("gates"), STEPS, {**ours, "own/made.py": f"# @generated\n{HEAD}{CASES['no_else'][0]}"}
    )
    return make_plan(ask(project.open(), "keel", "main"))


@pytest.mark.parametrize("name", CASES)
def test_the_side_that_cannot_run_goes(plan: Plan, name: str) -> None:
    edits = {edit.path: edit.after for edit in plan.steps[-1].edits}
    wanted = CASES[name][1]
    assert edits.get(f"own/{name}.py") == (HEAD + wanted if wanted is not None else None)


def test_each_is_a_mend_that_breaks_nothing(plan: Plan) -> None:
    mends = [mend for mend in plan.steps[-1].mends if mend.kind is MendKind.GATE_RETIRED]
    assert {mend.file for mend in mends} == {f"own/{name}.py" for name, (_, after) in CASES.items() if after}
    assert all(mend.mechanical for mend in mends)
    assert (
        mends[0].why
        == "`Version(keel.__version__) < Version('2')` is never true from there on; the branch that cannot run is removed"
    )
    assert not plan.left


def need(spec: str, *, name: str = "keel", path: str = "pyproject.toml") -> Declaration:
    place = Location(path, 1)
    return Declaration(rank=Rank.METADATA, kind=Kind.REQUIREMENT, name=name, spec=spec, scope="runtime", place=place)


ALLOWED = [
    # (a requirement of ours, whether somebody may still run 1.4: then its tests are needed)
    (need(""), True),
    (need(">=1.4,<3"), True),
    (need(">=2"), False),
    (need("==1.4", path="pin.txt"), False),  # the pin itself, which moves
    (need(">=1", name="rivet"), False),
]


@pytest.mark.parametrize(("item", "wanted"), ALLOWED)
def test_a_requirement_that_takes_the_old_version_keeps_the_tests(item: Declaration, wanted: bool) -> None:
    backend = Backend(label="Keel", pin=Pin(file="pin.txt", requirement="keel"))
    assert allows([item], {"keel"}, "1.4.0", backend) is wanted
    assert allows([item], {"keel"}, "1.4.0", Backend(label="Keel", pin=Pin(revision="v1.4")))
