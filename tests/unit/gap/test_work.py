"""Causes, the size of the work, platforms and folders beyond the configured one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from drift_rows import drift_row
from histories import History
from layline.core.evidence import Location
from layline.core.report import Cell
from layline.core.revision import Commit
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.gap.areas import find_package_changes, name_deletions, name_origins
from layline.gap.causes import find_causes
from layline.gap.cells import plain_text
from layline.gap.changes import UpstreamChange
from layline.gap.demands import OwnNeeds, find_demands
from layline.gap.dependencies import Difference, compare_declarations, read_declarations
from layline.gap.dependencies.mentions import open_mentions
from layline.gap.dependencies.model import Declaration, Kind, Rank
from layline.gap.dependencies.reading import find_declarations
from layline.gap.dependencies.workflows import find_commented, find_workflow_declarations
from layline.gap.effort import find_lines, measure_effort
from layline.gap.model import Demand, Dependencies, Gap, PlanStep
from layline.gap.need_statements import dependency_items, dependency_sentence
from layline.gap.needs import mark_imported, name_needs
from layline.gap.own_files import find_lost_imports, find_mentions, find_outside, list_yaml
from layline.gap.plan import build_plan, say_asks, say_breaks
from layline.gap.platform import compare_platforms, find_platform_changes
from layline.gap.reach import find_beyond
from layline.gap.report import _say_way
from layline.gap.report_tree import weighty_changes
from layline.gap.statements import major_step
from layline.gap.switched_off import name_switches, open_reader
from layline.git import open_repository
from layline.history.changes import Diff, read_diff
from layline.history.commits import read_commit, read_log
from layline.history.touched import read_touched_files
from layline.source import Part, Tree, build_index
from layline.source.cache import Cache
from layline.source.memos import Memos
from layline.source.resolve import Resolver


def commit(number: int) -> Commit:
    day = f"2026-01-{number:02}T00:00:00Z"
    return Commit(hash=f"{number:040x}", committed=day, authored="", author="A", subject=f"Change (#{number})")


LOG = [commit(number) for number in range(9, 0, -1)]


def broken(line: int, target: str, culprit: int | None, *later: int) -> Coupling:
    return Coupling(
        touch=Touch.IMPORT,
        target=target,
        location=Location("a.py", line),
        state=State.REMOVED,
        consequence=Consequence.WILL_BREAK,
        culprit=f"{culprit:040x}" if culprit else None,
        later=tuple(f"{number:040x}" for number in later),
    )


def test_a_place_belongs_to_the_first_change_that_breaks_it() -> None:
    patch = drift_row("breaks", "removed", "a.py:1", "up.h", culprit=commit(2))
    found = find_causes(LOG, [broken(1, "up.f", 7), broken(2, "up.g", 7), broken(3, "up.x", None)], [patch])
    assert [(cause.name, cause.places) for cause in found] == [("#2", ("a.py:1",)), ("#7", ("a.py:2",))]
    # up.f stands on the same line and goes with a later change
    assert [cause.targets for cause in found] == [("up.h",), ("up.f", "up.g")]
    assert [cause.again for cause in found] == [(), ("a.py:1",)]


def test_a_plan_stops_before_every_change_that_breaks_a_place_again_or_deletes_what_we_name() -> None:
    """`up.f` moves in 3 and goes in 7; `up.g` stands on the same line and goes in 5; what came before 3 broke nothing."""
    rows = [broken(1, "up.f", 3, 2, 7), broken(1, "up.g", 5), broken(2, "up.h", 5)]
    demand = Demand(deletes=("up/boat",), keys=("a.b",), lines=3, needs=("Python >=3.11",), off=("ROCm",))
    causes = find_causes(LOG, rows, [], {f"{8:040x}": demand})
    steps = build_plan(commit(1), LOG[:-1], [], causes)
    asks = ["deletes up/boat", "drops 1 key of our YAML (3 lines)", "switches ROCm off in upstream's CI"]
    told = [(int(step.commit, 16), say_breaks(step), step.breaks_next, say_asks(step.asks)) for step in steps]
    assert told == [
        (2, "breaks 1 place", ("up.f",), []),
        (4, "breaks 2 places, 1 of them again", ("up.g", "up.h"), []),
        (6, "breaks 1 place again", ("up.f",), []),
        (7, "", (), [*asks, "needs Python >=3.11"]),
        (9, "", (), []),
    ]


def test_stops_are_releases_after_the_pin() -> None:
    """A pin on a release branch is younger than some commits that only upstream's own line has."""
    releases = [
        ("v1.1-one-preview", LOG[-2].hash),
        ("v1.2", LOG[-3].hash),
        ("v2.0rc1", LOG[2].hash),
        ("v2.0", LOG[1].hash),
    ]
    pin = replace(commit(30), committed="2026-01-03T02:00:00+02:00")
    assert [step.reason for step in build_plan(pin, LOG, releases, ())] == ["release v2.0", "the tip"]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            [{"next": "b", "asks": Demand(needs=("fast>=2",))}],
            "The pin can move in one step; 1 commit on the way asks for the edits below",
        ),
        (
            [{"next": "b", "places": 2}, {"next": "c", "asks": Demand(needs=("x",))}],
            "Move the pin with 2 stops on the way",
        ),
        ([{}], "Move the pin with 1 stop on the way"),
    ],
)
def test_requirements_alone_are_no_stops(steps: list[dict[str, Any]], said: str) -> None:
    plan = [PlanStep(commit="a", date="", reason="release v2", behind=1, **one) for one in steps]
    gap = cast("Gap", SimpleNamespace(plan=(*plan, PlanStep(commit="t", date="", reason="the tip", behind=9))))
    assert _say_way(gap, len(steps)).startswith(said)


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("4.56.2", "5.16.0.dev0", "a major version (4 → 5)"),
        ("1.0", "1.9", ""),
        ("1", "3", "2 major versions (1 → 3)"),
        ("x", "2", ""),
    ],
)
def test_a_new_major_version_is_said(was: str, now: str, told: str) -> None:
    sides = {name: SimpleNamespace(version=SimpleNamespace(text=text)) for name, text in (("pin", was), ("tip", now))}
    assert major_step(cast("Gap", SimpleNamespace(**sides))) == told


