"""Each reason of a row has the commit that made it so, told by the very fact that the reason names."""

from __future__ import annotations

from pathlib import Path

import pytest

from judging import OURS, RUN, codes, judge
from layline.core.patch import Style
from layline.core.why import Reason, say

DECORATED = [
    # (what it shows, the decorators between pin and tip, at the tip, who is to blame, the causes)
    (
        "another decorator came with a later commit",
        "@checked\n",
        "@quick\n",
        "tip",
        [],
    ),
    (
        "a second one came later",
        "@checked\n",
        "@checked\n@quick\n",
        "between",
        [("decorator @checked added", "between"), ("decorator @quick added", "tip")],
    ),
    (
        "one that stood between went again",
        "@checked\n@quick\n",
        "@quick\n",
        "between",
        [],
    ),
]


@pytest.mark.parametrize(
    ("between", "after", "first", "told"), [row[1:] for row in DECORATED], ids=[row[0] for row in DECORATED]
)
def test_a_decorator_has_the_commit_that_brought_it(
    tmp_path: Path, between: str, after: str, first: str, told: list[tuple[str, str]]
) -> None:
    head = "from kit import checked, quick\n\n\n"
    row = judge(
        tmp_path,
        {"keel/run.py": f"{head}{RUN}"},
        {"keel/run.py": f"{head}{after}{RUN}"},
        between={"keel/run.py": f"{head}{between}{RUN}"},
    )
    assert (row.kind, row.culprit.subject if row.culprit else None) == ("signature-changed", first), row.detail
    assert [(say(one.why), one.commit.subject) for one in row.causes] == told


def test_a_decorator_that_was_exchanged_does_not_hide_who_removed_a_parameter(tmp_path: Path) -> None:
    head, plain = "from kit import checked, quick\n\n\n", RUN.replace("(x)", "(x, place=None)")
    row = judge(
        tmp_path,
        {"keel/run.py": f"{head}{plain}"},
        {"keel/run.py": f"{head}@quick\n{RUN}", "keel/later.py": ""},
        between={"keel/run.py": f"{head}@checked\n{RUN}"},
        ours="def fast(x, place=None):\n    return x\n",
    )
    assert [(say(one.why), one.commit.subject) for one in row.causes] == [
        ("parameter place removed", "between"),
        ("decorator @quick added", "tip"),
    ]


def test_what_a_body_brings_has_its_commit_where_something_else_breaks_the_row(tmp_path: Path) -> None:
    ours = "import keel.other\n\n\ndef fast(x):\n    return [x, 4]\n\n\nkeel.other.gone\n\nkeel.run.run = fast\n"
    other = {"keel/other.py": "gone = 1\n"}
    row = judge(
        tmp_path,
        {"keel/run.py": "def run(x):\n    return sail(x)\n", **other},
        {"keel/run.py": "def run(x):\n    return row(x)\n", "keel/other.py": "left = 1\n"},
        between={"keel/run.py": "def run(x):\n    return row(x)\n", **other},
        ours=ours,
        at=4,
    )
    told = [(say(one.why), one.commit.subject) for one in row.causes]
    assert (row.severity, row.culprit.subject if row.culprit else None) == ("breaks", "tip"), row.detail
    assert told[1:] == [("its body now uses row", "between"), ("its body no longer uses sail", "between")]


GUARDED = "try:\n    from keel.kit import Scale\nexcept ImportError:\n    Scale = None\n\n\n"


def test_what_is_used_behind_a_caught_import_has_its_commit(tmp_path: Path) -> None:
    ours = f"{GUARDED}import keel.more\n\n\ndef fast(x):\n    return Scale(x), keel.more.step(x)\n"
    kit, more = {"keel/kit.py": "class Scale: ...\n"}, {"keel/more.py": "def step(x): ...\n"}
    row = judge(
        tmp_path,
        {"keel/run.py": RUN, **kit, **more},
        {"keel/run.py": RUN, "keel/kit.py": "", "keel/more.py": ""},
        between={"keel/run.py": RUN, "keel/kit.py": "", **more},
        ours=ours,
        at=10,
    )
    told = {say(one.why): one.commit.subject for one in row.causes}
    assert told == {
        "uses keel.kit.Scale, which is gone": "between",
        "uses keel.more.step, which is gone": "tip",
    }, row.detail


