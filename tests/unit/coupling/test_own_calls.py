"""Our replacement of a method calls other methods of its object: they must take what it passes, at the pin too."""

from __future__ import annotations

from pathlib import Path

import pytest

from judging import judge

SHIP = "class Ship:\n    def trim{takes}:\n        return 1\n\n    def sail(self, x):\n        return self.trim(x)\n"
HEIR = "\n\nclass Sloop(Ship):\n    def trim(self, x, quick=None):\n        return 2\n"
CALL = "    return self.trim(x)\n"
PLAIN, MORE = "(self, x)", "(self, x, quick)"
CALLS = [
    # (what it shows, our method's body, what `trim` takes at the pin, at the tip, classes below, severity, today)
    ("it takes it", CALL, PLAIN, PLAIN, "", "ok", "fits"),
    ("at the tip it needs more", CALL, PLAIN, MORE, "", "breaks", "fits"),
    ("at the pin it needs more", CALL, MORE, PLAIN, "", "look", "does-not-fit"),
    ("at both", CALL, MORE, MORE, "", "breaks", "does-not-fit"),
    ("under a test of another attribute", f"    if self.quick:\n    {CALL}", MORE, MORE, "", "breaks", "does-not-fit"),
    ("under a test of the method", f"    if self.trim:\n    {CALL}", MORE, MORE, "", "ok", "fits"),
    ("a class below writes its own", CALL, MORE, MORE, HEIR, "ok", "fits"),
    ("in a function that is handed the object", "    return go(self, x)\n", MORE, MORE, "", "breaks", "does-not-fit"),
]


@pytest.mark.parametrize(
    ("body", "then", "now", "below", "severity", "today"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS]
)
def test_calls_on_our_own_object_must_fit_upstreams_method(
    tmp_path: Path, body: str, then: str, now: str, below: str, severity: str, today: str
) -> None:
    before, after = ({"keel/run.py": SHIP.format(takes=takes) + below} for takes in (then, now))
    ours = f"def fast(self, x):\n{body}\n\ndef go(ship, x):\n    return ship.trim(x)\n"
    row = judge(tmp_path, before, {**after}, ours=ours, target="keel.run.Ship.sail")
    assert (row.severity, row.today) == (severity, today), row.detail


def test_a_method_that_is_gone_at_the_tip_may_have_refused_the_call_at_the_pin(tmp_path: Path) -> None:
    before = {"keel/run.py": SHIP.format(takes=MORE)}
    after = {"keel/run.py": SHIP.format(takes=MORE).replace("trim", "reef")}
    row = judge(tmp_path, before, {**after}, ours=f"def fast(self, x):\n{CALL}", target="keel.run.Ship.sail")
    assert (row.severity, row.today) == ("breaks", "does-not-fit"), row.detail