def test_a_sweep_over_the_whole_tree_does_not_stand_for_what_touches_our_code() -> None:
    def change(number: int, files: int, ours: int) -> UpstreamChange:
        paths = tuple(f"{one}.py" for one in range(ours))
        return UpstreamChange(
            number=number, title="", kind="", date="", commits=(str(number),), area="", files=files, ours=paths
        )

    kept = (change(1, 1799, 22), change(2, 12, 8), change(3, 2, 1))
    gap = SimpleNamespace(
        causes=(), patches=(), changes=SimpleNamespace(kept=kept), couplings=(SimpleNamespace(culprit="3"),)
    )
    assert [one.number for one in weighty_changes(cast("Gap", gap))] == [3, 2, 1]


def test_a_need_is_told_with_the_change_that_brought_it(tmp_path: Path) -> None:
    def project(python: str, *needs: str) -> dict[str, str | bytes | None]:
        text = f"[project]\nname = 'up'\nrequires-python = '{python}'\ndependencies = {list(needs)}\n"
        return {"pyproject.toml": text, "up/__init__.py": "def f():\n    import slow\n"}

    history = History.start(tmp_path / "up")
    pin = history.commit("pin", project(">=3.10", "fast>=1", "slow", "old"))
    commits = [
        history.commit("One (#1)", project(">=3.10", "fast>=1", "slow", "new")),
        history.commit("Two (#2)", project(">=3.11", "fast>=2", "new>=3")),
        history.commit("Three (#3)", project(">=3.11", "fast>=2,<5", "new>=3") | {"up/a.py": ""}),
    ]
    upstream = open_repository(history.path)
    log = [read_commit(upstream, one) for one in reversed(commits)]
    sides = [Tree(upstream, one) for one in (pin, commits[-1])]
    rows = compare_declarations(*(read_declarations(side) for side in sides))
    touched = dict.fromkeys(commits, ("pyproject.toml",))
    found = list(name_needs(mark_imported(rows, sides[1]), log, touched, open_reader(upstream)))
    bounds = {row.name: [(bound, one.pull_request) for bound, one in row.bounds] for row in found if row.bounds}
    assert bounds == {"fast": [(">=2", 2), ("<5", 3)], "new": [("", 1), (">=3", 2)]}
    assert {row.name: (row.by.pull_request if row.by else None, row.imported_at) for row in found} == {
        "python": (2, None),
        "fast": (3, None),
        "new": (1, None),
        "old": (1, None),
        "slow": (2, "up/__init__.py"),
    }
    assert {row.name: row.instead_of for row in found if row.instead_of} == {"new": "old"}


@pytest.mark.parametrize(
    ("specs", "steps"),
    [
        (["", "==1", "==2", "==3"], [("==1", 1), ("==2", 2), ("==3", 3)]),  # each stop on the way needs its own
        (["==1", "==2", "==3"], [("==2", 1), ("==3", 2)]),
        (["==1", "==2", "==1", "==3"], []),  # what was taken back is no step, so that one commit brought it
        (["", ">=1", ">=1,<9", ">=2,<9"], [(">=1", 1), ("<9", 2), (">=2", 3)]),
        ([">=1,<9", ">=1", ">=2"], []),  # a cap that goes asks for nothing
        (["==1", None, "==2", "==3"], [("==2", 2), ("==3", 3)]),
    ],
)
def test_every_step_of_a_bound_has_its_change(
    tmp_path: Path, specs: list[str | None], steps: list[tuple[str, int]]
) -> None:
    def project(spec: str | None) -> dict[str, str | bytes | None]:
        needs = ["other", *([f"fast{spec}"] if spec else [])]
        return {"pyproject.toml": f"[project]\nname = 'up'\nversion = '{spec}'\ndependencies = {needs}\n"}

    history = History.start(tmp_path / "up")
    commits = [
        history.commit(f"Change (#{number})", project(spec) | {"n": str(number)}) for number, spec in enumerate(specs)
    ]
    upstream = open_repository(history.path)
    log = [read_commit(upstream, one) for one in reversed(commits[1:])]
    rows = compare_declarations(*(read_declarations(Tree(upstream, one)) for one in (commits[0], commits[-1])))
    touched = dict.fromkeys(commits, ("pyproject.toml",))
    found = next(one for one in name_needs(rows, log, touched, open_reader(upstream)) if one.name == "fast")
    assert [(bound, one.pull_request) for bound, one in found.bounds] == steps


