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
