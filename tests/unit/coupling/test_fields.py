"""An object of a class of ours in a field of upstream's class is called as upstream calls what it holds there."""

from __future__ import annotations

from pathlib import Path

import pytest

from judging import codes, judge
from layline.core.patch import Holder

MODEL = (
    "class Rope:\n    def forward(self, length, packed=False): ...\n    def reach(self, x): ...\n\n\n"
    "class Base:\n    def fit(self, x):\n        return {base}\n\n\n"
    "class Model(Base):\n    def __init__(self):\n        self.rope = Rope()\n\n"
    "    def forward(self, x):\n        return {call}\n"
)
OURS = (
    "from keel.run import Model, Rope\n\n\nclass Fast(Rope):\n    def forward(self, length, packed=False):\n"
    "        return length\n{more}\n\n\nmodel = Model()\nmodel.rope = {value}\n"
)
CALL = "self.rope(x, packed=True)"
NEW = "self.rope(x, packed=True, group=1)"
FIELDS = [
    # (what it shows, calls at the pin, at the tip, what is put there, more of our class, severity, once more)
    ("what ours takes", ("x", CALL), ("x", CALL), "Fast()", "", "ok"),
    ("an argument that ours does not take", ("x", CALL), ("x", NEW), "Fast()", "", "breaks"),
    ("at the pin already", ("x", NEW), ("x", NEW), "Fast()", "", "ok"),
    ("in a class above", (CALL, "x"), (NEW, "x"), "Fast()", "", "breaks"),
    ("the class itself is put there", ("x", CALL), ("x", NEW), "Fast", "", "ok"),
    ("a method that ours inherits", ("x", CALL), ("x", "self.rope.reach(x, 2)"), "Fast()", "", "ok"),
    (
        "a method of ours",
        ("x", "self.rope.reach(x)"),
        ("x", "self.rope.reach(x, 2)"),
        "Fast()",
        "\n    def reach(self, x): ...\n",
        "breaks",
    ),
    ("one of two calls", ("x", CALL), (CALL, NEW), "Fast()", "", "look"),
    ("another field", ("x", CALL), ("x", "self.sail(x, group=1)"), "Fast()", "", "ok"),
]


@pytest.mark.parametrize(
    ("then", "now", "value", "more", "severity"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS]
)
def test_upstreams_calls_through_a_field_must_fit_our_class(
    tmp_path: Path, then: tuple[str, str], now: tuple[str, str], value: str, more: str, severity: str
) -> None:
    before, after = (MODEL.format(base=base, call=call) for base, call in (then, now))
    row = judge(
        tmp_path,
        {"keel/run.py": before},
        {"keel/run.py": f"{after}\n"},
        ours=OURS.format(value=value, more=more),
        target="keel.run.Model.rope",
        holder=Holder.OBJECT,
        between={"keel/run.py": after},
        at=4,
    )
    assert (row.severity, "field-refuses" in codes(row)) == (severity, severity != "ok"), row.detail
    assert severity == "ok" or (row.culprit is not None and row.culprit.subject == "between")