@pytest.mark.parametrize(
    ("needs", "number"),
    [
        (["['fast>=1']", "['fast>=2']", "find()", "['fast>=2']"], 1),
        (["['fast>=1']", "find()", "['fast>=2']"], None),
        (["['fast>=1']", "find()", "['fast>=1']", "['fast>=2']"], 3),
    ],
)
def test_a_state_that_cannot_be_read_dates_no_need(tmp_path: Path, needs: list[str], number: int | None) -> None:
    history = History.start(tmp_path / "up")
    commits = [
        history.commit(
            f"Change (#{at})",
            {"setup.py": f"from setuptools import setup\nsetup(name='up', install_requires={text})\n"},
        )
        for at, text in enumerate(needs)
    ]
    upstream = open_repository(history.path)
    log = [read_commit(upstream, one) for one in reversed(commits[1:])]
    rows = compare_declarations(*(read_declarations(Tree(upstream, one)) for one in (commits[0], commits[-1])))
    found = list(name_needs(rows, log, dict.fromkeys(commits, ("setup.py",)), open_reader(upstream)))
    assert [(row.name, row.by.pull_request if row.by else None) for row in found] == [("fast", number)]


def test_a_need_from_a_requirement_file_has_its_own_change(tmp_path: Path) -> None:
    """The newest change of the file was told for each of its lines."""
    script = "from setuptools import setup\nsetup(name='up', install_requires=read('needs/requirements.txt'))\n"
    texts = ["fast>=1\nsmall==1\n", "fast>=2\nsmall==1\n", "fast>=2\nsmall==2\n"]
    history = History.start(tmp_path / "up")
    commits = [
        history.commit(f"Change (#{at})", {"setup.py": script, "needs/requirements.txt": text})
        for at, text in enumerate(texts)
    ]
    upstream = open_repository(history.path)
    log = [read_commit(upstream, one) for one in reversed(commits[1:])]
    rows = compare_declarations(*(read_declarations(Tree(upstream, one)) for one in (commits[0], commits[-1])))
    touched = dict.fromkeys(commits, ("needs/requirements.txt",))
    found = [row for row in name_needs(rows, log, touched, open_reader(upstream)) if row.rank is Rank.METADATA]
    assert [(row.name, row.by.pull_request if row.by else None) for row in found] == [("fast", 1), ("small", 2)]


def test_needs_of_one_of_several_files_are_told(tmp_path: Path) -> None:
    script = (
        "from setuptools import setup\n\ndef needs():\n    return read('a.txt') if is_a() else read('b.txt')\n\n"
        "setup(name='up', install_requires=needs())\n"
    )
    history = History.start(tmp_path / "up")
    commits = []
    for at in (1, 2):
        needs = {
            "requirements/all.txt": f"all=={at}\n",
            "requirements/a.txt": f"-r all.txt\nmost=={at}+a\n",
            "requirements/b.txt": f"-r all.txt\nlone=={at}\nmost=={at}\n",
        }
        commits.append(history.commit(f"Change (#{at})", {"setup.py": script, **needs}))
    upstream = open_repository(history.path)
    found = compare_declarations(*(read_declarations(Tree(upstream, one)) for one in commits))
    rows = tuple(row for row in found if row.rank is Rank.METADATA)
    gap = cast(
        "Gap",
        SimpleNamespace(
            upstream="up", refused=(), dependencies=SimpleNamespace(unread=((), ()), differences=rows, platform=())
        ),
    )
    assert plain_text(dependency_sentence(gap)).startswith(
        "The package metadata differs in 4 requirements, 1 of them at run time and 3 at run time by one of several requirement files."
    )
    assert plain_text(dependency_items(gap)[1]) == (
        "Run-time requirements that changed in some requirement files: most==2+a (a.txt and b.txt) and lone==2 (b.txt)."
    )


def test_what_a_package_inside_needs_is_told_as_its_own(tmp_path: Path) -> None:
    def project(*needs: str) -> str:
        return f"[project]\nname = 'up'\ndependencies = {list(needs)}\n"

    history = History.start(tmp_path / "up")
    files = {"up/__init__.py": "import fast\n", "up/inner/src/inner/__init__.py": ""}
    sides = [
        history.commit(
            "pin", {"pyproject.toml": project("fast"), "up/inner/src/pyproject.toml": project("fast"), **files}
        ),
        history.commit("tip", {"pyproject.toml": project("fast>=2"), "up/inner/src/pyproject.toml": project("slow")}),
    ]
    trees = [Tree(open_repository(history.path), one) for one in sides]
    rows = tuple(mark_imported(compare_declarations(*map(read_declarations, trees)), trees[1]))
    gap = SimpleNamespace(
        upstream="up", refused=(), dependencies=SimpleNamespace(unread=((), ()), differences=rows, platform=())
    )
    assert [plain_text(item) for item in dependency_items(cast("Gap", gap))] == [
        "Needed at run time. Changed: fast>=2.",
        "Needed at run time by up/inner/src, a package of its own. New: slow. Dropped: fast.",
    ]