def test_a_change_that_was_taken_back_is_no_culprit(tmp_path: Path) -> None:
    row = judge(
        tmp_path,
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("(x)", "(x, every=None)")},
        between={"keel/run.py": RUN.replace("(x)", "(x, keep=None)")},
        ours=OURS,
    )
    assert (row.culprit.subject if row.culprit else None) == "tip", row.detail


def test_another_result_has_the_commit_that_made_it(tmp_path: Path) -> None:
    text = "def run(x) -> {}:\n    return {}\n"
    row = judge(
        tmp_path,
        {"keel/run.py": text.format("list", "[x]")},
        {"keel/run.py": text.format("Plan", "Plan(x)") + "\n"},
        between={"keel/run.py": text.format("Plan", "Plan(x)")},
        ours="from keel.run import run as old\n\n\ndef fast(x):\n    return old(x).parts\n",
        style=Style.FUNCTION_WRAPPING,
        at=4,
    )
    assert "return-type" in codes(row)
    assert (row.culprit.subject if row.culprit else None) == "between", row.detail


def test_a_name_that_the_branch_of_the_pin_lost_too_has_the_commit_of_the_line(tmp_path: Path) -> None:
    gone = {"keel/run.py": "other = 1\n"}
    row = judge(
        tmp_path,
        gone,
        {"keel/run.py": "other = 2\n"},
        base={"keel/run.py": RUN},
        between=gone,
    )
    (why,) = [one.why for one in row.findings if one.why.reason is Reason.HAD_UNTIL]
    assert why.text == "between", row.detail


def test_parameters_that_ours_does_not_take_have_each_its_commit(tmp_path: Path) -> None:
    heads = [RUN.replace("(x)", head) for head in ("(x)", "(x, deep=None)", "(x, deep=None, wide=None)")]
    uses = [f"from keel.run import run\n\n\ndef go():\n    return run(3{more})\n" for more in ("", ", deep=1")]
    uses.append(uses[1].replace("deep=1", "deep=1, wide=2"))
    row = judge(
        tmp_path,
        {"keel/run.py": heads[0] + "\n\n" + uses[0].partition("\n\n\n")[2]},
        {"keel/run.py": heads[2] + "\n\n" + uses[2].partition("\n\n\n")[2]},
        between={"keel/run.py": heads[1] + "\n\n" + uses[1].partition("\n\n\n")[2]},
    )
    assert (row.severity, row.culprit.subject if row.culprit else None) == ("breaks", "between"), row.detail
    told = [(say(one.why).partition(";")[0], one.commit.subject) for one in row.causes]
    assert told == [
        ("our replacement does not take deep=None", "between"),
        ("our replacement does not take wide=None", "tip"),
    ]


def test_an_optional_parameter_that_nobody_passes_is_not_to_blame(tmp_path: Path) -> None:
    heads = [RUN.replace("(x)", head) for head in ("(x)", "(x, deep=None)", "(x, must, deep=None)")]
    row = judge(
        tmp_path,
        {"keel/run.py": heads[0]},
        {"keel/run.py": heads[2]},
        between={"keel/run.py": heads[1]},
        ours="def fast(x, deep=None):\n    return x\n",
    )
    assert (row.severity, row.culprit.subject if row.culprit else None) == ("breaks", "tip"), row.detail


def test_another_number_of_results_has_its_own_commit(tmp_path: Path) -> None:
    use = "\n\ndef go():\n    return run(3{more})\n"
    texts = [
        f"def run({head}):\n    y = x * 2\n    return {back}\n{use.format(more=more)}"
        for head, back, more in (("x", "x, y", ""), ("x, deep=None", "x, y", ", deep=1"))
    ]
    texts.append(texts[1].replace("return x, y", "return x, y, deep"))
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/run.py": texts[2]},
        between={"keel/run.py": texts[1]},
        ours="def fast(x):\n    return x, 1\n",
    )
    told = {one.why.reason: one.commit.subject for one in row.causes}
    assert told[Reason.MISFITS_PASSED] == "between", row.detail
    assert told[Reason.MISRETURNS] == "tip"


