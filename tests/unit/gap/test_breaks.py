"""What breaks as rows of the report: what happened to several names is told once, and what a new address hides."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from drift_rows import drift_row
from layline.change.options.fields import ConfigField
from layline.change.options.read import Options
from layline.change.surface import StaleKey
from layline.core.drift import DriftKind
from layline.core.evidence import Evidence, Location, Severity
from layline.core.finding import Finding
from layline.core.report import Bullets, Cell
from layline.core.revision import Commit
from layline.core.why import Reason, Why
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.gap.beside import tell_beside, tell_unmade
from layline.gap.breaks import find_rewritten, group_broken
from layline.gap.cells import plain_text
from layline.gap.changes import Changes, UpstreamChange
from layline.gap.follow import Follow
from layline.gap.model import Cause, Gap
from layline.gap.overview import find_broken_places, find_fixes
from layline.gap.report import _representative
from layline.gap.successors import Successor
from layline.gap.surface.known_keys import find_defaults

COMMIT = Commit(hash="c" * 40, committed="2026-01-02T00:00:00Z", authored="", author="A", subject="s")


def couple(line: int, target: str, new: str | None = None, *, breaks: bool = True) -> Coupling:
    return Coupling(
        touch=Touch.IMPORT,
        target=target,
        location=Location("o.py", line),
        state=State.RENAMED if new else State.REMOVED,
        consequence=Consequence.WILL_BREAK if breaks else Consequence.OK,
        new_target=new,
        culprit="1" * 40,
    )


def gap(*couplings: Coupling, patched: tuple[str, ...] = (), **more: object) -> Gap:
    patches = [drift_row("look", "body-changed", "o.py:90", name) for name in patched]
    empty = {"successors": (), "packages": (), "follows": ()}
    return cast("Gap", SimpleNamespace(couplings=couplings, patches=patches, **{**empty, **more}))


def test_names_with_one_fate_share_a_row_and_lost_ones_without_a_trace_do_not() -> None:
    rows = group_broken(gap(couple(1, "up.a", "up.z"), couple(2, "up.b", "up.z"), couple(3, "up.c"), couple(4, "up.d")))
    assert [(row.target, row.also, row.said, row.places) for row in rows] == [
        ("up.a", ("up.b",), "renamed, now up.z", ("o.py:1", "o.py:2")),
        ("up.c", (), "removed", ("o.py:3",)),
        ("up.d", (), "removed", ("o.py:4",)),
    ]


def test_several_patched_names_that_become_one_overwrite_one_another() -> None:
    pair = couple(1, "up.a", "up.z"), couple(2, "up.b", "up.z")
    both = "renamed, now up.z; 2 names that we replace became one name, so the last replacement wins"
    assert [row.said for row in group_broken(gap(*pair, patched=("up.a", "up.b")))] == [both]
    assert [row.said for row in group_broken(gap(*pair, patched=("up.a",)))] == ["renamed, now up.z"]


def test_a_class_that_nobody_makes_by_name_is_told_at_its_row_and_in_a_sentence() -> None:
    left = Successor(target="up.A", differs=("needs config",), is_unmade=True)
    found = gap(couple(1, "up.A", "up.new.B"), successors=(left,))
    assert [row.said for row in group_broken(found)] == [
        "renamed, now up.new.B; other arguments; not constructed by name"
    ]
    assert tell_unmade(found) == (
        "1 class that we replace has a new name (B); upstream never constructs it by that name, so replacing it changes nothing."
    )
    two = gap(
        couple(1, "up.A", "up.new.B"), couple(2, "up.C", "up.new.B"), successors=(left, replace(left, target="up.C"))
    )
    assert tell_unmade(two, whole=False) == (
        "2 classes that we replace have a new name; upstream never constructs them by these names, so replacing them changes nothing."
    )
    assert tell_unmade(gap(couple(1, "up.A", "up.new.B"))) == ""


def test_places_that_fit_inside_a_method_to_rewrite_are_known() -> None:
    follow = Follow(
        location=Location("o.py", 10), last=14, target="up.A.f", arrival="up.B.f", takes=((), ()), changes=()
    )
    couplings = [couple(line, f"up.x{line}", breaks=False) for line in (9, 10, 14, 15)]
    assert find_rewritten(gap(*couplings, follows=(follow,))) == {"o.py:10", "o.py:14"}


def test_a_file_of_upstream_that_our_code_reads_is_told_with_a_link_to_the_line() -> None:
    read = (("up/a.py", (Location("ours/check.py", 43),)),)
    found = gap(stale_keys=(), tests=(), read_files=read, downstream="https://d", downstream_commit=COMMIT)
    told = tell_beside(found, whole=False)
    assert isinstance(told, tuple)
    assert plain_text(told) == " Besides the code, check.py:43 reads a.py, which is gone."
    assert [(part.text, part.evidence and part.evidence.path) for part in told if isinstance(part, Cell)] == [
        ("check.py:43", "ours/check.py")
    ]


def test_the_summary_names_a_change_once() -> None:
    def change(number: int, title: str) -> UpstreamChange:
        commits = (f"{number:040x}",)
        return UpstreamChange(
            number=number, title=title, kind="", date="2026-01-02", commits=commits, area="a", files=1
        )

    kept = (change(1, "Add sails"), change(2, "Move the mast"))
    causes = tuple(
        Cause(commit=f"{number:040x}", number=number, places=("o.py:1",) * (3 - number), targets=())
        for number in (1, 2)
    )
    found = gap(changes=Changes(kept, 0, 0), causes=causes, mentions=(), upstream="https://up")
    bullets = _representative(found).blocks[1]
    assert isinstance(bullets, Bullets)
    assert [plain_text(item) for item in bullets.items] == [
        "A: Add sails (#1).",
        "Move the mast (#2, 2026-01-02, 1 code file).",
    ]


def test_another_default_number_of_the_new_name_is_told() -> None:
    def field(name: str, default: str | None) -> ConfigField:
        place = Evidence(repo="up", commit="c" * 40, path=f"{name}.py", lines=(1, 1))
        return ConfigField(owner="up.C", name=name, default=default, annotation="int", evidence=place)

    def stale(key: str, new: str) -> StaleKey:
        place = then.classes["up.C"][key].evidence
        return StaleKey(key=key, location=Location("a.yaml", 1), others=0, suggestion=new, pin_evidence=place)

    then, now = (
        Options(classes={"up.C": {name: field(name, default) for name, default in pairs}}, flags={}, skipped=())
        for pairs in (
            [("size", "8"), ("steps", "10"), ("mode", "'a'")],
            [("tokens", "16384"), ("iterations", "10"), ("kind", "'b'")],
        )
    )
    known = {name: one.evidence for name, one in now.classes["up.C"].items()}
    rows = [stale("size", "tokens"), stale("steps", "iterations"), stale("mode", "kind")]
    assert list(find_defaults(rows, (then, now), known)) == [("size", "8", "16384")]


def test_what_only_waits_behind_a_failing_import_is_no_place_to_fix() -> None:
    fails = Why(Reason.NEEDS_GONE, "up.gone", places=(Location("o.py", 1),))
    waits = Finding(severity=Severity.BREAKS, why=Why(Reason.NOT_INSTALLED, parts=(fails,)))
    alone = replace(drift_row("ok", "unchanged", "o.py:20", "up.a"), findings=(waits,))
    broken = drift_row("breaks", "signature-changed", "o.py:30", "up.b")
    both = replace(broken, findings=(*broken.findings, waits), location=Location("o.py", 40))
    look = drift_row("look", "body-changed", "o.py:50", "up.c")
    sleeping = replace(alone, active=False, location=Location("o.py", 60))
    refused = Why(Reason.CALLS_REFUSING, "up.f", places=(Location("inner.py", 7),))
    calls = Finding(kind=DriftKind.UNCHANGED, severity=Severity.BREAKS, why=Why(Reason.MISREADS, parts=(refused,)))
    inner = replace(broken, findings=(calls,), location=Location("o.py", 70))
    rows = [alone, broken, both, look, sleeping, inner]
    used = couple(1, "up.gone"), replace(couple(20, "up.a"), touch=Touch.PATCH)
    assert find_broken_places(used, rows) == {"o.py:1", "o.py:20", "o.py:30", "o.py:40", "o.py:70"}
    # the line to edit is the call inside the replacement
    assert find_fixes(used, rows) == {"o.py:1", "o.py:30", "o.py:40", "inner.py:7"}