def test_of_many_packages_inside_no_more_is_told_than_a_page_shows(tmp_path: Path) -> None:
    """With more of them than lines a slice ran from the end, and a page got thousands."""
    project = "[project]\nname = 'up'\ndependencies = {}\n"
    history = History.start(tmp_path / "up")
    sides = []
    for needs in (["fast"], ["slow"]):
        inner = {f"up/p{at}/pyproject.toml": project.format(needs) for at in range(9)}
        other = {"requirements-dev.txt": "\n".join(f"{needs[0]}{at}" for at in range(30))}
        sides.append(history.commit(needs[0], {"pyproject.toml": project.format([]), **inner, **other}))
    trees = [Tree(open_repository(history.path), one) for one in sides]
    rows = tuple(mark_imported(compare_declarations(*map(read_declarations, trees)), trees[1]))
    gap = SimpleNamespace(
        upstream="up", refused=(), dependencies=SimpleNamespace(unread=((), ()), differences=rows, platform=())
    )
    found = [plain_text(item) for item in dependency_items(cast("Gap", gap))]
    assert len(rows) > 40
    assert (len(found), found[-1]) == (5, "More under Dependencies and in the appendix.")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((">=1", "<9"), "fast>=1 (#1) with <9 (#2)"),
        (("==1", "==9"), "fast==1 (#1) then ==9 (#2)"),
        (("", "==9"), "fast (#1) with ==9 (#2)"),
        (("==1", "==2", "==3", "==4", "==9"), "fast==9 (#1 to #5, in 5 steps)"),
    ],
)
def test_steps_of_a_bound_in_words(steps: tuple[str, ...], said: str) -> None:
    spec = steps[-1] if steps[-1] != "<9" else ">=1,<9"
    now = Declaration(
        rank=Rank.METADATA, kind=Kind.REQUIREMENT, name="fast", spec=spec, scope="runtime", place=Location("p", 1)
    )
    bounds = tuple((bound, commit(number)) for number, bound in enumerate(steps, 1))
    row = Difference(
        rank=Rank.METADATA, kind=now.kind, name="fast", was=None, now=now, changes=(), by=bounds[0][1], bounds=bounds
    )
    gap = cast(
        "Gap",
        SimpleNamespace(
            upstream="up", refused=(), dependencies=SimpleNamespace(unread=((), ()), differences=(row,), platform=())
        ),
    )
    assert [plain_text(item) for item in dependency_items(gap)] == [f"Needed at run time. New: {said}."]


@pytest.mark.parametrize(
    ("was", "steps", "asked"),
    [
        (">=0.34,<1.0", ("==1.0.0.rc1", ">=1.0.0,<2.0", ">=1.5.0"), {1: "fast==1.0.0.rc1", 3: "fast>=1.5.0"}),
        (">=0.34,<1.0", (">=0.40", ">=1.0.0,<2.0", ">=1.5.0"), {2: "fast>=1.0.0,<2.0", 3: "fast>=1.5.0"}),
        (">=0.34,<2.0", ("==1.0", ">=1.5.0"), {2: "fast>=1.5.0"}),
        ("==1.0", ("==1.1", ">=1.5.0"), {1: "fast==1.1", 2: "fast>=1.5.0"}),
    ],
)
def test_a_need_on_the_way_counts_where_the_range_of_the_pin_ends(
    was: str, steps: tuple[str, ...], asked: dict[int, str]
) -> None:
    then, now = (
        Declaration(rank=Rank.METADATA, kind=Kind.REQUIREMENT, name="fast", spec=spec, scope="", place=Location("p", 1))
        for spec in (was, f"{steps[-1]}")
    )
    bounds = tuple((bound, commit(number)) for number, bound in enumerate(steps, 1))
    row = Difference(
        rank=Rank.METADATA, kind=now.kind, name="fast", was=then, now=now, changes=(), by=bounds[-1][1], bounds=bounds
    )
    dependencies = cast("Dependencies", SimpleNamespace(differences=(row,), platform=()))
    found = find_demands({}, dependencies, ())
    told = {int(one, 16): asks.needs[0].partition(", which")[0] for one, asks in found.items()}
    assert told == asked


OWN = [
    # (kind, what ours ask for, upstream is installed as a package, what upstream asks for, do ours meet it)
    (Kind.PYTHON, ">=3.10", True, ">=3.10", True),
    (Kind.PYTHON, ">=3.9", True, ">=3.10", False),
    (Kind.PYTHON, None, True, ">=3.10", False),
    (Kind.REQUIREMENT, ">=0.21", True, ">=1.5", True),  # pip brings it
    (Kind.REQUIREMENT, None, True, ">=1.5", True),
    (Kind.REQUIREMENT, ">=0.21,<1.0", True, ">=1.5", False),
    (Kind.REQUIREMENT, ">=0.21", False, ">=1.5", False),  # of a submodule nobody installs anything but us
    (Kind.REQUIREMENT, ">=2.0", False, ">=1.5", True),
    (Kind.REQUIREMENT, None, False, ">=1.5", False),
    (Kind.REQUIREMENT, "", False, ">=1.5", False),
]


@pytest.mark.parametrize(("kind", "ours", "installed", "asked", "met"), OWN)
def test_a_need_that_ours_meet_asks_nothing_of_us(
    kind: Kind, ours: str | None, installed: bool, asked: str, met: bool
) -> None:
    """Stops were told for versions of Python that our own metadata ask for, too."""
    name, scope = ("python", "requires-python") if kind is Kind.PYTHON else ("fast", "runtime")
    item = Declaration(
        rank=Rank.METADATA, kind=kind, name=name, spec=ours or "", scope=scope, place=Location("pyproject.toml", 1)
    )
    assert OwnNeeds((item,) if ours is not None else (), installed=installed).meet(kind, name, asked) == met