CALLER = "class Hull:\n    def trim(self): ...\n\n    def keel(self):\n        return self.trim()\n\n\nclass Ship(Hull):\n    def trim(self):\n        {trim}\n\n    def sail(self):\n        a, b{more} = self.trim()\n        return a\n\n    def keel(self):\n        return 1\n"
HEIR = "\n\nclass Sloop(Ship):\n    def go(self):\n        return self.trim()\n"


@pytest.mark.parametrize(
    ("patched", "below", "severity"), [(True, "", "look"), (False, "", "breaks"), (True, HEIR, "breaks")]
)
def test_another_number_of_results_harms_nobody_where_our_code_replaces_the_callers(
    tmp_path: Path, patched: bool, below: str, severity: str
) -> None:
    texts = [
        CALLER.format(trim=f"return {back}", more=more) + below for back, more in (("1, 2", ""), ("1, 2, 3", ", c"))
    ]
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/run.py": texts[1]},
        ours="def fast(self):\n    return 1, 2\n",
        target="keel.run.Ship.trim",
        also=("keel.run.Ship.sail",) if patched else (),
    )
    assert row.severity == severity, row.detail
    assert ("callers-replaced" in codes(row)) is (severity == "look")


WRAPS = "def outer(original):\n    def fast(x):\n        {body}\n    return fast\n"


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("return original(x)", "ok"),
        ("y = original(x)\n        return y.size", "look"),
        ("return [original(x)]", "look"),
    ],
)
def test_another_return_type_is_no_matter_of_a_wrapper_that_gives_the_result_back(
    tmp_path: Path, body: str, severity: str
) -> None:
    text = "def run(x) -> {}:\n    return make(x)\n"
    row = judge(
        tmp_path,
        {"keel/run.py": text.format("A")},
        {"keel/run.py": text.format("B")},
        ours=WRAPS.format(body=body),
        style=Style.FUNCTION_WRAPPING,
        at=2,
    )
    assert (row.kind, row.severity) == ("signature-changed", severity), row.detail


STEPS = [
    # (what it shows, our lines before the one that writes, whether it is reached)
    ("in the same branch", "    if x:\n        from keel.old import gone\n        {write}", False),
    ("in another branch", "    if x:\n        from keel.old import gone\n    else:\n        {write}", True),
    (
        "in the same try",
        "    try:\n        from keel.old import gone\n        {write}    finally:\n        x = 1\n",
        False,
    ),
    (
        "in the try before",
        "    try:\n        from keel.old import gone\n    except ImportError:\n        {write}",
        True,
    ),
    ("in a branch before", "    if x:\n        from keel.old import gone\n    {write}", True),
]


@pytest.mark.parametrize(("lines", "reached"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_what_is_imported_before_a_line_in_its_own_block_must_be_there(
    tmp_path: Path, lines: str, reached: bool
) -> None:
    before = {"keel/run.py": RUN, "keel/old.py": "def gone(): ...\n"}
    steps = lines.format(write="import keel.run; keel.run.run = fast\n")
    ours = f"def install(x):\n{steps}"
    at = next(number for number, line in enumerate(ours.splitlines(), 1) if "fast" in line)
    row = judge(tmp_path, before, {"keel/old.py": "x = 1\n"}, ours=ours, line=at)
    assert ("not-installed" in codes(row)) is not reached, row.detail


def test_an_argument_that_was_there_at_the_pin_has_the_commit_that_passes_it(tmp_path: Path) -> None:
    """Ours never took `deep`; upstream passes it since the tip alone, and added `wide` before."""
    text = "def run(x, deep=None{more}):\n    return x\n\n\ndef go():\n    return run(3{given})\n"
    texts = [text.format(more=more, given=given) for more, given in (("", ""), (", wide=None", ", wide=1"))]
    row = judge(
        tmp_path,
        {"keel/run.py": texts[0]},
        {"keel/run.py": texts[1].replace("wide=1", "wide=1, deep=2")},
        between={"keel/run.py": texts[1]},
    )
    told = {one.why.parts[0].text: one.commit.subject for one in row.causes if one.why.parts}
    assert told == {"wide=None": "between", "deep=None": "tip"}, row.detail
    assert row.culprit is not None
    assert row.culprit.subject == "between"
