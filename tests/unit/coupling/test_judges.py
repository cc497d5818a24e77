"""Each judge of drift on little real histories: what we put in place, what upstream did, what is found."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from histories import History
from judging import BODY, OURS, RUN, USE, codes, judge
from layline.core.condition import Condition, ConditionKind, need_class, need_name, need_version, negate
from layline.core.evidence import Location
from layline.core.patch import Effect, Holder, Style
from layline.core.why import Reason, Why, say
from layline.coupling.additions import accept_additions
from layline.coupling.decide import decide
from layline.coupling.own_attributes import accept_own
from layline.coupling.removals import find_last
from layline.coupling.roots import explain
from layline.git import open_repository
from layline.history.timeline import read_timeline
from layline.patches.drift.imports import find_failing_imports
from layline.patches.drift.sentences import say_row
from layline.source import Tree
from layline.source.names import find_target

HAS_RUN = Condition(kind=ConditionKind.NAME, text="keel.run.run")
OLD = need_version("keel.__version__", "<", "2")
GONE: dict[str, str | None] = {"keel/run.py": "other = 1\n"}
GUARDED = [
    # (what it shows, condition, kind, severity, whether it is said that the patch stops applying)
    ("no guard", None, "removed", "breaks", False),
    ("asks for the name first", HAS_RUN, "removed", "look", True),
    ("a branch for old versions", OLD, "removed", "look", False),
    ("for those who do not install it", negate(need_name("keel")), "removed", "look", False),
    ("asks for what the tip has", Condition(kind=ConditionKind.NAME, text="keel.run"), "removed", "breaks", False),
]


@pytest.mark.parametrize(("shows", "condition", "kind", "severity", "stops"), GUARDED, ids=[row[0] for row in GUARDED])
def test_a_guarded_write_stops_applying(
    tmp_path: Path, shows: str, condition: Condition | None, kind: str, severity: str, stops: bool
) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, GONE, condition=condition)
    assert (row.kind, row.severity) == (kind, severity)
    assert ("stops-applying" in codes(row)) is stops


def test_one_fact_that_decides_two_conditions_is_told_once() -> None:
    ground: Any = SimpleNamespace(versions=("1.0", "2.0"), packages=("keel",))
    both = Condition(kind=ConditionKind.ANY, parts=(OLD, Condition(kind=ConditionKind.ALL, parts=(OLD,))))
    found = decide(both, ground, 1)
    assert (found.holds, len(found.why)) == (False, 1)


def guard(operator: str, version: str) -> str:
    """Our file whose write stands behind a test of the version."""
    head = f"{OURS}import keel\nfrom packaging.version import Version\n"
    return f"{head}if Version(keel.__version__) {operator} Version('{version}'):\n    keel.run.run = fast\n"


VERSIONS = [
    # (what it shows, our file, severity, the reason that limits it; pin 1.0, tip 2.0, and the tip has lost the name)
    ("runs at both", guard(">=", "0.5"), "breaks", None),
    ("stops running", guard("<", "2.0"), "look", "not-run-now"),
    ("runs at neither", guard("<", "0.9"), "ok", "not-run-at-all"),
    ("runs only where the name is gone", guard(">=", "2"), "ok", "added-there"),
]


@pytest.mark.parametrize(("shows", "ours", "severity", "code"), VERSIONS, ids=[row[0] for row in VERSIONS])
def test_a_write_breaks_only_where_it_runs(
    tmp_path: Path, shows: str, ours: str, severity: str, code: str | None
) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, GONE, ours=ours)
    assert row.severity == severity
    assert {"not-run-now", "not-run-at-all", "added-there"} & set(codes(row)) == ({code} if code else set())


IMPORTING = "def fast(x):\n    {}from keel.run import {}\n    return x\n"
IMPORTS = [
    # (what it shows, our replacement, what it does today, how bad it is)
    ("a name that the pin has", IMPORTING.format("", "run"), "fits", "ok"),
    ("a name that neither has", IMPORTING.format("", "gone"), "does-not-fit", "breaks"),
    ("a name that the tip has", IMPORTING.format("", "late"), "does-not-fit", "look"),
    ("in a branch", IMPORTING.format("if x:\n        ", "gone"), "fits", "ok"),
    (
        "caught",
        "def fast(x):\n    try:\n        from keel.run import gone\n    except ImportError:\n        gone = 1\n    return x\n",
        "fits",
        "ok",
    ),
    ("a module that may be compiled", "def fast(x):\n    import keel.kernels\n    return x\n", "fits", "ok"),
]


@pytest.mark.parametrize(("ours", "today", "severity"), [row[1:] for row in IMPORTS], ids=[row[0] for row in IMPORTS])
def test_a_replacement_that_imports_what_is_missing_does_not_fit_today(
    tmp_path: Path, ours: str, today: str, severity: str
) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, {"keel/run.py": f"{RUN}late = 1\n"}, ours=ours)
    assert (row.today, row.severity) == (today, severity)
    assert ("neither the pin nor the tip has" in row.detail) is (severity == "breaks")
    assert row.culprit is None


GONE_MODULES = [
    # (what it shows, what else the pin has, what it does today)
    ("a module that upstream deleted", {}, "does-not-fit"),
    ("one that its own code imports: generated", {"keel/use.py": "from keel.masts import Mast\n"}, "fits"),
    ("one that is compiled now", {"keel/masts.pyx": ""}, "fits"),
    ("one that the package makes when asked", {"keel/__init__.py": "def __getattr__(name):\n    return 1\n"}, "fits"),
]


@pytest.mark.parametrize(("more", "today"), [row[1:] for row in GONE_MODULES], ids=[row[0] for row in GONE_MODULES])
def test_a_replacement_that_imports_from_a_deleted_module_does_not_fit_today(
    tmp_path: Path, more: dict[str, str], today: str
) -> None:
    ours = "def fast(x):\n    from keel.masts import Mast\n    return Mast(x)\n"
    base = {"keel/run.py": RUN, "keel/masts.py": "class Mast:\n    pass\n"}
    row = judge(tmp_path, {"keel/run.py": RUN, **more}, {}, ours=ours, base=base, gone="keel/masts.py")
    assert row.today == today, row.detail


CAN_GO = [
    # (what it shows, our file, whether it is said that the patch can be deleted, what it does today; pin 1.0, tip 2.0, the
    # target stays as it is)
    ("runs at both", guard(">=", "0.5"), None, False, "fits"),
    ("stops running", guard("<", "2.0"), None, True, "fits"),
    ("runs at neither", guard("<", "0.9"), None, True, "not-run"),
    ("runs at the tip alone", guard(">=", "2"), None, False, "not-run"),
    ("the same, by the condition of the effect", OURS, need_version("keel.__version__", ">=", "2"), False, "not-run"),
]


@pytest.mark.parametrize(
    ("ours", "condition", "can_go", "today"), [row[1:] for row in CAN_GO], ids=[row[0] for row in CAN_GO]
)
def test_a_write_that_the_tip_does_not_run_can_go(
    tmp_path: Path, ours: str, condition: Condition | None, can_go: bool, today: str
) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, {}, ours=ours, condition=condition)
    assert (row.kind, row.severity) == ("unchanged", "ok")
    assert (row.retire is not None, row.today) == (can_go, today)


def test_who_took_a_name_away_is_told_also_where_nothing_breaks(tmp_path: Path) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, GONE, ours=guard(">=", "2"))
    assert row.severity == "ok"
    assert row.culprit is not None
    assert row.culprit.subject == "tip"


def test_a_shim_has_moved_and_who_made_it_is_told(tmp_path: Path) -> None:
    shim = f"{RUN.replace('run', 'walk')}\n\ndef run(x):\n    return walk(x)\n"
    long = BODY.replace("return total", "print(total, x)\n    print(x, total, step)\n    return [total, x, step]")
    mentions = {"keel/run.py": f"def run(x):\n    # walk(x) will do this\n{long}"}
    before, after = {"keel/run.py": f"def run(x):\n{long}"}, {"keel/run.py": shim.replace(BODY, long)}
    row = judge(tmp_path, before, {**after}, between=mentions)
    assert (row.kind, row.severity) == ("moved", "look")
    assert "only-calls" in codes(row)
    assert row.culprit is not None
    assert row.culprit.subject == "tip"


def hold(attribute: str, body: str, head: str = "x") -> str:
    return f"class Run:\n    def __init__(self):\n        self.{attribute} = 1\n    def go(self, {head}):\n        {body}\n"


READS = "def ours(self, x, y=1):\n    return self.speed * x\n\nimport keel.run\nkeel.run.Run.go = ours\n"
GIVES = "def ours(self, x, y=1):\n    return x, 1\n\nimport keel.run\nkeel.run.Run.go = ours\n"
BLAMED = [
    # (what it shows, ours, upstream at the pin, one commit later, at the tip: to blame is the tip)
    (
        "what we read",
        READS,
        hold("speed", "print(x)"),
        hold("speed", "print(x)", "x, y=1"),
        hold("pace", "print(x)", "x, y=1"),
    ),
    (
        "what we read, beside a parameter that nobody passes",
        READS.replace(", y=1", ""),
        hold("speed", "print(x)"),
        hold("speed", "print(x)", "x, y=1"),
        hold("pace", "print(x)", "x, y=1"),
    ),
    ("what we return", GIVES, hold("a", "return x, 1"), hold("a", "return 1, x"), hold("a", "return 1, x, 2")),
]


@pytest.mark.parametrize(("ours", "pin", "later", "tip"), [row[1:] for row in BLAMED], ids=[row[0] for row in BLAMED])
def test_who_made_it_break_is_told_and_not_who_changed_it_first(
    tmp_path: Path, ours: str, pin: str, later: str, tip: str
) -> None:
    files = [{"keel/run.py": text} for text in (pin, later, tip)]
    row = judge(tmp_path, files[0], {**files[2]}, ours=ours, target="keel.run.Run.go", between=files[1])
    assert (row.severity, row.culprit and row.culprit.subject) == ("breaks", "tip"), row.detail


def pack(*, sets: str = "layer.scale = 1 / layer.scale", reads: str = "layer.scale") -> str:
    return f"class Pack:\n    def load(self, layer):\n        {sets}\n    def apply(self, layer, x):\n        return x * {reads}\n"


DELETES = "def ours(self, part):\n    {}\n    print(part)\n\nimport keel.run\nkeel.run.Pack.load = ours\n"
TAKEN_AWAY = [
    # (what it shows, ours, upstream, what is told)
    (
        "deleted",
        "del part.scale",
        pack(),
        ["deletes part.scale, which the original keeps and Pack.apply reads"],
    ),
    (
        "where it is there",
        "if hasattr(part, 'scale'):\n        delattr(part, 'scale')",
        pack(),
        ["deletes part.scale, which the original keeps and Pack.apply reads"],
    ),
    ("set again", "del part.scale\n    part.scale = 2", pack(), []),
    ("in a branch", "if part.size:\n        del part.scale", pack(), []),
    ("the original leaves it as it was", "del part.scale", pack(sets="layer.size = 1"), []),
    ("read where it is there", "del part.scale", pack(reads="getattr(layer, 'scale', 1)"), []),
    ("of something else", "del part.scale", pack(reads="x.scale"), []),
]


@pytest.mark.parametrize(
    ("ours", "upstream", "told"), [row[1:] for row in TAKEN_AWAY], ids=[row[0] for row in TAKEN_AWAY]
)
def test_what_ours_deletes_and_another_method_reads_does_not_fit_today(
    tmp_path: Path, ours: str, upstream: str, told: list[str]
) -> None:
    files = {"keel/run.py": upstream}
    row = judge(tmp_path, files, {"keel/run.py": None}, ours=DELETES.format(ours), target="keel.run.Pack.load")
    parts = [part for one in row.findings if one.why.reason is Reason.MISREADS_TODAY for part in one.why.parts]
    assert [say(part) for part in parts] == told
    assert row.today == ("does-not-fit" if told else "fits")


def kernel(*, start: str = "self.kernel = None", load: str = "self.kernel = make(x)", apply: str = "") -> str:
    needs = apply or "assert self.kernel is not None\n        return self.kernel(x)"
    parts = (("__init__(self)", start), ("load(self, x)", load), ("help(self)", "return 1"), ("apply(self, x)", needs))
    return "class Base:\n    pass\n\n\nclass Run(Base):\n" + "".join(
        f"    def {name}:\n        {body}\n" for name, body in parts
    )


UNSET = "def ours(self, x):\n    {1}\n\ndef other(me):\n    me.{0}\n\nimport keel.run\nkeel.run.Run.load = ours\n"
LEFT_UNSET = [
    # (what it shows, what our function and one beside it do, upstream at pin and tip, today, told)
    ("another name", ("core = 1", "self.core = x"), (kernel(), kernel()), "does-not-fit", "self.kernel"),
    ("set", ("core = 1", "self.kernel = x"), (kernel(), kernel()), "fits", ""),
    ("set beside", ("kernel = 1", "other(self)"), (kernel(), kernel()), "fits", ""),
    ("not set beside", ("core = 1", "other(self)"), (kernel(), kernel()), "does-not-fit", "self.kernel"),
    ("set by its name", ("core = 1", "setattr(self, 'kernel', x)"), (kernel(), kernel()), "fits", ""),
    ("handed to who knows whom", ("core = 1", "print(self)"), (kernel(), kernel()), "fits", ""),
    ("set by a method that ours calls", ("core = 1", "self.apply(x)"), (kernel(), kernel()), "fits", ""),
    ("a method that does not", ("core = 1", "self.help()"), (kernel(), kernel()), "does-not-fit", "self.kernel"),
    ("set elsewhere, too", ("core = 1", "pass"), (kernel(start="self.kernel = 1"),) * 2, "fits", ""),
    ("only sometimes", ("core = 1", "pass"), (kernel(load="if x:\n            self.kernel = 1"),) * 2, "fits", ""),
    (
        "nobody else sets it",
        ("core = 1", "pass"),
        (kernel(start="pass", apply="return self.kernel(x)"),) * 2,
        "does-not-fit",
        "self.kernel",
    ),
    ("nobody needs it", ("core = 1", "pass"), (kernel(apply="return self.kernel"),) * 2, "fits", ""),
    (
        "asked for",
        ("core = 1", "pass"),
        (kernel(start="pass", apply="return getattr(self, 'kernel', 1)"),) * 2,
        "fits",
        "",
    ),
    (
        "new at the tip",
        ("core = 1", "self.core = x"),
        (kernel(load="pass", apply="return x"), kernel()),
        "fits",
        "self.kernel",
    ),
]


@pytest.mark.parametrize(
    ("bodies", "upstream", "today", "told"), [row[1:] for row in LEFT_UNSET], ids=[row[0] for row in LEFT_UNSET]
)
def test_what_ours_does_not_set_and_another_method_needs(
    tmp_path: Path, bodies: tuple[str, str], upstream: tuple[str, str], today: str, told: str
) -> None:
    sides = [{"keel/run.py": text} for text in upstream]
    after: dict[str, str | None] = {**sides[1], "keel/x.py": ""}
    row = judge(tmp_path, sides[0], after, ours=UNSET.format(*bodies), target="keel.run.Run.load")
    parts = [
        part
        for one in row.findings
        for part in one.why.parts
        if part.reason in {Reason.LEAVES_UNSET, Reason.LEAVES_UNSET_STILL}
    ]
    assert (row.today, [(part.name, part.other) for part in parts]) == (today, [(told, "Run.apply")] if told else [])
    assert not told or row.severity == ("look" if today == "does-not-fit" else "breaks")


def slim(*attributes: str, head: str = "x", body: str = "print(x)") -> str:
    sets = "".join(f"        self.{name} = 1\n" for name in attributes)
    methods = f"    def __init__(self):\n{sets}        print()\n    def go(self, {head}):\n        {body}\n"
    return f"class Run:\n{methods}"


TAKES = "def ours(self, x, *rest, **more):\n    return x\n\nimport keel.run\nkeel.run.Run.go = ours\n"
TWO = "def ours(self, x):\n    return self.speed * self.size\n\nimport keel.run\nkeel.run.Run.go = ours\n"
MADE = "speed = 1\ndef go(run):\n    run.speed = 2\n"
WORDS = "a = one(x)\n        b = two(a)\n        return three(b)"
DIVERGED = [
    # (what it shows, ours, at the merge base, at the pin, on the tip's line one commit later, at the tip, the blamed)
    (
        "the branch of the pin had dropped a parameter",
        TAKES,
        slim(head="x, old=1"),
        slim(),
        slim("a", head="x, old=1"),
        slim("a", head="x, old=1, new=2"),
        "tip",
    ),
    (
        "the line of the tip never had the signature",
        TAKES,
        slim(head="x, old=1"),
        slim(),
        slim("a", head="x, old=1"),
        slim("b", head="x, old=1"),
        None,
    ),
    (
        "the signature of the pin came to the line of the tip, and went",
        TAKES,
        slim(head="x, old=1"),
        slim(),
        slim("a"),
        slim("a", head="x, old=1"),
        "tip",
    ),
    ("the line of the tip never had what we read", READS, slim(), slim("speed"), slim("a"), slim("b"), None),
    (
        "it went after it had come back",
        READS,
        slim(),
        slim("speed"),
        slim("speed", body="print(x, 1)"),
        slim("pace", body="print(x, 2)"),
        "tip",
    ),
    (
        "another body on the branch of the pin",
        TAKES,
        slim(body=WORDS.replace("one", "early")),
        slim(body=WORDS),
        slim(body=WORDS.replace("one", "early").replace("a =", "c = d =")),
        slim(body="return four(five(x))"),
        "tip",
    ),
    (
        "what we read is the reason, not another body",
        f"{READS}# {MADE}",
        slim("speed", body="print(x)"),
        slim("speed", body="print(x)"),
        slim("speed", body="print(x, 1)"),
        slim(body="print(x, 2)") + MADE,
        "tip",
    ),
    (
        "of two losses the first, though something may still set it",
        TWO,
        slim("speed", "size"),
        slim("speed", "size"),
        slim("size") + MADE,
        slim() + MADE,
        "between",
    ),
]


@pytest.mark.parametrize(
    ("ours", "base", "pin", "later", "tip", "blamed"), [row[1:] for row in DIVERGED], ids=[row[0] for row in DIVERGED]
)
def test_who_is_to_blame_stands_on_the_line_of_the_tip(
    tmp_path: Path, ours: str, base: str, pin: str, later: str, tip: str, blamed: str | None
) -> None:
    first, files, between, after = ({"keel/run.py": text} for text in (base, pin, later, tip))
    row = judge(tmp_path, files, {**after}, ours=ours, target="keel.run.Run.go", between=between, base=first)
    assert row.severity in {"breaks", "look"}, row.detail
    assert (row.culprit.subject if row.culprit else None) == blamed, row.detail


LOADS = "from keel.run import *\n"


def test_who_took_away_what_a_star_brought_is_told(tmp_path: Path) -> None:
    before = {"keel/api.py": LOADS, "keel/run.py": f"{RUN}\n\nother = 1\n"}
    between = {"keel/run.py": "other = 1\n"}
    row = judge(tmp_path, before, {"keel/run.py": "other = 2\n"}, target="keel.api.run", between=between)
    assert (row.kind, row.severity) == ("removed", "breaks"), row.detail
    assert row.culprit is not None
    assert row.culprit.subject == "between"


SET = "import torch\nclass Run(torch.nn.Module):\n    def __init__(self):\n        self.part = 1\n"
SETTING = [
    # (what it shows, the attribute we replace, upstream at the tip, why it is said to stay)
    ("set at pin and tip", "part", SET, "set-by-methods"),
    ("set by nobody", "other", SET, "from-outside"),
]


@pytest.mark.parametrize(("name", "tip", "code"), [row[1:] for row in SETTING], ids=[row[0] for row in SETTING])
def test_an_attribute_that_methods_set_is_a_member_of_the_class(tmp_path: Path, name: str, tip: str, code: str) -> None:
    row = judge(tmp_path, {"keel/run.py": SET}, {"keel/run.py": f"{tip}x = 1\n"}, target=f"keel.run.Run.{name}")
    assert (row.kind, codes(row)) == ("unchanged", [code])


def test_of_several_losses_the_first_is_to_blame(tmp_path: Path) -> None:
    """Our lines ask for `size` first; upstream took `speed` away first."""
    ours = "def ours(self, x):\n    return self.size * self.speed\n\nimport keel.run\nkeel.run.Run.go = ours\n"
    texts = [hold("size = self.speed", "print(x)"), hold("size", "print(x)"), hold("pace", "print(x)")]
    files = [{"keel/run.py": text} for text in texts]
    row = judge(tmp_path, files[0], {**files[2]}, ours=ours, target="keel.run.Run.go", between=files[1])
    assert row.culprit is not None
    assert (row.severity, row.culprit.subject) == ("breaks", "between")


def test_what_took_the_target_comes_after_what_took_what_we_read(tmp_path: Path) -> None:
    ours = "import keel.run\nfrom keel.base import Base\nclass Ours(Base):\n    pass\n\nkeel.run.Run = Ours\n"
    base = {"keel/base.py": "class Base:\n    def go(self, x):\n        return [x, 1]\n"}
    before, between = {**base, "keel/run.py": hold("size", "print(x)")}, {"keel/base.py": "other = 1\n"}
    row = judge(tmp_path, before, {"keel/run.py": "z = 1\n"}, ours=ours, target="keel.run.Run", between=between, at=3)
    assert row.culprit is not None
    assert (row.kind, row.severity, row.culprit.subject) == ("removed", "breaks", "between")
    told = {one.commit.subject: say(one.why) for one in row.causes}
    assert told["tip"] == "keel.run has no name Run"
    assert "keel.base.Base" in told["between"]


def test_a_missing_module_has_the_commit_that_removed_it_not_that_of_the_name(tmp_path: Path) -> None:
    row = judge(
        tmp_path,
        {"keel/deep/__init__.py": "", "keel/deep/run.py": f"{RUN}\n\nREST = 1\n"},
        {"keel/deep/run.py": None},
        target="keel.deep.run.run",
        between={"keel/deep/run.py": "REST = 1\n"},
    )
    assert row.culprit is not None
    assert (row.detail, row.culprit.subject) == ("the module keel.deep.run is gone", "between")
    told = [(say(one.why), one.commit.subject) for one in row.causes]
    assert told == [("upstream removed the name", "between"), ("the module keel.deep.run is gone", "tip")]


BODY_NAMES = [
    # (what it shows, the body at the pin, in between, at the tip, the first commit, each reason with its commit)
    (
        "what is told came later than the first change, though a text had the word before",
        "    'dive'\n    return [x, 1]\n",
        "    'dive'\n    return [x, 2]\n",
        "    'dive'\n    return [dive(x), 2]\n",
        "tip",
        [],
    ),
    (
        "two commits brought one name each",
        "    return [x, 1]\n",
        "    return [dive(x), 1]\n",
        "    return [dive(sail(x)), 1]\n",
        "between",
        [("its body now uses dive", "between"), ("its body now uses sail", "tip")],
    ),
    (
        "one name came, another went later",
        "    return [x, 1, len(x)]\n",
        "    return [dive(x), 1, len(x)]\n",
        "    return [dive(x), 1]\n",
        "between",
        [("its body now uses dive", "between"), ("its body no longer uses len", "tip")],
    ),
    ("no name came or went", "    return [x, 1]\n", "    return [x, 2]\n", "    return [x, 3]\n", "between", []),
]


@pytest.mark.parametrize(
    ("before", "between", "after", "first", "told"), [row[1:] for row in BODY_NAMES], ids=[row[0] for row in BODY_NAMES]
)
def test_names_of_a_body_have_the_commits_that_brought_them(
    tmp_path: Path, before: str, between: str, after: str, first: str, told: list[tuple[str, str]]
) -> None:
    texts = [f"def run(x):\n{body}" for body in (before, between, after)]
    ours = "def fast(x):\n    return [x, 4]\n"
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/run.py": texts[2]},
        ours=ours,
        between={"keel/run.py": texts[1]},
    )
    assert (row.kind, row.severity) == ("body-changed", "look")
    assert row.culprit is not None
    assert row.culprit.subject == first
    assert [(say(one.why), one.commit.subject) for one in row.causes] == told


def test_each_change_of_a_signature_has_its_commit(tmp_path: Path) -> None:
    texts = [RUN.replace("(x", f"(x{more}") for more in ("", ", keep=None", ", keep=None, every=None")]
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/run.py": texts[2]},
        ours="def fast(x):\n    return [x, 1]\n",
        between={"keel/run.py": texts[1]},
    )
    assert row.culprit is not None
    assert (row.kind, row.culprit.subject) == ("signature-changed", "between"), row.detail
    assert [(say(one.why), one.commit.subject) for one in row.causes][:2] == [
        ("parameter keep=None added", "between"),
        ("parameter every=None added", "tip"),
    ]


INNER = "def ours(x):\n    import keel.run\n    keel.run.go = ours\n    return x\n"


@pytest.mark.parametrize(("condition", "severity"), [(None, "breaks"), (HAS_RUN, "look")])
def test_what_a_replacement_does_stops_with_the_write_that_puts_it_in_place(
    tmp_path: Path, condition: Condition | None, severity: str
) -> None:
    before = {"keel/run.py": f"{RUN}\n\ndef go(x):\n    return x\n"}
    around = Effect(
        style=Style.BINDING_REPLACEMENT,
        target="keel.run.run",
        location=Location("harbour/patch.py", 9),
        replacement_at=Location("harbour/patch.py", 1),
        when=condition,
    )
    inner = (around,)
    row = judge(tmp_path, before, GONE, ours=INNER, target="keel.run.go", beside=inner)
    assert (row.location.line, row.severity) == (4, severity)


def test_a_call_into_a_lost_registry_is_judged_outside_registrations_too(tmp_path: Path) -> None:
    effect = Effect(
        style=Style.CONFIG_REWRITE,
        target=None,
        mutates=("keel.run.register('fast')",),
        location=Location("harbour/patch.py", 2),
    )
    assert find_target(effect) == "keel.run.register"
    row = judge(tmp_path, {"keel/run.py": "def register(x):\n    print(x)\n"}, GONE, target="", alone=effect)
    assert (row.target, row.kind, row.severity) == ("keel.run.register", "removed", "breaks")


def test_who_left_an_import_to_type_checkers_is_told(tmp_path: Path) -> None:
    pin = {"keel/run.py": "from keel.base import run\n", "keel/base.py": RUN}
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from keel.base import run\n"
    row = judge(tmp_path, pin, {"keel/run.py": f"{typed}x = 1\n"}, between={"keel/run.py": typed})
    assert (row.kind, row.severity) == ("binding-lost", "breaks")
    assert row.culprit is not None
    assert row.culprit.subject == "between"


def test_who_set_what_ours_does_not_is_told(tmp_path: Path) -> None:
    base = (
        "class Base:\n    def __init__(self, x):\n        self.x = x\n{}\n    def go(self):\n        return self.{}\n"
    )
    between = {"keel/run.py": base.format("        self.y = 1", "y")}
    tip = {"keel/run.py": base.format("        self.y = 2", "y")}
    ours = "def fast(self, x):\n    self.x = x\n"
    row = judge(
        tmp_path,
        {"keel/run.py": base.format("", "x")},
        {**tip},
        ours=ours,
        target="keel.run.Base.__init__",
        between=between,
    )
    assert row.severity == "breaks"
    assert row.culprit is not None
    assert row.culprit.subject == "between"


def test_a_member_of_a_class_that_is_no_longer_imported(tmp_path: Path) -> None:
    base = "class Base:\n    def go(self, x):\n        return x\n"
    before = {"keel/base.py": base, "keel/run.py": "from keel.base import Base\n"}
    between = {"keel/base.py": base.replace("return x", "return [x]")}
    after = {"keel/run.py": "class Own:\n    def go(self, x):\n        return x\n"}
    row = judge(tmp_path, before, {**after}, target="keel.run.Base.go", between=between)
    assert (row.kind, row.severity) == ("binding-lost", "breaks")
    assert row.culprit is not None
    assert row.culprit.subject == "tip"
    assert row.suggestion is not None
    assert row.suggestion.target == "keel.base.Base.go"


HEIR = "from keel.base import Base\nclass Run(Base):\n    pass\n"
NO_LONGER_OF_IT = [
    # (what it shows, upstream's heir at the tip, what holds the attribute, kind, severity, reasons)
    ("a function now", "def Run():\n    return 1\n", None, "removed", "breaks", ["other-kind"]),
    (
        "an object of what it makes",
        "def Run():\n    return 1\n",
        Holder.OBJECT,
        "unresolved",
        "look",
        ["other-kind", "result-unknown"],
    ),
    ("a class that went", "x = 1\n", None, "removed", "breaks", ["class-gone"]),
    ("another base", "class Run:\n    pass\n", None, "removed", "breaks", ["no-longer-inherits"]),
]


@pytest.mark.parametrize(
    ("after", "holder", "kind", "severity", "reasons"),
    [row[1:] for row in NO_LONGER_OF_IT],
    ids=[row[0] for row in NO_LONGER_OF_IT],
)
def test_a_member_whose_class_stays_is_lost_by_the_heir(
    tmp_path: Path, after: str, holder: Holder | None, kind: str, severity: str, reasons: list[str]
) -> None:
    base = "class Base:\n    def go(self, x):\n        return x\n"
    before = {"keel/base.py": base, "keel/run.py": HEIR}
    row = judge(tmp_path, before, {"keel/run.py": after}, target="keel.run.Run.go", holder=holder)
    assert (row.kind, row.severity, codes(row)) == (kind, severity, reasons)


CREW = "import torch\n\n\nclass Crew(torch.Module):\n    def __init__(self, deep, far):\n        self.deep = [deep, far]\n\n"
CREW += f"    def go(self, x):\n{BODY.replace('    ', '        ')}"
ALONE = CREW.replace("(torch.Module)", "")
MOVED_CLASS = [
    # (what it shows, what holds the attribute, the member, the class and its new home, kind and severity, suggestion)
    ("on the class", None, "go", (CREW, CREW), ("moved", "breaks"), "keel.deep.Crew.go"),
    ("on an object", Holder.OBJECT, "go", (CREW, CREW), ("moved", "ok"), "keel.deep.Crew.go"),
    ("what another package may give its objects", Holder.OBJECT, "tie", (CREW, CREW), ("moved", "ok"), None),
    (
        "what it lost",
        Holder.OBJECT,
        "go",
        (ALONE, ALONE.replace("def go", "def went")),
        ("removed", "breaks"),
        "keel.deep.Crew",
    ),
]


@pytest.mark.parametrize(
    ("holder", "member", "homes", "told", "suggested"),
    [row[1:] for row in MOVED_CLASS],
    ids=[row[0] for row in MOVED_CLASS],
)
def test_a_write_to_an_object_outlives_the_name_of_its_class(
    tmp_path: Path,
    holder: Holder | None,
    member: str,
    homes: tuple[str, str],
    told: tuple[str, str],
    suggested: str | None,
) -> None:
    before, after = {"keel/run.py": homes[0]}, {"keel/run.py": None, "keel/deep.py": homes[1]}
    ours = "def go(self, x):\n    return x\n"
    row = judge(tmp_path, before, after, target=f"keel.run.Crew.{member}", holder=holder, ours=ours)
    assert ((row.kind, row.severity), row.suggestion and row.suggestion.target) == (told, suggested), row.detail


LACKS_DASH = negate(Condition(kind=ConditionKind.NAME, text="keel.run.dash"))
FILLS = [
    # (what it shows, condition, what upstream has at the tip, kind, severity, whether the patch can be deleted)
    ("no guard", None, {}, "dead-at-pin", "look", False),
    ("asks whether it is there", need_name("keel.run.dash"), {}, "dead-at-pin", "look", False),
    ("asks whether it is missing", LACKS_DASH, {}, "external", "ok", False),
    ("and the tip has it", LACKS_DASH, {"keel/run.py": f"{RUN}def dash(x):\n    return x\n"}, "external", "ok", True),
]


@pytest.mark.parametrize(
    ("shows", "condition", "after", "kind", "severity", "can_go"), FILLS, ids=[row[0] for row in FILLS]
)
def test_what_is_added_where_it_is_missing_is_not_dead(
    tmp_path: Path,
    shows: str,
    condition: Condition | None,
    after: dict[str, str | None],
    kind: str,
    severity: str,
    can_go: bool,
) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, after, target="keel.run.dash", condition=condition)
    assert (row.kind, row.severity, row.today == "dead") == (kind, severity, kind == "dead-at-pin")
    assert (row.retire is not None) is can_go


OUTSIDE = [
    # (what it shows, target, kind)
    ("its class is upstream's", "keel.model.Model.state_dict", "unchanged"),
    ("another package's, through a name of upstream's", "keel.model.nn.Linear", "external"),
]


@pytest.mark.parametrize(("shows", "target", "kind"), OUTSIDE, ids=[row[0] for row in OUTSIDE])
def test_a_member_that_another_package_may_have_stands_with_its_class(
    tmp_path: Path, shows: str, target: str, kind: str
) -> None:
    model = {"keel/model.py": "from torch import nn\n\n\nclass Model(nn.Module):\n    size = 1\n"}
    row = judge(tmp_path, model, {}, target=target)
    assert (row.kind, row.severity) == (kind, "ok")


def test_a_name_of_a_module_we_make_is_no_patch_of_upstream(tmp_path: Path) -> None:
    uses = {"keel/__init__.py": "from keel.use import go\n", "keel/use.py": USE}
    row = judge(tmp_path, {"keel/run.py": RUN, **uses}, {"keel/run.py": NEW}, holder=Holder.STAND_IN)
    assert (row.kind, row.severity, codes(row)) == ("external", "ok", ["stand-in"])


DASH = {"keel/run.py": RUN + "\n\ndef dash(x):\n    return x\n"}
LATER: list[tuple[str, dict[str, str] | None, dict[str, str | None], str]] = [
    ("the tip has it", None, {**DASH}, "comes-later"),
    ("nobody has it", None, {"keel/run.py": RUN.replace("+=", "-=")}, "never-had"),
    ("a version on the way had it", DASH, {"keel/run.py": RUN}, "came-and-went"),
]


@pytest.mark.parametrize(("shows", "between", "after", "said"), LATER, ids=[row[0] for row in LATER])
def test_what_comes_after_the_pin_is_no_typo(
    tmp_path: Path, shows: str, between: dict[str, str] | None, after: dict[str, str | None], said: str
) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, after, target="keel.run.dash", between=between)
    assert row.dead_today
    assert said in codes(row)
    assert len({"comes-later", "never-had", "came-and-went"} & set(codes(row))) == 1


def test_a_probe_is_no_typo(tmp_path: Path) -> None:
    asked = Condition(kind=ConditionKind.NAME, text="keel.run.dash")
    row = judge(tmp_path, {"keel/run.py": RUN}, {}, target="keel.run.dash", condition=asked)
    assert {"never-had-asked"} == {"never-had", "never-had-asked", "typo"} & set(codes(row))


def test_of_imports_that_fail_before_an_object_is_written_to_the_one_that_explains_it_is_told(tmp_path: Path) -> None:
    before = {
        "keel/run.py": "from hub import Base\n\nclass Run(Base):\n    def __init__(self):\n        self.speed = 1\n",
        "keel/a.py": "a = 1\n",
        "keel/b.py": "b = 1\n",
    }
    ours = f"from keel.a import a\nfrom keel.b import b\n\n\n{OURS}"
    row = judge(
        tmp_path,
        before,
        {"keel/a.py": None},
        ours=ours,
        target="keel.run.Run.speed",
        holder=Holder.OBJECT,
        between={"keel/b.py": "c = 1\n"},
        at=5,
    )
    assert row.severity == "breaks"
    assert row.comparison is not None
    assert row.comparison.before.module is None
    root = explain(row)
    # what explains the row is told first; the commit is the first that broke it, and each import has its own
    assert (root.name if root else None, row.culprit.subject if row.culprit else None) == ("keel.a", "between")
    assert [one.commit.subject for one in row.causes] == ["tip", "between"], row.detail


ASKS = [
    # (what it shows, our condition, whether upstream had the name before the pin, how bad it is)
    ("asks for what upstream had", need_name("keel.run.dash"), True, "ok"),
    (
        "asks for it on one way of two",
        Condition(kind=ConditionKind.ANY, parts=(need_name("keel.run.dash"), OLD)),
        True,
        "look",
    ),
    ("asks for something else", need_name("keel.run.run"), True, "look"),
    ("asks for what upstream never had", need_name("keel.run.dash"), False, "look"),
    ("asks for nothing", None, True, "look"),
]


@pytest.mark.parametrize(("condition", "had", "severity"), [row[1:] for row in ASKS], ids=[row[0] for row in ASKS])
def test_a_write_for_older_versions_that_asks_first_can_go(
    tmp_path: Path, condition: Condition | None, had: bool, severity: str
) -> None:
    base: dict[str, str] = {**DASH} if had else {"keel/run.py": RUN}
    plain: dict[str, str] = {"keel/run.py": RUN.replace("+=", "-=")}
    row = judge(tmp_path, plain, {**plain}, target="keel.run.dash", base=base, condition=condition)
    assert (row.kind, row.severity, row.retire is not None) == ("dead-at-pin", severity, severity == "ok"), row.detail


def test_a_function_is_no_class_under_another_name(tmp_path: Path) -> None:
    body = "".join(f"    one{n} = [x, {n}]\n    print(one{n}, 'mast')\n" for n in range(9)) + "    return [one1, x]\n"
    row = judge(
        tmp_path,
        {"keel/run.py": "class Ship:\n    def __init__(self, x):\n        self.x = x\n"},
        {"keel/run.py": f"def make_ship(x):\n{body}"},
        ours="class Fast:\n    pass\n",
        target="keel.run.Ship",
        between={"keel/run.py": f"def Ship(x):\n{body}"},
    )
    assert (row.kind, row.suggestion, "made-by-function" in codes(row)) == ("removed", None, True), row.detail


NORM = "class Norm:\n    def forward(self, x):\n        return x\n"
BOUND_BEFORE = [
    # (what it shows, the name, what the file was before it went, step by step, the step that took it away)
    ("a class that became an import", "Norm", [NORM, "from keel.norm import Norm\n", "x = 1\n"], 2),
    ("a class alone", "Norm.forward", [NORM, "x = 1\n", "x = 2\n"], 1),
    ("a member alone", "Norm.forward", [NORM, "class Norm:\n    pass\n", "x = 2\n"], 1),
    ("an import says nothing of members", "Norm.go", ["from keel.norm import Norm\n", "x = 1\n", "x = 2\n"], None),
]


@pytest.mark.parametrize(
    ("name", "texts", "step"), [row[1:] for row in BOUND_BEFORE], ids=[row[0] for row in BOUND_BEFORE]
)
def test_a_name_is_there_as_long_as_something_binds_it(
    tmp_path: Path, name: str, texts: list[str], step: int | None
) -> None:
    upstream = History.start(tmp_path / "up")
    commits = [upstream.commit(str(number), {"keel/run.py": text}) for number, text in enumerate(texts)]
    repository = open_repository(upstream.path)
    timeline = read_timeline(repository, None, commits[-1], ("keel/run.py",))
    found = find_last(timeline, [(("keel/run.py", name),)], repository)
    assert list(found.values()) == ([] if step is None else [commits[step]])


HANDED_ON = [
    # (what it shows, members of the class in its first file, and in the file it moved to at the pin, the step that is told)
    ("upstream never had it", "pass", "pass", None),
    ("it went where the class moved", "def go(self): pass", "pass", "1"),
    ("it went later, in the new file", "def go(self): pass", "def go(self): pass", "2"),
]


@pytest.mark.parametrize(("first", "moved", "step"), [row[1:] for row in HANDED_ON], ids=[row[0] for row in HANDED_ON])
def test_a_member_of_a_class_that_is_handed_on_is_sought_where_the_class_was(
    tmp_path: Path, first: str, moved: str, step: str | None
) -> None:
    """Six added methods were said to have been removed by the last commit that touched a file which imports their class."""
    alias = "from keel.pull import Pull\nNorm = Pull\n"
    past = (
        {"keel/hand.py": "from keel.norm import Norm\n", "keel/norm.py": f"class Norm:\n    {first}\n"},
        {"keel/norm.py": alias, "keel/pull.py": f"class Pull:\n    {moved}\n"},
        {"keel/hand.py": "from keel.norm import Norm\nx = 1\n", "keel/pull.py": "class Pull:\n    pass\n"},
        {"keel/hand.py": "from keel.norm import Norm\nx = 2\n"},
    )
    row = judge(tmp_path, {"keel/run.py": RUN}, {}, target="keel.hand.Norm.go", past=past)
    told = [one.why.text for one in row.findings if one.why.reason is Reason.HAD_UNTIL]
    assert told == ([step] if step else []), row.detail


INHERITS = "class Norm(Base):\n    pass\n"
ENDS = [
    # (what it shows, what upstream had step by step, our condition, the step that took away what is told to be missing)
    ("asks for the class", [NORM, INHERITS, "x = 1\n", "x = 2\n"], need_name("keel.norm.Norm"), "2"),
    ("asks for nothing", [NORM, INHERITS, "x = 1\n", "x = 2\n"], None, "2"),
    ("only ever inherited", [INHERITS, "x = 1\n", "x = 2\n"], None, "1"),
    ("the class stays", [NORM, "class Norm:\n    pass\n", "class Norm:\n    x = 1\n"], None, "1"),
    ("the class stays, asked for", [NORM, "class Norm:\n    x = 1\n"], need_name("keel.norm.Norm.forward"), "1"),
]


@pytest.mark.parametrize(("steps", "condition", "step"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
def test_the_removal_told_is_that_of_the_name_that_is_missing(
    tmp_path: Path, steps: list[str], condition: Condition | None, step: str
) -> None:
    past = tuple({"keel/norm.py": text} for text in steps)
    row = judge(tmp_path, {"keel/run.py": RUN}, {}, target="keel.norm.Norm.forward", condition=condition, past=past)
    told = [one.why.text for one in row.findings if one.why.reason is Reason.HAD_UNTIL]
    assert told == [step], row.detail


GOING = [
    # (what it shows, the class at the pin's successor, who is to blame for its member)
    ("the member went before its class", "class Norm(Base):\n    x = 1\n", "tip"),
    ("the member went with its class", NORM.replace("return x", "return -x"), "tip"),
]


@pytest.mark.parametrize(("between", "culprit"), [row[1:] for row in GOING], ids=[row[0] for row in GOING])
def test_who_took_the_class_away_is_to_blame_where_that_is_the_reason(
    tmp_path: Path, between: str, culprit: str
) -> None:
    row = judge(
        tmp_path,
        {"keel/norm.py": NORM},
        {"keel/norm.py": "x = 1\n"},
        target="keel.norm.Norm.forward",
        between={"keel/norm.py": between},
    )
    assert (codes(row), row.culprit.subject if row.culprit else None) == (["class-gone"], culprit), row.detail


BODIES = [
    ("a call came", RUN.replace("total += step * x", "total += weigh(step, x)"), "its body now uses weigh"),
    ("a call went", RUN.replace("range(x)", "x"), "its body no longer uses range"),
    ("only figures", RUN.replace("total = 0", "total = 1"), "1 line of its body changed"),
    (
        "figures and what people read",
        RUN.replace("    total = 0", '    """Add.\n\n    All.\n    """\n    total = 1'),
        "1 line of its body changed",
    ),
]


@pytest.mark.parametrize(("shows", "text", "said"), BODIES, ids=[row[0] for row in BODIES])
def test_another_body_is_told_in_one_line(tmp_path: Path, shows: str, text: str, said: str) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, {"keel/run.py": text})
    assert (row.kind, row.severity) == ("body-changed", "look")
    assert row.detail == said


SPAR = "from keel.deco import old\n\n\n{}class Spar:\n{}    def __init__(self, x):\n        self.x = x\n"
DECORATED = [
    # (what it shows, the class at pin and tip, whose decorators are said to have changed)
    ("those of its constructor", SPAR.format("", "    @old\n"), SPAR.format("", ""), "keel.run.Spar.__init__"),
    ("its own", SPAR.format("@old\n", ""), SPAR.format("", ""), "keel.run.Spar"),
    ("both", SPAR.format("@old\n", "    @old\n"), SPAR.format("", ""), "keel.run.Spar"),
]


@pytest.mark.parametrize(("pin", "tip", "said"), [row[1:] for row in DECORATED], ids=[row[0] for row in DECORATED])
def test_other_decorators_are_told_of_what_they_stand_on(tmp_path: Path, pin: str, tip: str, said: str) -> None:
    deco = "def old(f):\n    return lambda *a: f(*a)\n"
    row = judge(
        tmp_path, {"keel/run.py": pin, "keel/deco.py": deco}, {"keel/run.py": tip}, target="keel.run.Spar", ours=pin
    )
    assert say_row(row).startswith(f"the decorators of {said} changed"), row.detail


ADDED = [
    # (what it shows, what upstream has under the name that our code adds where it is missing, whether it can go)
    ("a table", "TABLE = {1: 2}\n", True),
    ("an annotated list", "TABLE: list = []\n", True),
    ("nothing yet", "TABLE = None\n", False),
    ("what a call makes", "TABLE = make()\n", False),
    ("in one branch", "if fast:\n    TABLE = {}\n", False),
]


@pytest.mark.parametrize(("text", "goes"), [row[1:] for row in ADDED], ids=[row[0] for row in ADDED])
def test_a_table_that_is_there_needs_no_addition(tmp_path: Path, text: str, goes: bool) -> None:
    missing = negate(need_name("keel.run.TABLE"))
    tip: dict[str, str | None] = {"keel/run.py": text.replace("2", "3")}
    row = judge(tmp_path, {"keel/run.py": text}, tip, target="keel.run.TABLE", condition=missing)
    assert (row.retire is not None) is goes, row.detail


TABLE = 'TABLE = {\n    "a": 1,\n    "b": 2,\n    # ours\n    "c": """one\n    two""",\n}\n'
TABLES = [
    # (what it shows, a literal of upstream's at the tip, how many of its lines are others)
    ("one entry", TABLE.replace("1", "3"), 1),
    ("two entries came", TABLE.replace('"b": 2,', '"b": 2,\n    "d": 4,\n    "e": 5,'), 2),
    ("one went and two came", TABLE.replace('"b": 2,', '"d": 4,\n    "e": 5,'), 2),
    ("a line of a long text", TABLE.replace("two", "three"), 1),
    (
        "another spelling and one entry",
        TABLE.replace("    # ours\n", "").replace('    "b"', '  "b"').replace("1", "3"),
        1,
    ),
]


@pytest.mark.parametrize(("text", "number"), [row[1:] for row in TABLES], ids=[row[0] for row in TABLES])
def test_lines_of_a_literal_are_counted_as_they_stand_in_the_source(tmp_path: Path, text: str, number: int) -> None:
    row = judge(tmp_path, {"keel/run.py": TABLE}, {"keel/run.py": text}, target="keel.run.TABLE")
    told = [one.why for one in row.findings if one.why.reason in {Reason.BODY_LINE, Reason.BODY_LINES}]
    assert [one.counts for one in told] == [(number,)], row.detail


NEW = f"def run(x, mode=None):\n{BODY}"
CALLED = [
    ("nothing names it", {}, True),
    ("imported and called", {"keel/use.py": USE}, False),
    ("only a table names it", {"keel/table.py": 'TABLE = {"run": "keel.run:run"}\n'}, False),
    ("taken from the module", {"keel/deep.py": "import keel.run as r\n\n\ndef f(name):\n    return r.run\n"}, False),
]


@pytest.mark.parametrize(("shows", "more", "uncalled"), CALLED, ids=[row[0] for row in CALLED])
def test_uncalled_is_said_only_where_no_call_can_be(
    tmp_path: Path, shows: str, more: dict[str, str], uncalled: bool
) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN, **more}, {"keel/run.py": NEW})
    assert ("uncalled" in codes(row)) is uncalled


CALLS = f"def run(x, mode=None, keep=None):\n{BODY}\n\ndef go():\n    return run(3{{}})\n"
REFUSED = [
    # (what it shows, pin's call, tip's call, severity, today, codes that must be there)
    ("never passed", "", "", "ok", "fits", set()),
    ("passed at the tip", "", ", mode=1", "breaks", "fits", {"misfits-passed"}),
    ("passed today already", ", mode=1", ", mode=1", "look", "does-not-fit", {"misfits-today"}),
    ("another one at the tip", ", mode=1", ", mode=1, keep=2", "breaks", "does-not-fit", {"misfits-today"}),
]


@pytest.mark.parametrize(
    ("shows", "then", "now", "severity", "today", "said"), REFUSED, ids=[row[0] for row in REFUSED]
)
def test_calls_decide_also_where_the_signature_stays(
    tmp_path: Path, shows: str, then: str, now: str, severity: str, today: str, said: set[str]
) -> None:
    row = judge(tmp_path, {"keel/run.py": CALLS.format(then)}, {"keel/run.py": CALLS.format(now)})
    assert (row.severity, row.today) == (severity, today)
    assert said <= set(codes(row))


AS_VALUE = [
    # (what it shows, upstream's code where `{}` is what the tip passes more, severity, what is said)
    ("a local name", "def go(x):\n    step = run\n    return step(x{})", "breaks", "misfits-passed"),
    ("one of two", "def go(x, fast):\n    step = run if fast else len\n    return step(x{})", "look", "misfits-maybe"),
    ("set twice", "def go(x):\n    step = run\n    step = len\n    return step(x{})", "look", "misfits-handed"),
    ("bound", "def go(x):\n    return partial(run{})(x)", "breaks", "misfits-passed"),
    ("a helper calls it", "def help(f, x):\n    f(x{})\n\n\ndef go(x):\n    help(run, x)", "breaks", "misfits-passed"),
    ("by a keyword", "def help(x, f):\n    f(x{})\n\n\ndef go(x):\n    help(x, f=run)", "breaks", "misfits-passed"),
    ("a helper keeps it", "def help(f, x):\n    x.f = f\n\n\ndef go(x):\n    help(run, x{})", "look", "misfits-handed"),
    ("in a table", "TABLE = [run]\n\n\ndef go(x):\n    return TABLE[0](x{})", "look", "misfits-handed"),
    (
        "handed back",
        "def pick():\n    return run, 1\n\n\ndef go(x):\n    return pick()[0](x{})",
        "look",
        "misfits-handed",
    ),
    ("a default", "def go(x, f=run):\n    return f(x{})", "look", "misfits-handed"),
    ("asked about", "def go(x):\n    return callable(run) and run.__name__", "look", "misfits-unpassed"),
    ("another of that name", "def go(x, run):\n    step = run\n    return step(x{})", "look", "misfits-unpassed"),
    ("as a type", "def go(x: run):\n    return isinstance(x, run)", "look", "misfits-unpassed"),
]


@pytest.mark.parametrize(("code", "severity", "said"), [row[1:] for row in AS_VALUE], ids=[row[0] for row in AS_VALUE])
def test_calls_of_what_stands_for_a_function_count(tmp_path: Path, code: str, severity: str, said: str) -> None:
    begin = f"from functools import partial\n\n\ndef run(x{{}}):\n{BODY}\n\n{code}\n"
    then, now = {"keel/run.py": begin.format("", "")}, {"keel/run.py": begin.format(", m=None", ", m=1")}
    row = judge(tmp_path, then, {**now})
    assert (row.severity, said in codes(row)) == (severity, True), row.detail


BOX = """\
class Box:
    def __init__(self, x):
        self.x = x

    def go(self, a{0}):
        return self.hold(a{1})

    def hold(self, a{2}):
        return a