@pytest.mark.parametrize(
    ("text", "places", "lines"),
    [
        ("from up import f, g\n\n\nx = 1\nf(1)\ny = f\ng()\n", {1: {"f"}}, {1, 5, 6}),
        ("from up import f\nf(1)\n", {1: set()}, {1}),
        ("import up.core as c\nc.f()\n", {1: {"core"}}, {1, 2}),
        ("from up import (\n    f,\n    g,\n)\nf()\ng()\n", {2: {"f"}}, {2, 5}),
        ("from up import (\n    f,\n    g,\n)\nf()\ng()\n", {1: {"f"}}, {1, 5}),
        ("class A(\n    B,\n):\n    x = 1\n    y = 2\n", {1: set()}, {1}),
        ("import up\nup.f(\n    1,\n    old=2,\n    new=3,\n)\n", {2: {"old"}}, {4}),
        ("import up\nup.f(\n    1,\n    **rest,\n)\n", {2: {"old"}}, {2}),
        ("def (:\n", {1: set()}, {1}),
    ],
)
def test_lines_that_use_what_breaks(text: str, places: dict[int, set[str]], lines: set[int]) -> None:
    assert find_lines(text, {line: frozenset(names) for line, names in places.items()}) == lines


def test_work_is_counted_over_files() -> None:
    texts = {"a.py": "from up import f\nf()\n", "b.sh": "up\n"}
    effort = measure_effort(texts.__getitem__, ["a.py:1", "b.sh:1"], {"a.py:1": frozenset({"f"})})
    assert (effort.lines, effort.files) == (3, 2)


def declared(name: str, spec: str, kind: Kind, line: int = 1, path: str = ".github/workflows/ci.yaml") -> Declaration:
    return Declaration(rank=Rank.COMMANDS, kind=kind, name=name, spec=spec, scope=path, place=Location(path, line))


def test_platforms_come_first_and_what_left_ci_is_told() -> None:
    wheels = "download.pytorch.org/whl nightly"
    pin = (
        declared(f"{wheels}/rocm", "nightly/rocm7.1", Kind.CHANNEL, 3),
        declared(f"{wheels}/cu", "nightly/cu126", Kind.CHANNEL, 4),
        declared("gpu-arch-type", "rocm", Kind.SETTING, 5),
        declared("gpu-arch-type", "cuda", Kind.SETTING, 6),
        declared("torch", "==2.9", Kind.REQUIREMENT, 7),
    )
    tip = (
        declared(f"{wheels}/cu", "nightly/cu130", Kind.CHANNEL, 4),
        declared("gpu-arch-type", "cuda", Kind.SETTING, 2, path=".github/workflows/set-matrix.yaml"),
        declared("torch", "==2.10", Kind.REQUIREMENT, 7),
        declared("integration", "switched off", Kind.JOB, 9),
    )
    said = [change.sentence() for change in find_platform_changes(pin, tip)]
    assert said == [
        "CI job integration: on → switched off (.github/workflows/ci.yaml:9).",
        "ROCm wheels in CI: nightly/rocm7.1 is gone (.github/workflows/ci.yaml:3 at the pin).",
        "CUDA wheels in CI: nightly/cu126 → nightly/cu130 (.github/workflows/ci.yaml:4).",
        "CI gpu-arch-type: cuda and rocm at the pin; cuda at the tip (.github/workflows/ci.yaml:5 at the pin).",
    ]


def test_one_line_less_of_wheels_that_stay_is_no_key_difference() -> None:
    wheels, docker = "download.pytorch.org/whl", "docker/Dockerfile"
    pin = (
        declared(f"{wheels} test/xpu", "test/xpu", Kind.CHANNEL, 3, path=docker),
        declared(f"{wheels} xpu", "xpu", Kind.CHANNEL, 4, path=docker),
        declared(f"{wheels} rocm", "rocm6", Kind.CHANNEL, 5, path=docker),
        declared(f"{wheels} cu", "cu126", Kind.CHANNEL, 6, path="examples/requirements.txt"),
    )
    platform = find_platform_changes(pin, pin[1:2])
    assert [change.sentence() for change in platform] == [
        "ROCm wheels: rocm6 is gone (docker/Dockerfile:5 at the pin).",
        "CUDA wheels in CI: cu126 is gone (examples/requirements.txt:6 at the pin).",
        "XPU wheels: test/xpu is gone, xpu stays (docker/Dockerfile:3 at the pin).",
    ]
    side = SimpleNamespace(commit=commit(1))
    dependencies = SimpleNamespace(unread=((), ()), differences=(), platform=platform)
    gap = cast("Gap", SimpleNamespace(upstream="up", refused=(), pin=side, tip=side, dependencies=dependencies))
    assert [plain_text(item)[:11] for item in dependency_items(gap)] == ["ROCm wheels"]


JOB = "jobs:\n  gpu:\n    if: {}\n    runs-on: x\n"


