"""Config declarations and hand-written notes."""

from __future__ import annotations

from layline.core.condition import need_key
from layline.core.evidence import Location, Skipped
from layline.core.patch import Effect, Guard, Inventory, Patch, Style
from layline.patches.declared_keys import Declared, Schema, parse_keys
from layline.patches.notes import check_notes, parse_rows

NOTES = """
| New Argument | Default Value | Description | Patched Files |
| --- | --- | --- | --- |
| `fast` | `false` | Fast. | `up.a.f`, `up.a.gone`, `up.b.h` |
| `slow` | `1` | Nobody reads it. | NA |
"""


def _patch(name: str, key: str, target: str) -> Patch:
    place = Location("own/p.py", 3)
    effect = Effect(style=Style.BINDING_REPLACEMENT, target=target, location=place)
    return Patch(
        id=name,
        backend="up",
        phase=None,
        priority=None,
        location=place,
        handler="h",
        handler_lines=(3, 4),
        guard=Guard(when=need_key(key)),
        effects=(effect,),
    )


def test_each_claim_has_a_verdict() -> None:
    inventory = Inventory(
        backend="up", commit="0" * 40, patches=(_patch("one", "fast", "up.a.f"), _patch("two", "new", "up.b.h"))
    )
    schema = Schema({"fast": (Declared("fast", "true", Location("own/c.yaml", 1)),)})
    claims = check_notes(NOTES, [inventory], {"up": schema}, {})
    told = {(claim.flag, claim.kind, claim.said): claim.verdict.value for claim in claims}
    assert told == {
        ("fast", "flag", "fast"): "confirmed",
        ("fast", "default", "false"): "contradicted",
        ("fast", "symbol", "up.a.f"): "confirmed",
        ("fast", "symbol", "up.a.gone"): "stale",
        ("fast", "symbol", "up.b.h"): "contradicted",
        ("slow", "flag", "slow"): "stale",
        ("slow", "default", "1"): "not-checkable",
        ("new", "flag", ""): "missing",
    }


def test_tables_without_flags_are_not_notes() -> None:
    assert list(parse_rows("| A | B |\n| --- | --- |\n| x | y |\n")) == []


def test_yaml_keys_have_lines() -> None:
    found = parse_keys("c.yaml", "a: 1\nb:\n  c: null\n  d: [1, 2]\n")
    assert not isinstance(found, Skipped)
    assert [(item.key, item.value, item.location.line) for item in found] == [
        ("a", "1", 1),
        ("b.c", "null", 3),
        ("b.d", "[1, 2]", 4),
    ]


def test_broken_yaml_is_skipped_with_its_reason() -> None:
    assert isinstance(parse_keys("c.yaml", "a: [1"), Skipped)
