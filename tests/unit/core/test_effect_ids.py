"""Every effect has an id that survives moved lines and is unique in its inventory."""

from __future__ import annotations

from dataclasses import replace

from layline.core.effect_ids import is_effect_id, name_effects
from layline.core.evidence import Location
from layline.core.patch import Effect, Inventory, Style, Unregistered


def _stray(target: str | None, line: int, within: str = "own.install") -> Unregistered:
    effect = Effect(style=Style.BINDING_REPLACEMENT, target=target, location=Location("own.py", line))
    return Unregistered(effect=effect, within=within)


def _ids(*items: Unregistered) -> list[str]:
    named = name_effects(Inventory(backend="b", commit="c", unregistered=items))
    return [item.effect.id for item in named.unregistered]


def test_ids_do_not_depend_on_lines() -> None:
    assert _ids(_stray("up.a", 3), _stray("up.b", 9)) == _ids(_stray("up.a", 40), _stray("up.b", 41))


def test_file_scope_and_target_each_count() -> None:
    one = _stray("up.a", 3)
    elsewhere = replace(one, effect=replace(one.effect, location=Location("other.py", 3)))
    assert len(set(_ids(one, elsewhere, _stray("up.a", 3, "own.again"), _stray("up.b", 3)))) == 4


def test_the_same_write_twice_has_two_ids() -> None:
    ids = _ids(_stray("up.a", 3), _stray("up.a", 4), _stray(None, 5), _stray(None, 6))
    assert len(set(ids)) == 4
    assert all(map(is_effect_id, ids))


def test_many_effects_stay_unique() -> None:
    ids = _ids(*(_stray(f"up.n{number}", 1) for number in range(3_000)))
    assert len(set(ids)) == 3_000