@pytest.mark.parametrize(
    ("pin", "tip", "said"),
    [
        ({"ci.yml": "true"}, {"ci.yml": "false"}, ["CI job gpu: on → switched off"]),
        ({"ci.yml": "false"}, {"ci.yml": "true"}, ["CI job gpu: switched off → on"]),
        ({}, {"ci.yml": "false"}, []),
        ({"other.yml": "true"}, {"other.yml": "true", "ci.yml": "false"}, []),
        ({"ci.yml": "false"}, {}, []),
        ({"ci.yml": "false"}, {"ci.yml": "false"}, []),
    ],
)
def test_a_job_that_one_side_does_not_have_was_not_switched(
    tmp_path: Path, pin: dict[str, str], tip: dict[str, str], said: list[str]
) -> None:
    history = History.start(tmp_path / "up")
    sides = [
        read_declarations(Tree(open_repository(history.path), history.commit("one", _write_jobs(files))))
        for files in ({**dict.fromkeys(tip), **pin}, {**dict.fromkeys(pin), **tip})
    ]
    assert [one.sentence().partition(" (")[0] for one in compare_platforms(sides[0], sides[1])] == said
    moves = {change.value for row in compare_declarations(*sides) for change in row.changes}
    assert {"switched off", "switched on"} & moves == {"switched " + one.rpartition(" ")[2] for one in said}


def _write_jobs(files: dict[str, str | None]) -> dict[str, str | bytes | None]:
    return {f".github/workflows/{name}": JOB.format(test) if test else "on: push\n" for name, test in files.items()}


def test_the_stable_channel_of_a_platform_is_one_of_its_channels() -> None:
    wheels = "download.pytorch.org/whl"
    pin = declared(f"{wheels} test/xpu", "test/xpu", Kind.CHANNEL), declared(f"{wheels} cu", "cu126", Kind.CHANNEL)
    tip = declared(f"{wheels} xpu", "xpu", Kind.CHANNEL), declared(f"{wheels} cu", "cu130", Kind.CHANNEL)
    assert [change.sentence().partition(" (")[0] for change in find_platform_changes(pin, tip)] == [
        "CUDA wheels in CI: cu126 → cu130",
        "XPU wheels in CI: test/xpu → xpu",
    ]


def test_what_documents_advise_and_what_containers_hold_is_not_what_ci_installs() -> None:
    channel = "download.pytorch.org/whl test/cu"
    readme = replace(declared(channel, "test/cu130", Kind.CHANNEL, path="README.md"), rank=Rank.README)
    container = declared(channel, "test/cu129", Kind.CHANNEL, path="docker/Dockerfile")
    said = [change.sentence() for change in find_platform_changes((), (readme, container))]
    assert said == ["CUDA wheels: test/cu129 is new (docker/Dockerfile:1)."]


def test_an_image_that_is_still_built_is_not_gone() -> None:
    """CI no longer tests in it, and still builds it under another key."""
    tests = 'jobs:\n  a:\n    with:\n      docker-image: one-rocm\n      python-versions: \'["3.10", "3.11"]\'\n'
    builds = "jobs:\n  b:\n    strategy:\n      matrix:\n        include:\n          - docker-image-name: one-rocm\n"
    pin = [one for one in find_workflow_declarations("a.yml", tests) if isinstance(one, Declaration)]
    tip = [one for one in find_workflow_declarations("b.yml", builds) if isinstance(one, Declaration)]
    tip.append(declared("python-version", "3.11", Kind.SETTING))
    pin.append(declared("image", "${CI_IMAGE}:${CI_PIPELINE_ID}", Kind.IMAGE))  # a variable names no image
    assert [change.sentence() for change in find_platform_changes(pin, tip)] == [
        "CI python-version: 3.10 and 3.11 at the pin; 3.11 at the tip (a.yml:5 at the pin)."
    ]


TESTED = "jobs:\n  a:\n    container:\n      image: {}\n"
HANDED = "jobs:\n  b:\n    uses: ./.github/workflows/a.yml\n    with:\n      docker: one/gpu{}\n"
NAMED = [
    # (what it shows, the other files of the tip, what is told)
    ("nothing names it", {}, ["container images: one/gpu → two"]),
    (
        "a job hands it to another workflow",
        {".github/workflows/b.yml": HANDED.format("")},
        ["container images: two is new"],
    ),
    (
        "a script beside the workflows",
        {".github/workflows/all.py": "IMAGES = ['one/gpu']\n"},
        ["container images: two is new"],
    ),
    (
        "a comment",
        {".github/workflows/b.yml": f"#{HANDED.format('').rpartition('with:')[2].strip()}\n"},
        ["container images: one/gpu → two"],
    ),
    ("a longer name", {".github/workflows/b.yml": HANDED.format("-old")}, ["container images: one/gpu → two"]),
    ("a document", {"docs/ci.md": "one/gpu\n"}, ["container images: one/gpu → two"]),
]


@pytest.mark.parametrize(("more", "said"), [row[1:] for row in NAMED], ids=[row[0] for row in NAMED])
def test_an_image_that_the_tip_names_under_any_key_is_not_gone(
    tmp_path: Path, more: dict[str, str], said: list[str]
) -> None:
    history = History.start(tmp_path / "up")
    trees = [
        Tree(
            open_repository(history.path),
            history.commit("one", {".github/workflows/a.yml": TESTED.format(image), **files}),
        )
        for image, files in (("one/gpu", {}), ("two", more))
    ]
    pin, tip = map(read_declarations, trees)
    told = compare_platforms(pin, tip, (open_mentions(trees[0]), open_mentions(trees[1])))
    assert [one.sentence().partition(" (")[0] for one in told] == said