def use(box: Box):
    return box.go(2{3})
"""
OUR_BOX = """\
class Ours{}:
    def __init__(self, x):
        self.x = x

    def go(self, a):
        return self.hold(a)

    def hold(self, a):
        return a
"""
MORE_OF_IT = "\n    def more(self):\n        return 1\n\n\ndef use("
MEMBERS = [
    # (what it shows, what stands above ours, upstream's class at the tip, severity, what is said)
    ("passed", "", BOX.format(", m=None", "", "", ", m=1"), "breaks", "member-refuses"),
    ("needed", "", BOX.format(", m", "", "", ", 1"), "breaks", "member-refuses"),
    ("not passed", "", BOX.format(", m=None", "", "", ""), "look", ""),
    ("passed by the class itself", "", BOX.format("", ", m=1", ", m=None", ""), "look", ""),
    ("below upstream's", "(Box)", BOX.format(", m=None", "", "", ", m=1"), "look", ""),
    (
        "new and called",
        "",
        BOX.format("", "", "", "").replace("\n\ndef use(", MORE_OF_IT).replace("box.go(2)", "box.more()"),
        "look",
        "member-missing",
    ),
    ("new", "", BOX.format("", "", "", "").replace("\n\ndef use(", MORE_OF_IT), "look", ""),
    (
        "new and called, and ours may have it",
        "(Other)",
        BOX.format("", "", "", "").replace("\n\ndef use(", MORE_OF_IT).replace("box.go(2)", "box.more()"),
        "look",
        "",
    ),
]


@pytest.mark.parametrize(
    ("above", "tip", "severity", "said"), [row[1:] for row in MEMBERS], ids=[row[0] for row in MEMBERS]
)
def test_a_class_in_the_place_of_another_is_judged_method_by_method(
    tmp_path: Path, above: str, tip: str, severity: str, said: str
) -> None:
    ours = f"from keel.run import Box\nfrom here import Other\n\n\n{OUR_BOX.format(above)}"
    pin = BOX.format("", "", "", "")
    between = {"keel/run.py": pin.replace("return a\n", "return a + 0\n")}
    row = judge(
        tmp_path, {"keel/run.py": pin}, {"keel/run.py": tip}, ours=ours, target="keel.run.Box", at=5, between=between
    )
    assert (row.severity, "".join(one for one in codes(row) if one.startswith("member"))) == (severity, said), (
        row.detail
    )
    assert row.culprit is not None
    assert row.culprit.subject == ("tip" if said else "between")


TURNED = "x, keep=None, mode=None"
BOUND = [
    # (what it shows, our parameters, pin's call, tip's call, severity, what is said of our replacement)
    ("by position and by keyword", TURNED, "", ", 1, keep=2", "breaks", "gets keep twice, by position and by keyword"),
    (
        "twice today already",
        TURNED,
        ", 1, keep=2",
        ", 1, keep=2",
        "look",
        "gets keep twice, by position and by keyword",
    ),
    ("each once", TURNED, "", ", mode=1, keep=2", "ok", ""),
    (
        "more positions than ours has",
        "x, *, mode=None, keep=None",
        "",
        ", 1",
        "breaks",
        "takes at most 1 positional argument and gets 2",
    ),
    ("what ours takes by position, too", "x, mode=None, *, keep=None", "", ", 1, keep=2", "ok", ""),
    ("what upstream does not take itself", TURNED, "", ", 1, mode=2", "ok", ""),
]


@pytest.mark.parametrize(
    ("takes", "then", "now", "severity", "said"), [row[1:] for row in BOUND], ids=[row[0] for row in BOUND]
)
def test_a_call_must_bind_to_ours_as_a_whole(
    tmp_path: Path, takes: str, then: str, now: str, severity: str, said: str
) -> None:
    ours = f"import keel.run\n\n\ndef fast({takes}):\n    return x\n\n\nkeel.run.run = fast\n"
    row = judge(tmp_path, {"keel/run.py": CALLS.format(then)}, {"keel/run.py": CALLS.format(now)}, ours=ours, at=4)
    assert row.severity == severity
    assert said in row.detail


SHIP = "class Ship:\n    def __init__(self):\n        self.kind = 1\n\n    def sail(self, x):\n        return {read}\n"
SETS = "def mark(config):\n    config.kind = 2\n"
READ_LOST = [
    # (what it shows, the class at the tip, what else sets it at the pin, at the tip, severity)
    (
        "a longer word is another",
        SHIP.format(read="self.kinds").replace("self.kind =", "self.kinds ="),
        "",
        "",
        "breaks",
    ),
    ("the class still reads it", SHIP.format(read="self.kind").replace("self.kind = 1", "pass"), "", "", "look"),
    ("set on something else all along", SHIP.format(read="x").replace("self.kind = 1", "pass"), SETS, SETS, "breaks"),
    ("set from outside now", SHIP.format(read="x").replace("self.kind = 1", "pass"), "", SETS, "look"),
]


@pytest.mark.parametrize(
    ("ship", "then", "now", "severity"), [row[1:] for row in READ_LOST], ids=[row[0] for row in READ_LOST]
)
def test_what_ours_reads_and_nothing_sets_any_more_breaks(
    tmp_path: Path, ship: str, then: str, now: str, severity: str
) -> None:
    before = {"keel/run.py": SHIP.format(read="self.kind"), "keel/mark.py": then}
    ours = "def fast(self, x):\n    return self.kind\n"
    row = judge(tmp_path, before, {"keel/run.py": ship, "keel/mark.py": now}, ours=ours, target="keel.run.Ship.sail")
    assert row.severity == severity


TURN = "\n\n\ndef turn(x, ship):\n    return ship.kind\n"
HELPERS = [
    # (what it shows, our file, severity; the tip sets no `kind` on ships)
    ("a helper reads it", f"def fast(self, x):\n    return turn(x, self){TURN}", "breaks"),
    ("a helper is given something else", f"def fast(self, x):\n    return turn(self, x){TURN}", "ok"),
    ("ours sets it before", f"def fast(self, x):\n    self.kind = 1\n    return turn(x, self){TURN}", "ok"),
    (
        "a helper sets it itself",
        f"def fast(self, x):\n    return turn(x, self){TURN.replace('return', 'ship.kind = x; return')}",
        "ok",
    ),
]


@pytest.mark.parametrize(("ours", "severity"), [row[1:] for row in HELPERS], ids=[row[0] for row in HELPERS])
def test_what_a_helper_reads_of_our_object_is_read_by_ours(tmp_path: Path, ours: str, severity: str) -> None:
    before = {"keel/run.py": SHIP.format(read="x")}
    after: dict[str, str | None] = {"keel/run.py": SHIP.format(read="x").replace("self.kind = 1", "pass")}
    row = judge(tmp_path, before, after, ours=ours, target="keel.run.Ship.sail")
    assert row.severity == severity, row.detail


def test_who_does_not_know_the_class_sets_nothing_on_its_objects(tmp_path: Path) -> None:
    ours = "def fast(self, x):\n    return self.kind\n"
    after: dict[str, str | None] = {
        "keel/run.py": SHIP.format(read="x").replace("self.kind = 1", "pass"),
        "keel/far/mark.py": SETS,
    }
    before = {"keel/run.py": SHIP.format(read="self.kind")}
    assert judge(tmp_path, before, after, ours=ours, target="keel.run.Ship.sail").severity == "breaks"


NEVER = [
    # (what it shows, condition; pin 1.0, tip 2.0; severity, today)
    ("written for older versions", need_version("keel.__version__", "<", "0.5"), "ok", "not-run"),
    ("asks for a name that neither has", HAS_RUN, "look", "dead"),
]


@pytest.mark.parametrize(("condition", "severity", "today"), [row[1:] for row in NEVER], ids=[row[0] for row in NEVER])
def test_a_write_that_runs_nowhere_asks_for_no_look(
    tmp_path: Path, condition: Condition, severity: str, today: str
) -> None:
    text = {"keel/run.py": "other = 1\n"}
    target = "keel.run.run" if condition is HAS_RUN else "keel.run.other"
    row = judge(tmp_path, text, {"keel/run.py": "other = 2\n"}, condition=condition, target=target)
    assert (row.severity, row.today) == (severity, today)


STUB = "class Ship:\n    def sail(self, x):\n        return self.turn(x)\n\n    def turn(self, x):\n        return x\n"
UNRUN = STUB.replace("self.turn(x)", "x").replace("        return x\n", "        return x + 1\n")
UNCALLED = [
    # (what it shows, upstream at the tip, a module beside it, whether it is said)
    ("no longer called", UNRUN, "", True),
    ("called elsewhere", UNRUN, "def go(ship):\n    return ship.turn(1)\n", False),
    ("called by a class beside it", UNRUN, STUB.replace("Ship", "Boat").replace("return x", "return 2"), True),
    (
        "called by an heir",
        UNRUN,
        "from keel.run import Ship\n\n\nclass Boat(Ship):\n    def go(self):\n        self.turn(1)\n",
        False,
    ),
    ("asked for by text", UNRUN, "def go(ship):\n    return getattr(ship, 'turn')(1)\n", False),
    ("named in a message alone", UNRUN.replace("return x + 1", "raise ValueError(f'{x}.turn is old')"), "", True),
    ("called as before", STUB.replace("return x\n", "return x + 1\n"), "", False),
]


@pytest.mark.parametrize(("tip", "beside", "said"), [row[1:] for row in UNCALLED], ids=[row[0] for row in UNCALLED])
def test_a_method_that_upstream_no_longer_calls_is_told(tmp_path: Path, tip: str, beside: str, said: bool) -> None:
    ours = "def fast(self, x):\n    return x\n"
    after: dict[str, str | None] = {"keel/run.py": tip, "keel/beside.py": beside}
    row = judge(tmp_path, {"keel/run.py": STUB}, after, ours=ours, target="keel.run.Ship.turn")
    assert ("no-longer-called" in codes(row)) is said


OWN_CALLS = [
    # (what it shows, our replacement, severity; the tip takes `deep` away, and returns two values)
    ("passes what is gone", "from keel.help import dive\n\n\ndef fast(x):\n    return dive(x, deep=1)\n", "breaks"),
    ("through a module", "import keel.help\n\n\ndef fast(x):\n    return keel.help.dive(x, deep=1)\n", "breaks"),
    ("passes what stays", "from keel.help import dive\n\n\ndef fast(x):\n    return dive(x)\n", "ok"),
    (
        "for other versions",
        (
            "import keel\nfrom packaging.version import Version\nfrom keel.help import dive\n\n\ndef fast(x):\n"
            "    if Version(keel.__version__) < Version('1.5'):\n        return dive(x, deep=1)\n    return dive(x)\n"
        ),
        "ok",
    ),
    (
        "passes what a decorator took",
        "from keel.help import haul\n\n\ndef fast(x):\n    return haul(line=x)\n",
        "breaks",
    ),
    (
        "imported around it",
        "def go():\n    from keel.help import haul\n\n    def fast(x):\n        return haul(line=x)\n",
        "breaks",
    ),
    ("what no decorator named", "from keel.help import haul\n\n\ndef fast(x):\n    return haul(far=x)\n", "ok"),
    ("uses one value", "from keel.help import raft\n\n\ndef fast(x):\n    y = raft(x)\n    return y\n", "breaks"),
    ("hands it on", "from keel.help import raft\n\n\ndef fast(x):\n    return raft(x)\n", "ok"),
]


@pytest.mark.parametrize(("ours", "severity"), [row[1:] for row in OWN_CALLS], ids=[row[0] for row in OWN_CALLS])
def test_a_call_in_ours_must_fit_upstream(tmp_path: Path, ours: str, severity: str) -> None:
    line = [text.strip() for text in ours.splitlines()].index("def fast(x):") + 1
    raft = "def raft(x):\n    return x\n\n\ndef go(x):\n    y = raft(x)\n    return y\n"
    pair = "def raft(x):\n    return x, 1\n\n\ndef go(x):\n    y, _ = raft(x)\n    return y\n"
    haul = "def haul(rope, **kept):\n    return rope\n"
    took = f"from keel.old import renames\n\n\n@renames('line', new='rope')\n{haul}"
    before = {"keel/run.py": RUN, "keel/help.py": f"{took}\n\ndef dive(x, deep=0):\n    return x\n\n\n{raft}"}
    after: dict[str, str | None] = {"keel/help.py": f"{haul}\n\ndef dive(x):\n    return x\n\n\n{pair}"}
    row = judge(tmp_path, before, after, ours=ours, at=line)
    assert row.severity == severity


SCALED = "class Layer:\n    def __init__(self):\n        self.scales = 1\n"
COPY = "def run(x):\n    if x.scales:\n        return 0\n    return x.size\n"
SHORT = "def run(x):\n    return x.size\n"
BARE_LAYER = "class Layer:\n    name = 'scales'  # no scales\n"
VANISHED = [
    # (what it shows, our replacement, the pin's class, the tip's, severity)
    ("gone everywhere", "def fast(x):\n    return x.scales\n", SCALED, BARE_LAYER, "breaks"),
    ("inside a chain", "def fast(x):\n    return x.layer.scales.sum()\n", SCALED, BARE_LAYER, "breaks"),
    ("asks first", "def fast(x):\n    return hasattr(x, 'scales') and x.scales\n", SCALED, BARE_LAYER, "look"),
    ("sets it", "def fast(x):\n    x.scales = 1\n    return x.scales\n", SCALED, BARE_LAYER, "look"),
    (
        "sets it too late",
        "def fast(x):\n    y = x.scales\n    x.scales = 1\n    return y\n",
        SCALED,
        BARE_LAYER,
        "breaks",
    ),
    (
        "another of ours sets it",
        "def fast(x):\n    return x.scales\ndef set(x):\n    x.scales = 1\n",
        SCALED,
        BARE_LAYER,
        "look",
    ),
    (
        "ours defines it",
        "def fast(x):\n    return x.scales()\nclass A:\n    def scales(self): ...\n",
        SCALED,
        BARE_LAYER,
        "look",
    ),
    ("still named", "def fast(x):\n    return x.scales\n", SCALED, "def go(x):\n    return x.scales\n", "look"),
    ("another package's", "def fast(x):\n    return x.scales\n", "class Layer:\n    pass\n", BARE_LAYER, "look"),
    ("of no interest to upstream's own", "def fast(x):\n    return x.name\n", SCALED, BARE_LAYER, "look"),
]


@pytest.mark.parametrize(
    ("ours", "then", "now", "severity"), [row[1:] for row in VANISHED], ids=[row[0] for row in VANISHED]
)
def test_a_word_that_upstream_no_longer_has_breaks_our_copy(
    tmp_path: Path, ours: str, then: str, now: str, severity: str
) -> None:
    after: dict[str, str | None] = {"keel/run.py": SHORT, "keel/layer.py": now}
    row = judge(tmp_path, {"keel/run.py": COPY, "keel/layer.py": then}, after, ours=ours)
    assert row.severity == severity
    assert ("scales, which no code of keel has at the tip" in row.detail) is (severity == "breaks")
    assert severity != "breaks" or (row.culprit is not None and row.culprit.subject == "tip")


@pytest.mark.parametrize(
    ("other", "severity"),
    [
        ("class Ours:\n    def scales(self): ...\n", "look"),
        ("class Ours:\n    def __init__(self):\n        self.scales = 1\n", "look"),
        ("def scales(x):\n    return x.scales\n", "breaks"),
    ],
)
def test_a_word_that_a_class_of_ours_has_is_not_gone(tmp_path: Path, other: str, severity: str) -> None:
    before = {"keel/run.py": COPY, "keel/layer.py": SCALED}
    after: dict[str, str | None] = {"keel/run.py": SHORT, "keel/layer.py": BARE_LAYER}
    row = judge(tmp_path, before, after, ours="def fast(x):\n    return x.scales()\n")
    ours = History.start(tmp_path / "read").commit("ours", {"own.py": other})
    (found,) = accept_own([row], Tree(open_repository(tmp_path / "read"), ours))
    assert (row.severity, found.severity) == ("breaks", severity)
    assert ("no code of keel has" in found.detail) is (severity == "breaks")


NEWER = "import keel\nfrom packaging.version import Version\n\n\ndef fast(x):\n"
SINCE = "    if Version(keel.__version__) {}:\n        x = x.{}()\n    return x\n"
OUTLIVED = [
    # (what it shows, our replacement; upstream has `unstack` between pin (1.0) and tip (2.0) alone, and `sum` never)
    ("for versions that had it", SINCE.format(">= Version('1.5')", "unstack"), "breaks"),
    ("for older versions", SINCE.format("< Version('0.5')", "unstack"), "ok"),
    (
        "in a branch of a branch",
        "    if x:\n        if Version(keel.__version__) >= Version('1.5'):\n            x.unstack()\n    return x\n",
        "breaks",
    ),
    ("for all", "    return x.unstack()\n", "ok"),
    ("another package's", SINCE.format(">= Version('1.5')", "sum"), "ok"),
]


@pytest.mark.parametrize(("body", "severity"), [row[1:] for row in OUTLIVED], ids=[row[0] for row in OUTLIVED])
def test_what_upstream_had_in_between_alone_breaks_what_is_written_for_it(
    tmp_path: Path, body: str, severity: str
) -> None:
    had = {"keel/layer.py": "class Layer:\n    def unstack(self):\n        return self\n"}
    after: dict[str, str | None] = {"keel/layer.py": "class Layer:\n    pass\n"}
    row = judge(tmp_path, {"keel/run.py": RUN}, after, ours=NEWER + body, at=5, between=had)
    assert row.severity == severity
    assert row.detail.count("x.unstack, which no code of keel has at the tip") == (severity == "breaks")
    assert severity == "ok" or (row.culprit is not None and row.culprit.subject == "tip")


DIVE = "from keel.help import dive\n\n\ndef fast(x):\n"
NEVER_FITTED = [
    # (what it shows, the body of our replacement, what it does today, what is said; the tip gives dive a parameter `far`)
    ("written for the tip", "    return dive(x, far=1)\n", "does-not-fit", "does not take the keyword far"),
    (
        "fits neither",
        "    return dive(x, 1, 2)\n",
        "does-not-fit",
        "at pin and tip takes at most 1 positional argument and gets 3",
    ),
    ("in a branch of ours", "    if x:\n        return dive(x, far=1)\n    return 0\n", "does-not-fit", "at the pin"),
    ("after a question", "    if takes(dive):\n        return dive(x, far=1)\n    return dive(x)\n", "fits", ""),
    ("caught", "    try:\n        return dive(x, far=1)\n    except TypeError:\n        return dive(x)\n", "fits", ""),
    (
        "for other versions",
        "    if Version(keel.__version__) < Version('1.5'):\n        return dive(x)\n    return dive(x, far=1)\n",
        "fits",
        "",
    ),
]


@pytest.mark.parametrize(
    ("body", "today", "said"), [row[1:] for row in NEVER_FITTED], ids=[row[0] for row in NEVER_FITTED]
)
def test_a_call_in_ours_that_never_fitted_is_told(tmp_path: Path, body: str, today: str, said: str) -> None:
    ours = f"import keel\nfrom packaging.version import Version\n{DIVE}{body}\nkeel.run.run = fast\n"
    before = {"keel/run.py": RUN, "keel/help.py": "def dive(x):\n    return x\n"}
    row = judge(tmp_path, before, {"keel/help.py": "def dive(x, far=0):\n    return x\n"}, ours=ours, at=6)
    worst = "breaks" if "at pin and tip" in said else "look"
    assert (row.today, row.severity) == (today, worst if said else "ok")
    assert said in row.detail
    assert ("already at the pin, our replacement calls dive at harbour/patch.py:" in row.detail) is bool(said)


def test_who_changed_the_target_is_not_to_blame_for_a_call_in_ours(tmp_path: Path) -> None:
    ours = f"import keel\n{DIVE}    return dive(x)\n\nkeel.run.run = fast\n"
    before = {"keel/run.py": RUN, "keel/help.py": "def dive(x):\n    return x\n"}
    after = {"keel/help.py": "def dive(x, far):\n    return x\n"}
    between = {"keel/run.py": RUN.replace("+=", "-=")}
    row = judge(tmp_path, before, {**after}, ours=ours, at=5, between=between)
    assert (row.kind, row.severity, row.culprit) == ("body-changed", "breaks", None), row.detail


FEWER = [
    # (what it shows, our replacement of `run(x, deep=0, wide=0)`, the tip, severity)
    ("does not name what is gone", "def fast(x, **more):\n    return x\n", "x, wide=0):", "ok"),
    ("speaks of what is gone", "def fast(x, **more):\n    # not deep\n    return x\n", "x, wide=0):", "ok"),
    ("names what is gone", "def fast(x, deep=0, **more):\n    return x\n", "x, wide=0):", "look"),
    ("reads what is gone", "def fast(x, **more):\n    return more.get('deep')\n", "x, wide=0):", "look"),
    ("another parameter came", "def fast(x, **more):\n    return x\n", "x, wide=0, far=0):", "look"),
    ("the body changed, too", "def fast(x, **more):\n    return x\n", "x, wide=0):\n    print(x)", "look"),
]


@pytest.mark.parametrize(("ours", "tip", "severity"), [row[1:] for row in FEWER], ids=[row[0] for row in FEWER])
def test_a_parameter_that_ours_never_named_may_go(tmp_path: Path, ours: str, tip: str, severity: str) -> None:
    before = {"keel/run.py": f"def run(x, deep=0, wide=0):\n{BODY}"}
    row = judge(tmp_path, before, {"keel/run.py": f"def run({tip}\n{BODY}"}, ours=ours)
    assert (row.kind, row.severity) == ("signature-changed", severity), row.detail


MISSING = [
    # (what it shows, whether the line raises where the name is missing, the tip, severity, today)
    ("an assignment", False, {}, "look", "dead"),
    ("mock.patch", True, {}, "breaks", "does-not-fit"),
    ("mock.patch, and the tip has it", True, {"keel/run.py": f"{RUN}\n\nsail = 1\n"}, "look", "does-not-fit"),
]


@pytest.mark.parametrize(
    ("raises", "after", "severity", "today"), [row[1:] for row in MISSING], ids=[row[0] for row in MISSING]
)
def test_what_raises_where_the_name_is_missing_is_not_dead(
    tmp_path: Path, raises: bool, after: dict[str, str | None], severity: str, today: str
) -> None:
    place = Location("harbour/patch.py", 2)
    alone = Effect(style=Style.BINDING_REPLACEMENT, target="keel.run.sail", location=place, raises=raises)
    row = judge(tmp_path, {"keel/run.py": RUN}, after, alone=alone)
    assert (row.kind, row.severity, row.today) == ("dead-at-pin", severity, today)


@pytest.mark.parametrize(("raises", "kind"), [(False, "external"), (True, "dead-at-pin")])
def test_what_raises_adds_no_name_for_our_own_code(tmp_path: Path, raises: bool, kind: str) -> None:
    place = Location("harbour/patch.py", 2)
    alone = Effect(style=Style.BINDING_REPLACEMENT, target="keel.run.sail", location=place, raises=raises)
    row = judge(tmp_path, {"keel/run.py": RUN}, {}, alone=alone)
    ours = History.start(tmp_path / "read").commit("ours", {"own.py": "import keel.run as r\n\nprint(r.sail)\n"})
    tree = Tree(open_repository(tmp_path / "read"), ours)
    (found,) = accept_additions([row], frozenset({"keel.run.sail"}), tree)
    assert found.kind == kind, found.detail


HULL = "class Hull:\n    def load(self, x):\n        return x\n"
FACTORY = "def Hull(x):\n    return x\n"
CLASSES = [
    # (what it shows, the pin, the tip, severity, the reasons)
    ("a function at both refs", FACTORY, FACTORY, "ok", ["guard-never"]),
    ("a function that goes", FACTORY, "x = 1\n", "ok", ["guard-never"]),
    ("a class that becomes a function", HULL, FACTORY, "look", ["guard-over-unless"]),
    ("a class at both refs", HULL, HULL, "ok", []),
    ("a function that a decorator may make a class", f"@made\n{FACTORY}", f"@made\n{FACTORY}", "ok", []),
    ("a class that goes", HULL, "x = 1\n", "breaks", []),
]


@pytest.mark.parametrize(
    ("pin", "tip", "severity", "told"), [row[1:] for row in CLASSES], ids=[row[0] for row in CLASSES]
)
def test_a_write_that_asks_for_a_class_does_nothing_to_a_function(
    tmp_path: Path, pin: str, tip: str, severity: str, told: list[str]
) -> None:
    ours = (
        "def load(self, x):\n    return x\n\n\ndef install():\n    from keel.hull import Hull\n    Hull.load = load\n"
    )
    row = judge(
        tmp_path,
        {"keel/hull.py": pin},
        {"keel/hull.py": tip},
        target="keel.hull.Hull.load",
        condition=need_class("keel.hull.Hull"),
        ours=ours,
    )
    assert (row.severity, [code for code in codes(row) if code.startswith("guard")]) == (severity, told), row.detail


@pytest.mark.parametrize(
    ("then", "now"), [("keel/deck.py", "keel/deck/__init__.py"), ("keel/deck/__init__.py", "keel/deck.py")]
)
def test_a_name_is_looked_for_where_its_module_stood_before(tmp_path: Path, then: str, now: str) -> None:
    row = judge(tmp_path, {now: "x = 1\n"}, {}, base={then: HULL}, target="keel.deck.Hull.load", gone=then)
    assert "had-until" in codes(row), row.detail


GETTER = "RUN = None\n\n\ndef get_run(kind=0):\n    if kind:\n        return 1\n    return RUN\n"
STATES = "RUN = FAST = None\n\n\ndef get_run(kind=0):\n"
GETTERS = [
    # (what it shows, the module at the tip, what is said)
    (
        "returns another",
        GETTER.replace("return RUN", "return RUN if kind else FAST") + "FAST = None\n",
        "get_run returned it unchanged before; now it reads it only where kind, otherwise it reads FAST",
    ),
    (
        "returns another alone",
        GETTER.replace("return RUN", "return FAST") + "FAST = None\n",
        "get_run returned it unchanged and no longer does; it reads FAST now",
    ),
    ("still returns it", GETTER.replace("return 1", "return FAST") + "FAST = None\n", ""),
    (
        "still reads it in one branch",
        f"{STATES}    if kind:\n        table = {{0: FAST}}\n    else:\n        table = {{0: RUN}}\n    return table[0]\n",
        "get_run returned it unchanged before; now it reads it only where not kind, otherwise it reads FAST",
    ),
    (
        "still reads it",
        f"{STATES}    table = {{0: FAST, 1: RUN}}\n    return table[kind]\n",
        say(Why(Reason.RETURNED_MAYBE, "get_run", "FAST")),
    ),
    ("is gone", "RUN = None\n", ""),
]


@pytest.mark.parametrize(("tip", "said"), [row[1:] for row in GETTERS], ids=[row[0] for row in GETTERS])
def test_a_variable_is_what_its_getter_returns(tmp_path: Path, tip: str, said: str) -> None:
    row = judge(tmp_path, {"keel/run.py": GETTER}, {"keel/run.py": tip}, ours="x = 1\n", target="keel.run.RUN")
    assert (row.severity, row.detail) == ("look" if said else "ok", said)


OPENED = [
    # (what it shows, our replacement, what is said)
    ("ours takes its own alone", "def fast(x):\n    return x\n", "takes-no-more"),
    ("ours takes any as well", "def fast(x, **more):\n    return x\n", "takes-all"),
]


@pytest.mark.parametrize(("ours", "said"), [row[1:] for row in OPENED], ids=[row[0] for row in OPENED])
def test_a_signature_that_takes_anything_now_is_not_met_by_ours(tmp_path: Path, ours: str, said: str) -> None:
    row = judge(tmp_path, {"keel/run.py": RUN}, {"keel/run.py": RUN.replace("(x)", "(x, **more)")}, ours=ours)
    assert [code for code in codes(row) if code.startswith("takes")] == [said]


RETYPED = [
    # (what it shows, the function at the pin, at the tip, whether it is said)
    ("annotated anew", "def run(x) -> list:\n    y = make(x)\n    return y.copy()\n", ("list", "int"), False),
    ("handed on", "def run(x) -> list:\n    return make(x)\n", ("list", "int"), True),
    ("another body", "def run(x) -> list:\n    return [x]\n", ("list:\n    return [x]", "int:\n    return x"), True),
]


@pytest.mark.parametrize(("text", "change", "said"), [row[1:] for row in RETYPED], ids=[row[0] for row in RETYPED])
def test_a_result_that_is_only_annotated_anew_is_no_news(
    tmp_path: Path, text: str, change: tuple[str, str], said: bool
) -> None:
    row = judge(tmp_path, {"keel/run.py": text}, {"keel/run.py": text.replace(*change)})
    assert ("return-type" in codes(row)) is said


def test_an_import_of_the_target_fails_before_its_guard_is_asked(tmp_path: Path) -> None:
    ours = "def fast(x):\n    return x\n\n\ndef install():\n    from keel.run import Ship\n    Ship.sail = fast\n"
    gone = Condition(kind=ConditionKind.NAME, text="keel.run.Ship.sail")
    before = {"keel/run.py": SHIP.format(read="x")}
    row = judge(tmp_path, before, GONE, ours=ours, target="keel.run.Ship.sail", condition=gone)
    assert (row.severity, "stops-applying" in codes(row)) == ("breaks", False)


OUTPUT = "from collections import OrderedDict\n\n\nclass Output(OrderedDict):\n    pooled: int = 0\n\n\n"
ENCODER = (
    "class Encoder:\n    @classmethod\n    def build(cls, config):\n        return cls(config)\n\n"
    "    def forward(self, x):\n        return {made}\n\n\n"
)
MODEL = (
    "class Model:\n    def __init__(self, config):\n        self.encoder = Encoder.build(config)\n\n"
    "    def forward(self, x):\n        return self.encoder(x)\n"
)
RESULTS = [
    # (what it shows, our method, what the encoder returns at the pin, at the tip, severity, today)
    ("read at once", "    return self.encoder(x).shape", "x", "Output(pooled=x)", "breaks", "fits"),
    ("of a variable", "    y = self.encoder(x)\n    return y.shape", "x", "Output(pooled=x)", "breaks", "fits"),
    (
        "at the pin already",
        "    return self.encoder(x).shape",
        "Output(pooled=x)",
        "Output(pooled=1)",
        "breaks",
        "does-not-fit",
    ),
    ("what it has", "    return self.encoder(x).pooled", "x", "Output(pooled=x)", "ok", "fits"),
    ("what Python's own class has", "    return self.encoder(x).keys()", "x", "Output(pooled=x)", "ok", "fits"),
    (
        "a variable that is set again",
        "    y = self.encoder(x)\n    y = y.pooled\n    return y.shape",
        "x",
        "Output(pooled=x)",
        "ok",
        "fits",
    ),
    (
        "asked first",
        "    y = self.encoder(x)\n    if isinstance(y, dict):\n        y = y.pooled\n    return y.shape",
        "x",
        "Output(pooled=x)",
        "ok",
        "fits",
    ),
    (
        "in a function that is handed the object",
        "    return embed(self, x)\n\n\ndef embed(model, x):\n    y = model.encoder(x)\n    return y.mean()",
        "x",
        "Output(pooled=x)",
        "breaks",
        "fits",
    ),
]


@pytest.mark.parametrize(
    ("ours", "then", "now", "severity", "today"), [row[1:] for row in RESULTS], ids=[row[0] for row in RESULTS]
)
def test_what_ours_reads_of_a_result_must_be_there(
    tmp_path: Path, ours: str, then: str, now: str, severity: str, today: str
) -> None:
    before, after = ({"keel/run.py": OUTPUT + ENCODER.format(made=made) + MODEL} for made in (then, now))
    row = judge(tmp_path, before, {**after}, ours=f"def fast(self, x):\n{ours}\n", target="keel.run.Model.forward")
    assert (row.severity, row.today) == (severity, today)


def test_what_ours_reads_of_a_result_is_told_once_with_its_lines(tmp_path: Path) -> None:
    ours = "def fast(self, x):\n    y = self.encoder(x)\n    print(y.shape)\n    return y.shape, y.mean()\n"
    before, after = ({"keel/run.py": OUTPUT + ENCODER.format(made=made) + MODEL} for made in ("x", "Output(pooled=x)"))
    row = judge(tmp_path, before, {**after}, ours=ours, target="keel.run.Model.forward")
    said = "reads .shape and .mean from the result of encoder(…) at harbour/patch.py:3, harbour/patch.py:4, which is a"
    assert said in row.detail


NORM = "class Norm:\n    def forward(self, x):\n        return [x, 1]\n"
OWN_NORM = NORM.replace("Norm", "RunNorm")
USES_NORM = (
    "\n\nclass Run:\n    def __init__(self, size):\n        self.first = {}(size)\n        self.last = {}(size, 2)\n"
)
EXCHANGED = [
    # (what it shows, the module at the tip, what is suggested)
    ("all uses went to one name", OWN_NORM + USES_NORM.format("RunNorm", "RunNorm"), "keel.run.RunNorm.forward"),
    (
        "they went to two",
        OWN_NORM + NORM.replace("Norm", "Other") + USES_NORM.format("RunNorm", "Other"),
        "keel.norm.Norm.forward",
    ),
    ("they are gone", OWN_NORM, "keel.norm.Norm.forward"),
    (
        "to a function",
        "def make(size, _=2):\n    return size\n" + USES_NORM.format("make", "make"),
        "keel.norm.Norm.forward",
    ),
]


@pytest.mark.parametrize(("now", "suggested"), [row[1:] for row in EXCHANGED], ids=[row[0] for row in EXCHANGED])
def test_what_a_module_uses_instead_of_a_name_is_suggested(tmp_path: Path, now: str, suggested: str) -> None:
    before = {"keel/norm.py": NORM, "keel/run.py": "from keel.norm import Norm\n" + USES_NORM.format("Norm", "Norm")}
    row = judge(
        tmp_path,
        before,
        {"keel/run.py": now},
        ours="def fast(self, x):\n    return x\n",
        target="keel.run.Norm.forward",
    )
    assert (row.kind, row.suggestion.target if row.suggestion else None) == ("binding-lost", suggested), row.detail


APART = "    y, z = self.encoder(x)\n    return y"
TAKEN_APART = [
    # (what it shows, our method, what the encoder returns at the pin, at the tip, severity)
    ("one object", APART, "x, x", "Output(pooled=x)", "breaks"),
    ("an object that nothing iterates", APART, "x, x", "Plain()", "breaks"),
    ("an object that gives values of its own", APART, "x, x", "Given()", "ok"),
    ("a tuple with names", APART, "x, x", "Pair()", "ok"),
    ("another number at the pin", APART, "x, x, x", "Output(pooled=x)", "ok"),
    ("kept whole", "    y = self.encoder(x)\n    return y", "x, x", "Output(pooled=x)", "ok"),
    (
        "in a function that is handed the object",
        "    return embed(self, x)\n\n\ndef embed(model, x):\n    y, z = model.encoder(x)\n    return y",
        "x, x",
        "Output(pooled=x)",
        "breaks",
    ),
]
MORE_OUTPUTS = (
    "class Plain:\n    pass\n\n\nclass Given:\n    def __iter__(self):\n        return iter((1, 2))\n\n\n"
    "class Pair(NamedTuple):\n    one: int = 1\n    two: int = 2\n\n\n"
)


@pytest.mark.parametrize(
    ("ours", "then", "now", "severity"), [row[1:] for row in TAKEN_APART], ids=[row[0] for row in TAKEN_APART]
)
def test_a_result_that_became_one_object_is_not_taken_apart(
    tmp_path: Path, ours: str, then: str, now: str, severity: str
) -> None:
    rest = OUTPUT + MORE_OUTPUTS
    texts = [rest + ENCODER.format(made=made) + MODEL for made in (then, now)]
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/other.py": "x = 1\n"},
        ours=f"def fast(self, x):\n{ours}\n",
        target="keel.run.Model.forward",
        between={"keel/run.py": texts[1]},
    )
    told = "between" if severity == "breaks" else None
    assert (row.severity, row.culprit.subject if row.culprit else None) == (severity, told), row.detail


NOTED = (
    "class Model:\n    def __init__(self, config):\n        self.encoder = find(config)\n\n"
    "    def forward(self, x):\n        y: {noted} = self.encoder(x)\n        return y\n"
)


@pytest.mark.parametrize(("noted", "severity"), [("Output", "breaks"), ("Any", "look"), ("Given", "look")])
def test_what_a_class_notes_of_a_result_is_believed(tmp_path: Path, noted: str, severity: str) -> None:
    rest = OUTPUT + MORE_OUTPUTS
    encoders = [rest + ENCODER.format(made=made) for made in ("x, x", "Output(pooled=x)")]
    row = judge(
        tmp_path,
        {"keel/run.py": encoders[0] + MODEL},
        {"keel/other.py": "x = 1\n"},
        ours=f"def fast(self, x):\n{APART}\n",
        target="keel.run.Model.forward",
        between={"keel/run.py": encoders[1] + NOTED.format(noted=noted)},
    )
    assert row.culprit is not None
    assert (row.severity, row.culprit.subject) == (severity, "between")


def test_a_class_under_another_name_still_sets_what_it_set(tmp_path: Path) -> None:
    texts = [
        f"class {name}:\n    def __init__(self):\n        self.part = 1\n{more}    def go(self):\n        return self\n{rest}"
        for name, more, rest in (("Run", "        self.mode = 1\n", ""), ("BigRun", "        self.mode = 1\n", ALIAS))
    ]
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/run.py": texts[1].replace("        self.mode = 1\n", "")},
        ours="def fast(self):\n    return self.mode\n",
        target="keel.run.Run.go",
        between={"keel/run.py": texts[1]},
    )
    assert row.culprit is not None
    assert (row.severity, row.culprit.subject) == ("breaks", "tip"), row.detail


ALIAS = "\n\nRun = BigRun\n"


def test_who_made_a_result_another_object_is_told(tmp_path: Path) -> None:
    texts = [OUTPUT + ENCODER.format(made=made) + MODEL for made in ("x", "Output(pooled=x)")]
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/other.py": "x = 1\n"},
        ours="def fast(self, x):\n    return self.encoder(x).shape\n",
        target="keel.run.Model.forward",
        between={"keel/run.py": texts[1]},
    )
    assert row.culprit is not None
    assert (row.severity, row.culprit.subject) == ("breaks", "between")


def test_a_module_that_took_the_old_object_calls_not_ours(tmp_path: Path) -> None:
    use = "from keel.run import run\n\n\ndef go():\n    return run(3, mode=1)\n"
    row = judge(tmp_path, {"keel/run.py": CALLS.format("")}, {"keel/use.py": use})
    assert (row.severity, row.today) == ("ok", "fits")


def test_every_argument_that_calls_pass_is_named(tmp_path: Path) -> None:
    before = f"def run(x, mode=None):\n{BODY}\n\ndef go():\n    return run(3)\n"
    after = f"def run(x, mode=None, keep=None):\n{BODY}\n\ndef go():\n    return run(3, mode=1, keep=2)\n"
    row = judge(tmp_path, {"keel/run.py": before}, {"keel/run.py": after})
    assert (row.kind, row.severity) == ("signature-changed", "breaks")
    assert [str(part) for part in row.problems] == ["does not take keep=None", "does not take mode=None"]


def test_a_call_that_passes_too_many_is_told_once(tmp_path: Path) -> None:
    before = f"def run(x):\n{BODY}\n\ndef go():\n    return run(3)\n"
    row = judge(tmp_path, {"keel/run.py": before}, {"keel/run.py": CALLS.format(", 1")})
    assert [str(part) for part in row.problems] == ["does not take mode=None", "does not take keep=None"]


WRAPPER = "def fast(*args, **kwargs):\n    return original(*args, **kwargs)\n\n\noriginal = keel.run.run\nkeel.run.run = fast\n"


def test_a_wrapper_that_hands_everything_on_needs_no_look(tmp_path: Path) -> None:
    wraps = Style.FUNCTION_WRAPPING
    row = judge(tmp_path, {"keel/run.py": RUN, "keel/use.py": USE}, {"keel/run.py": NEW}, ours=WRAPPER, style=wraps)
    assert (row.kind, row.severity) == ("signature-changed", "ok")


STEP = """\
def fast(x):
    return x