def test_values_that_stay_are_not_told_as_replaced() -> None:
    versions = [declared("python-version", spec, Kind.SETTING) for spec in ("3.9", "3.10", "3.12", "3.13")]
    told = find_platform_changes(versions[:2], versions[1:])
    assert [change.sentence() for change in told] == [
        "CI python-version: 3.9 and 3.10 at the pin; 3.10, 3.12 and 3.13 at the tip (.github/workflows/ci.yaml:1)."
    ]
    assert "from 3.10 and 3.9 to 3.12 and 3.13" in find_platform_changes(versions[:2], versions[2:])[0].sentence()


def test_a_platform_that_is_commented_out_is_told_so() -> None:
    text = """
jobs:
  set:
    steps:
      - run: |
          # ROCm CI is off while it is red
          #   "gpu-arch-type": "rocm",
          #   "index-url": "https://download.pytorch.org/whl/nightly/rocm7.2"
"""
    pin = (
        declared("download.pytorch.org/whl nightly/rocm", "nightly/rocm7.1", Kind.CHANNEL, 3),
        declared("gpu-arch-type", "rocm", Kind.SETTING, 5),
    )
    told = find_platform_changes(pin, (), tuple(find_commented(".github/workflows/ci.yaml", text)))
    assert [change.sentence() for change in told] == [
        (
            "ROCm wheels in CI: none. The pin had nightly/rocm7.1; the tip has nightly/rocm7.2 only in a comment "
            "(.github/workflows/ci.yaml:8)."
        ),
        "CI gpu-arch-type: none. The pin had rocm; the tip has it only in a comment (.github/workflows/ci.yaml:7).",
    ]
    side = SimpleNamespace(commit=commit(1))
    ground = SimpleNamespace(unread=((), ()), differences=(), platform=(replace(told[0], by=commit(7)),))
    item = dependency_items(
        cast("Gap", SimpleNamespace(upstream="https://up", refused=(), dependencies=ground, pin=side, tip=side))
    )[0]
    assert plain_text(item).startswith("ROCm wheels in CI: none since #7 (2026-01-07). The pin had")
    assert isinstance(item, tuple)
    assert next(part.text for part in item if isinstance(part, Cell)) == "#7"
    live = declared("gpu-arch-type", "cuda", Kind.SETTING, 9)
    (left,) = find_platform_changes((*pin[1:], live), (live,), tuple(find_commented(".github/workflows/ci.yaml", text)))
    assert left.tell_sides() == ("cuda and rocm", "cuda; commented out: rocm")
    assert left.sentence() == (
        "CI gpu-arch-type: cuda and rocm at the pin; cuda at the tip, rocm only in a comment "
        "(.github/workflows/ci.yaml:7)."
    )


def test_a_channel_that_stays_is_told_beside_a_new_one() -> None:
    channels = [
        declared("download.pytorch.org/whl nightly/cpu", "nightly/cpu", Kind.CHANNEL),
        declared("download.pytorch.org/whl test/cpu", "test/cpu", Kind.CHANNEL),
    ]
    (told,) = find_platform_changes(channels[:1], channels)
    assert told.tell_sides() == ("nightly/cpu", "nightly/cpu and test/cpu")


def test_folders_called_like_the_backend_are_found_beyond_the_configured_one() -> None:
    paths = [
        "h/backends/keel/a.py",
        "examples/keel/one.yaml",
        "examples/keel/deep/two.yaml",
        "tests/test_keel_trainer.py",
        "tests/test_keelson.py",
        "third_party/keel",
        ".github/keel.yml",
    ]
    assert find_beyond(paths, ("keel", "Keel"), ("h/backends/keel", "third_party/keel")) == (
        ("examples/keel", 2),
        ("tests/test_keel_trainer.py", 1),
    )


@pytest.mark.parametrize(
    ("inits", "outside"),
    [
        (["src/harbor", "compare"], ["compare/b.py:2", "examples/c.py:3"]),
        (["src", "src/harbor"], ["compare/b.py:2", "examples/c.py:3"]),
        (["compare", "examples"], ["src/harbor/a.py:1", "examples/c.py:3"]),
        ([], []),
    ],
)
def test_places_outside_our_package_are_told(inits: list[str], outside: list[str]) -> None:
    places = ["src/harbor/a.py:1", "compare/b.py:2", "examples/c.py:3"]
    assert list(find_outside([f"{folder}/__init__.py" for folder in inits], places)) == outside


def test_packages_are_told_with_the_commits_that_deleted_them_or_made_them_of_older_code(tmp_path: Path) -> None:
    """`hybrid` is `mamba` under another name, of which forwarding files stay; `copy` leaves its model whole, `later` is
    made of a folder that is newer than the pin itself, and `new` is new.
    """
    history = History.start(tmp_path / "up")
    old = {
        f"up/mamba/mamba_{name}.py": "".join(f"{name}_{n} = {n}\n" for n in range(20)) for name in ("model", "block")
    }
    pin = history.commit(
        "pin",
        {
            **old,
            "up/gone/a.py": "a = 1\n",
            "up/gone/b.py": "b = 1\n",
            "up/whole/a.py": "".join(f"whole_{n} = {n}\n" for n in range(20)),
        },
    )
    files = {path.replace("mamba", "hybrid"): text + "more = 1\n" for path, text in old.items()}
    files |= dict.fromkeys(old, "from up.hybrid import *\n")
    commits = [history.commit("Rename (#1)", {**files, "up/hybrid/__init__.py": ""})]
    commits.append(history.commit("Add (#2)", {"up/new/a.py": "x = 1\n", "up/gone/a.py": None}))
    whole = "".join(f"whole_{n} = {n}\n" for n in range(20))
    copied = {"up/whole/a.py": f"{whole}x = 2\n", "up/copy/a.py": f"{whole}y = 2\n"}
    commits.append(history.commit("Copy (#4)", {**copied}))
    first = "".join(f"first_{n} = {n}\n" for n in range(20))
    commits.append(history.commit("First (#5)", {"up/first/a.py": first}))
    commits.append(history.commit("Later (#6)", {"up/first/a.py": "x = 1\n", "up/later/a.py": first}))
    commits.append(history.commit("Delete (#3)", {"up/hybrid/new.py": "z = 1\n", "up/gone/b.py": None}))
    upstream = open_repository(history.path)
    before, after = (Tree(upstream, one).entries for one in (pin, commits[-1]))
    log, touched = list(read_log(upstream, pin, commits[-1])), read_touched_files(upstream, pin, commits[-1])
    changes = find_package_changes(before, after, read_diff(upstream, pin, commits[-1]))
    found = name_origins(
        name_deletions(changes, log, touched),
        log,
        touched,
        lambda one: read_diff(upstream, f"{one}^", one, copies=True),
        before,
    )
    told = {one.path: (one.kind, one.origins, one.by.pull_request if one.by else None) for one in found}
    assert told == {
        "up/hybrid": ("added", ("up/mamba",), 1),
        "up/new": ("added", (), None),
        "up/copy": ("added", (), None),
        "up/first": ("added", (), None),
        "up/later": ("added", (), None),
        "up/gone": ("removed", (), 3),
    }


WORKFLOW = """\
jobs:
  set:
    steps:
      - run: |
          "index-url": "https://download.pytorch.org/whl/nightly/cu126"
          "index-url": "https://download.pytorch.org/whl/nightly/rocm7.1"
"""


def test_the_change_that_switched_a_platform_off_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files install it; it is off since the second stopped."""
    history, path, more = History.start(tmp_path / "up"), ".github/workflows/ci.yaml", ".github/workflows/more.yaml"
    pin = history.commit("pin", {path: WORKFLOW, more: WORKFLOW})
    newer = WORKFLOW.replace("rocm7.1", "rocm7.2")
    off = newer.replace(
        '"index-url": "https://download.pytorch.org/whl/nightly/rocm',
        '# "index-url": "https://download.pytorch.org/whl/nightly/rocm',
    )
    commits = [history.commit("Move (#1)", {path: newer}), history.commit("Switch off (#2)", {path: off})]
    commits += [history.commit("Off too (#3)", {more: off}), history.commit("Later (#4)", {path: off + "# end\n"})]
    upstream = open_repository(history.path)
    log = [read_commit(upstream, one) for one in reversed(commits)]
    cache = Cache(tmp_path / "cache", "memo")
    for finder in (find_declarations, None):  # the second time no file is read
        memos = Memos(cache)
        read = open_reader(upstream, memos)
        monkeypatch.setattr("layline.gap.switched_off.find_declarations", finder)
        before, after = ([one for name in (path, more) for one in read(commit, name)] for commit in (pin, commits[-1]))
        changes = find_platform_changes(before, after, find_commented(path, off))
        (found,) = name_switches(changes, log, dict.fromkeys(commits, (path, more)), read)
        memos.save()
        assert found.by is not None
        assert (found.what, found.by.pull_request) == ("ROCm wheels in CI", 3)
        assert found.sentence().startswith("ROCm wheels in CI: none since #3 (")


def test_imports_of_tests_and_yaml_values_that_name_what_is_gone(tmp_path: Path) -> None:
    upstream, ours = History.start(tmp_path / "up"), History.start(tmp_path / "down")
    pin = upstream.commit(
        "pin", {"up/__init__.py": "", "up/models/__init__.py": "", "up/models/boat4/__init__.py": "x = 1\n"}
    )
    tip = upstream.commit("tip", {"up/models/boat4/__init__.py": None})
    commit = ours.commit(
        "one",
        {
            "tests/test_a.py": "import os\nfrom up.models.boat4 import x\nfrom up import models\n",
            "ours/a.py": "from up.models.boat4 import x\n",
            "examples/up/a.yaml": "model: boat4_big.yaml\nname: ${NAME:boat40}\n",
            "examples/up/b.yaml": "boat4: {name: other}\n",
        },
    )
    repository = open_repository(upstream.path)
    sides = [Resolver(build_index([Part(tree=Tree(repository, one), packages=("up",))])) for one in (pin, tip)]
    tree = Tree(open_repository(ours.path), commit)
    assert [str(one) for one in find_lost_imports(tree, ("up",), *sides)] == ["tests/test_a.py:2"]
    packages = list(find_package_changes(Tree(repository, pin).entries, Tree(repository, tip).entries, Diff(())))
    files = list_yaml(tree.entries, ("examples/up",))
    told = list(find_mentions(tree, files, packages, Tree(repository, tip).entries))
    assert told == [("up/models/boat4", ("examples/up/a.yaml",))]