def install():
    from keel.parts import Mast
    if hasattr(keel.run, "run"):
        keel.run.run = fast
"""


def test_an_import_before_the_guard_fails_all_the_same(tmp_path: Path) -> None:
    before = {"keel/run.py": RUN, "keel/parts.py": "class Mast:\n    height = 1\n"}
    row = judge(tmp_path, before, {**GONE, "keel/parts.py": "x = 1\n"}, ours=STEP, condition=HAS_RUN)
    assert row.severity == "breaks"


def test_an_import_that_fails_is_one_root_cause(tmp_path: Path) -> None:
    before = {"keel/run.py": RUN, "keel/parts.py": "class Mast:\n    height = 1\n"}
    row = judge(tmp_path, before, {"keel/parts.py": "x = 1\n"}, ours=STEP)
    (found,) = find_failing_imports([row, row])
    assert (found.touch, found.target, str(found.location)) == ("imports", "keel.parts.Mast", "harbour/patch.py:6")
    assert found.severity == "breaks"
    assert found.detail == (
        "the import fails at the tip, so 2 effects of our patches are not installed: keel.run.run (harbour/patch.py:8)"
    )
    root = explain(row)
    assert root is not None
    assert root.location == found.location


LINES = [
    # (what it shows, our file, the line that fails before ours)
    ("a line of the file", "r.Mast.go = fast\nr.run = fast\n", 4),
    ("a value that it reads", "size = r.Mast.height\nr.run = fast\n", 4),
    ("a line of the same function", "def install():\n    r.Mast.go = fast\n    r.run = fast\n", 5),
    ("a line before the function", "r.Mast.go = fast\ndef install():\n    r.run = fast\n", 4),
    ("setting a name that is gone raises nothing", "r.Mast = fast\nr.run = fast\n", None),
    ("a branch", "if fast:\n    r.Mast.go = fast\nr.run = fast\n", None),
    ("a try", "try:\n    r.Mast.go = fast\nexcept AttributeError:\n    pass\nr.run = fast\n", None),
    ("one of two values", "size = r.Mast.height if fast else 1\nr.run = fast\n", None),
]


@pytest.mark.parametrize(("ours", "line"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_a_line_that_fails_takes_the_lines_after_it_along(tmp_path: Path, ours: str, line: int | None) -> None:
    before = {"keel/run.py": f"{RUN}\n\nclass Mast:\n    height = 1\n    def go(self):\n        return 1\n"}
    whole = f"import keel.run as r\ndef fast(x):\n    return x\n{ours}"
    row = judge(tmp_path, before, {"keel/run.py": RUN}, ours=whole, at=2)
    root = explain(row)
    assert (root.location.line if root else None) == line, row.detail
    assert row.severity == ("breaks" if line else "ok")
    assert list(find_failing_imports([row])) == []


def test_what_is_wrong_with_the_target_too_is_no_mere_consequence(tmp_path: Path) -> None:
    before = {"keel/run.py": RUN, "keel/parts.py": "class Mast:\n    height = 1\n"}
    row = judge(tmp_path, before, {**GONE, "keel/parts.py": "x = 1\n"}, ours=STEP)
    assert explain(row) is None


def test_a_plain_value_behind_a_chain_of_imports_waits_for_the_one_that_fails(tmp_path: Path) -> None:
    """A number has no file of its own: the file that sets it must load, and what that imports."""
    row = judge(
        tmp_path,
        {"keel/run.py": RUN, "keel/old.py": "def gone():\n    return 1\n"},
        {"keel/old.py": None},
        ours="import keel.run\nfrom harbour.base import helper\nkeel.run.run = 0\n",
        more={"harbour/base.py": "from keel.old import gone\n\n\ndef helper():\n    return gone()\n"},
    )
    (found,) = find_failing_imports([row])
    assert (found.target, str(found.location)) == ("keel.old", "harbour/base.py:1")
    assert (row.severity, row.own.severity) == ("breaks", "ok")


def test_of_several_imports_that_fail_all_are_told_and_the_first_of_them_is_to_blame(tmp_path: Path) -> None:
    """Who mends the import that fails first meets the next, which has a row of its own."""
    row = judge(
        tmp_path,
        {"keel/run.py": RUN, "keel/old.py": "def gone():\n    return 1\n", "keel/mast.py": "tall = 1\nwide = 2\n"},
        {"keel/old.py": None},
        ours="import keel.run\nfrom harbour.base import helper\nkeel.run.run = 0\n",
        more={
            "harbour/base.py": "from keel.old import gone\nimport harbour.mast\n\n\ndef helper():\n    return gone()\n",
            "harbour/mast.py": "from keel.old import gone\nfrom keel.mast import tall\n",
        },
        between={"keel/mast.py": "wide = 2\n"},
    )
    told = [(found.target, str(found.location)) for found in find_failing_imports([row])]
    assert told == [("keel.old", "harbour/base.py:1"), ("keel.mast.tall", "harbour/mast.py:2")]
    # what explains the row is told first; the commit is the first that broke it, and each import has its own
    root = explain(row)
    assert root is not None
    assert (root.name, row.culprit.subject if row.culprit is not None else None) == ("keel.old", "between")
    assert [one.commit.subject for one in row.causes] == ["tip", "between"]
    assert [(one.why.name, one.commit.subject) for one in row.causes] == [
        ("keel.old", "tip"),
        ("keel.mast.tall", "between"),
    ]


KEPT = "STATE = None\n\n\ndef get_state():\n    return {}\n"


def test_each_of_two_reasons_has_its_own_commit_and_the_one_that_breaks_is_told_first(tmp_path: Path) -> None:
    row = judge(
        tmp_path,
        {"keel/run.py": KEPT.format("STATE"), "keel/old.py": "gone = 1\n"},
        {"keel/run.py": KEPT.format("None")},
        ours="import keel.run\nfrom harbour.base import helper\nkeel.run.STATE = 0\n",
        target="keel.run.STATE",
        more={"harbour/base.py": "from keel.old import gone\n\n\ndef helper():\n    return gone\n"},
        between={"keel/old.py": "other = 1\n"},
    )
    assert [one.reason for one in row.reasons] == [Reason.NOT_INSTALLED, Reason.NO_LONGER_RETURNED]
    assert row.culprit is not None
    assert row.culprit.subject == "between"
    assert [(one.why.reason, one.commit.subject) for one in row.causes] == [
        (Reason.NEEDS_GONE, "between"),
        (Reason.NO_LONGER_RETURNED, "tip"),
    ]


def test_what_fails_at_the_pin_already_has_no_commit(tmp_path: Path) -> None:
    ours = (
        "import keel.run\nfrom keel.mast import tall\ndef fast(x):\n    from keel.old import never\n"
        "    return never(tall)\nkeel.run.run = fast\n"
    )
    row = judge(
        tmp_path,
        {"keel/run.py": RUN, "keel/old.py": "here = 1\n", "keel/mast.py": "tall = 1\n"},
        {"keel/run.py": f"{RUN.replace('step * x', 'step + x')}"},
        ours=ours,
        at=3,
        between={"keel/mast.py": "wide = 1\n"},
    )
    assert row.has(Reason.MISREADS_TODAY), row.detail
    assert Reason.MISREADS_TODAY not in {one.why.reason for one in row.causes}


def test_a_class_that_became_a_function_has_its_own_commit(tmp_path: Path) -> None:
    row = judge(
        tmp_path,
        {"keel/run.py": "class Run:\n    def go(self, x):\n        return x\n", "keel/old.py": "gone = 1\n"},
        {"keel/run.py": "def Run(x):\n    return load(x)\n"},
        ours="import keel.run\nfrom harbour.base import helper\nkeel.run.Run.go = helper\n",
        target="keel.run.Run.go",
        holder=Holder.OBJECT,
        more={"harbour/base.py": "from keel.old import gone\n\n\ndef helper(x):\n    return gone\n"},
        between={"keel/old.py": "other = 1\n"},
    )
    assert [(one.why.reason, one.commit.subject) for one in row.causes] == [
        (Reason.NEEDS_GONE, "between"),
        (Reason.OTHER_KIND, "tip"),
    ]


def test_what_fails_before_is_told_also_where_the_target_cannot_be_decided(tmp_path: Path) -> None:
    row = judge(
        tmp_path,
        {"keel/run.py": "class Run:\n    def go(self, x):\n        return x\n", "keel/old.py": "gone = 1\n"},
        {"keel/run.py": "def Run(x):\n    return load(x)\n", "keel/old.py": None},
        ours="import keel.run\nfrom harbour.base import helper\nkeel.run.Run.go = helper\n",
        target="keel.run.Run.go",
        holder=Holder.OBJECT,
        more={"harbour/base.py": "from keel.old import gone\n\n\ndef helper(x):\n    return gone\n"},
    )
    assert (row.kind, row.severity, row.own.severity) == ("unresolved", "breaks", "look"), row.detail
    assert row.culprit is not None
    assert row.culprit.subject == "tip"


def test_what_fails_before_is_told_first_and_what_becomes_of_the_target_too(tmp_path: Path) -> None:
    """One import far away was the only reason of many rows, and hid what each had to say itself."""
    row = judge(
        tmp_path,
        {"keel/run.py": RUN, "keel/old.py": "def gone():\n    return 1\n"},
        {"keel/run.py": RUN.replace("step * x", "min(step, x)"), "keel/old.py": None},
        ours="import keel.run\nfrom harbour.base import helper\nkeel.run.run = helper\n",
        more={"harbour/base.py": "from keel.old import gone\n\n\ndef helper(x):\n    return gone()\n"},
    )
    assert (row.kind, row.severity, row.own.severity) == ("body-changed", "breaks", "look")
    assert row.detail == "our code needs keel.old (imported at harbour/base.py:1), which is gone; its body now uses min"
    assert row.own.detail == "its body now uses min"


@pytest.mark.parametrize(
    ("mutates", "held"), [((), ["keel/__init__.py:1", "keel/use.py:1"]), (("TABLE['x']",), [])], ids=["name", "entry"]
)
def test_an_entry_of_a_table_reaches_whoever_imported_the_table(
    tmp_path: Path, mutates: tuple[str, ...], held: list[str]
) -> None:
    files = {
        "keel/__init__.py": "from keel.use import TABLE\n",
        "keel/run.py": "TABLE = {}\n",
        "keel/use.py": "from keel.run import TABLE\n",
        "keel/template_use.py": "from keel.run import TABLE\n",  # nothing loads it
    }
    effect = Effect(
        style=Style.BINDING_REPLACEMENT,
        target="keel.run.TABLE",
        replacement="harbour.patch.fast",
        location=Location("harbour/patch.py", 1),
        mutates=mutates,
    )
    assert list(judge(tmp_path, files, {}, target="keel.run.TABLE", alone=effect).holders) == held


SCRIPT = "from keel.run import run\n\nif __name__ == '__main__':\n    run(3)\n"
BY_NAME = "from importlib import import_module\ndef load(name):\n    return import_module({})\n"
LOADED = [
    # (what it shows, what stands in upstream's package beside keel/train.py, the head of our file, whether it is told)
    ("a script that never meets our code", {}, "", False),
    ("our code imports it", {}, "from keel.train import run as other\n", True),
    ("our code runs it", {}, "import runpy\nrunpy.run_module('keel.train')\n", True),
    ("our code imports what imports it", {"keel/main.py": "import keel.train\n"}, "import keel.main\n", True),
    ("another script imports it", {"keel/main.py": "import keel.train\n"}, "", False),
    ("named as text", {"keel/__init__.py": "TABLE = {'train': 'keel.train:run'}\n"}, "", True),
    ("named in a script that nobody loads", {"keel/main.py": "TABLE = ['keel.train']\n"}, "", False),
    ("a word beside an import", {"keel/__init__.py": BY_NAME.format("'.' + name") + "TABLE = ['train']\n"}, "", True),
    ("a word", {"keel/__init__.py": "TABLE = ['train']\n"}, "", False),
    ("a name put together", {"keel/__init__.py": BY_NAME.format("f'keel.{name}'")}, "", True),
    ("the end of a name", {"keel/__init__.py": BY_NAME.format("f'{name}.train'")}, "", True),
    ("another name put together", {"keel/__init__.py": BY_NAME.format("f'keel.{name}.train'")}, "", False),
    (
        "a walk over the package",
        {"keel/__init__.py": "import pkgutil\nlist(pkgutil.iter_modules(__path__))\n"},
        "",
        True,
    ),
]


@pytest.mark.parametrize(("files", "head", "told"), [row[1:] for row in LOADED], ids=[row[0] for row in LOADED])
def test_only_what_is_loaded_keeps_the_old_object(tmp_path: Path, files: dict[str, str], head: str, told: bool) -> None:
    beside = {"keel/run.py": RUN, "keel/train.py": SCRIPT, **files}
    row = judge(tmp_path, beside, {}, ours=f"{OURS}{head}")
    assert list(row.holders) == (["keel/train.py:1"] if told else [])


ENGINE = "class Engine:\n    def __init__(self, x):\n        self.kind = pick(x)\n    def go(self, x):\n        {}\n"
SETTER = "def fast(self, x):\n    original(self, x)\n    self.kind = 'ours'\n{}\n\nimport keel.run\nkeel.run.Engine.__init__ = fast\n"
UNREAD = [
    # (what it shows, our file, upstream's method at the tip, other files of the tip, whether it is told)
    ("no longer read", SETTER.format(""), "return x", {}, True),
    ("still read", SETTER.format(""), "return use(self.kind, x)", {}, False),
    ("asked for by text", SETTER.format(""), "return getattr(self, 'kind')", {}, False),
    ("only named at the pin", SETTER.format("").replace("kind", "run"), "return x", {}, False),
    ("our own code reads it", SETTER.format("\ndef other(y):\n    return y.kind\n"), "return x", {}, False),
    (
        "an heir reads it",
        SETTER.format(""),
        "return x",
        {
            "keel/heir.py": "from keel.run import Engine\nclass Heir(Engine):\n    def a(self):\n        return self.kind\n"
        },
        False,
    ),
]


@pytest.mark.parametrize(("ours", "body", "more", "told"), [row[1:] for row in UNREAD], ids=[row[0] for row in UNREAD])
def test_what_we_set_and_upstream_no_longer_reads_is_told(
    tmp_path: Path, ours: str, body: str, more: dict[str, str], told: bool
) -> None:
    before = {"keel/run.py": ENGINE.format("return run(self.kind, x)")}
    row = judge(
        tmp_path, before, {"keel/run.py": ENGINE.format(body), **more}, ours=ours, target="keel.run.Engine.__init__"
    )
    assert ("sets-unread" in codes(row)) is told, row.detail
    assert row.severity == ("look" if told else "ok")


DROPPED = "class Engine:\n    def __init__(self, x):\n        print(x)\n    def go(self, x):\n        return x\n"
ASKING = "def make(x):\n    made = Engine(x)\n    return getattr(made, 'kind', '')\n"
FAMILY = [
    # (what it shows, upstream's file at the tip, other files of the tip, whether it is told)
    ("somebody asks for the word", f"{DROPPED}{ASKING}", {}, True),
    ("the class still sets it", f"{ENGINE.format('return x')}{ASKING}", {}, False),
    (
        "a class below reads it",
        f"{DROPPED}{ASKING}class Heir(Engine):\n    def a(self):\n        return self.kind\n",
        {},
        False,
    ),
    (
        "a class below that, elsewhere",
        f"{DROPPED}{ASKING}class Heir(Engine):\n    pass\n",
        {"keel/heir.py": "from keel.run import Heir\nclass Last(Heir):\n    def a(self):\n        return self.kind\n"},
        False,
    ),
]


@pytest.mark.parametrize(("tip", "more", "told"), [row[1:] for row in FAMILY], ids=[row[0] for row in FAMILY])
def test_what_we_set_and_the_class_itself_dropped_is_told(
    tmp_path: Path, tip: str, more: dict[str, str], told: bool
) -> None:
    before = {"keel/run.py": f"{ENGINE.format('return run(self.kind, x)')}{ASKING}"}
    target, ours = "keel.run.Engine.__init__", SETTER.format("")
    between = {"keel/run.py": before["keel/run.py"].replace("pick(x)", "pick(x, 1)")}
    row = judge(tmp_path, before, {"keel/run.py": tip, **more}, ours=ours, target=target, between=between)
    assert ("sets-dropped" in codes(row), "sets-unread" in codes(row)) == (told, False), row.detail
    assert not told or (row.culprit is not None and row.culprit.subject == "tip")


APPLIED = (
    "import torch\n\n\nclass Step(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x{0}):\n"
    "        return x\n\n\ndef go(x):\n    return Step.apply(x{1})\n"
)
OUR_STEP = "import torch\nclass Fast(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x\n"
BY_APPLY = [
    # (what it shows, ours, its line, target, what the tip's call passes more, severity)
    ("its forward", "def fast(ctx, x):\n    return x\n", 1, "keel.run.Step.forward", ", 1", "breaks"),
    ("the whole class", OUR_STEP, 2, "keel.run.Step", ", 1", "breaks"),
    ("nothing more is passed", OUR_STEP, 2, "keel.run.Step", "", "look"),
]


@pytest.mark.parametrize(
    ("ours", "line", "target", "given", "severity"), [row[1:] for row in BY_APPLY], ids=[row[0] for row in BY_APPLY]
)
def test_apply_of_upstreams_function_runs_its_forward(
    tmp_path: Path, ours: str, line: int, target: str, given: str, severity: str
) -> None:
    then, now = {"keel/run.py": APPLIED.format("", "")}, {"keel/run.py": APPLIED.format(", y=None", given)}
    row = judge(tmp_path, then, {**now}, ours=ours, target=target, at=line)
    assert row.severity == severity, row.detail


def test_a_variable_that_holds_a_function_is_called_by_its_own_name(tmp_path: Path) -> None:
    code = "def _run(x{0}):\n    return x\n\n\nrun = _run\n\n\ndef go(x):\n    return run(x{1})\n"
    then, now = {"keel/run.py": code.format("", "")}, {"keel/run.py": code.format(", y=1", ", y=2")}
    row = judge(tmp_path, then, {**now})
    assert (row.severity, "misfits-passed" in codes(row)) == ("breaks", True), row.detail


def test_what_is_wrong_with_ours_is_told_before_what_became_of_the_target(tmp_path: Path) -> None:
    """Whoever reads only the beginning must not take a comfort for the whole."""
    after: dict[str, str | None] = {
        "keel/run.py": f"def run(x, pace=None):\n{BODY}",
        "keel/use.py": USE.replace("run(3)", "run(3, pace=2)"),
    }
    row = judge(tmp_path, {"keel/run.py": RUN, "keel/use.py": USE}, after)
    assert row.detail.startswith("our replacement does not take pace"), row.detail
    assert "parameter pace=None added" in row.detail
