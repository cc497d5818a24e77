"""A patch is found by every name that `patches list` and `patches drift` print."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layline.core.condition import NEVER
from layline.core.effect_ids import name_effects
from layline.core.evidence import Location
from layline.core.patch import OFFERED, Effect, Inventory, Patch, Style, Unregistered
from layline.errors import Error
from layline.patches.guards.show import say_callers
from layline.patches.named import as_patch, find_named, split_scope


def _effect(target: str, path: str, line: int) -> Effect:
    return Effect(style=Style.BINDING_REPLACEMENT, target=target, location=Location(path, line))


def _inventory() -> Inventory:
    registered = Patch(
        id="own.norm",
        backend="up",
        phase=None,
        priority=None,
        location=Location("own/norm.py", 7),
        handler="install",
        handler_lines=(7, 20),
        effects=(_effect("up.layers.Norm", "own/norm.py", 12),),
    )
    strays = (
        Unregistered(effect=_effect("up.layers.Rope.forward", "src/own/rope.py", 5), within="own.rope.install"),
        Unregistered(effect=_effect("up.layers.Loss", "src/own/rope.py", 6), within="own.rope.install"),
        Unregistered(
            effect=replace(_effect("up.layers.Loss", "src/own/loss.py", 3), replacement="own.fast.quick_loss"),
            within="own.loss",
        ),
    )
    return name_effects(Inventory(backend="up", commit="c", patches=(registered,), unregistered=strays))


INVENTORY = _inventory()
ROPE = INVENTORY.unregistered[0].effect.id


@pytest.mark.parametrize(
    ("word", "targets", "handler"),
    [
        ("own.norm", ["up.layers.Norm"], "install"),
        (INVENTORY.patches[0].effects[0].id, ["up.layers.Norm"], "install"),
        ("own/norm.py:7", ["up.layers.Norm"], "install"),
        ("norm.py:12", ["up.layers.Norm"], "install"),
        ("up.layers.Norm", ["up.layers.Norm"], "install"),
        (ROPE, ["up.layers.Rope.forward"], "install"),
        ("src/own/rope.py:5", ["up.layers.Rope.forward"], "install"),
        ("./src/own/rope.py:5", ["up.layers.Rope.forward"], "install"),
        ("Rope.forward", ["up.layers.Rope.forward"], "install"),
        ("Rope", ["up.layers.Rope.forward"], "install"),
        ("own.rope.install", ["up.layers.Rope.forward", "up.layers.Loss"], "install"),
        ("rope.install", ["up.layers.Rope.forward", "up.layers.Loss"], "install"),
        ("own.loss", ["up.layers.Loss"], ""),
        ("quick_loss", ["up.layers.Loss"], ""),
        ("own.fast.quick_loss", ["up.layers.Loss"], ""),
    ],
)
def test_a_patch_is_found_by(word: str, targets: list[str], handler: str) -> None:
    found = find_named([INVENTORY], word).patch
    assert ([effect.target for effect in found.effects], found.handler) == (targets, handler)


def test_what_tests_before_it_rule_out_is_never_active() -> None:
    stray = Unregistered(effect=_effect("up.layers.Loss", "own/loss.py", 3), within="own.loss.install")
    ruled_out = replace(stray, effect=replace(stray.effect, when=NEVER))
    told = [(one.active, one.active_reason) for one in (as_patch([stray]), as_patch([ruled_out]))]
    assert told == [
        (True, "it applies when install runs"),
        (False, "conditions above this line make it unreachable"),
    ]


def test_a_name_of_several_patches_lists_their_ids() -> None:
    with pytest.raises(Error, match="matches 2 patches") as caught:
        find_named([INVENTORY], "up.layers.Loss")
    assert all(item.effect.id in (caught.value.hint or "") for item in INVENTORY.unregistered[1:])


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("up.layers.Rope.forwad", "Did you mean 'up.layers.Rope.forward'?"),
        ("own/rope.py:4", "Did you mean 'src/own/rope.py:5'?"),
        ("norm.py:13", "Did you mean 'own/norm.py:12'?"),
        ("rope.instal", "Did you mean 'rope.install'?"),
        ("own/nrm.py:13", "Did you mean 'own/norm.py:12'?"),
        ("Rop", "Did you mean 'Rope'?"),
        ("ropee", "Did you mean 'src/own/rope.py:5'?"),
        (f"{ROPE[:-1]}z", f"Did you mean {ROPE!r}?"),
        ("drift-c45f784c0720", "That is the id of a finding. Use the `effect` id of the same row."),
    ],
)
def test_a_slip_of_the_hand_gets_a_hint(word: str, hint: str) -> None:
    with pytest.raises(Error, match="No patch matches") as caught:
        find_named([INVENTORY], word)
    assert hint in (caught.value.hint or "")


def test_a_function_that_is_only_exported_is_not_called() -> None:
    assert list(say_callers(["own/x.py:3", f"own/__init__.py:1{OFFERED}"], unknown=False)) == [
        "called from own/x.py:3, own/__init__.py:1 (offered to users)"
    ]
    assert list(say_callers([f"own/__init__.py:1{OFFERED}"], unknown=False)) == [
        "our code does not call it; it is exported at own/__init__.py:1, for users to call"
    ]
    assert not list(say_callers([], unknown=True))


def test_of_two_backends_the_one_that_has_the_target_is_meant() -> None:
    other = replace(INVENTORY, backend="other")
    assert find_named([INVENTORY, other], ROPE).inventory.backend == "up"


@pytest.mark.parametrize(
    ("within", "path", "split"),
    [
        ("own.a.install", "src/own/a.py", ("own.a", "install")),
        ("own.a.C.install", "own/a.py", ("own.a", "C.install")),
        ("own.a", "own/a.py", ("own.a", "")),
        ("own.install", "own/__init__.py", ("own", "install")),
    ],
)
def test_a_scope_is_its_module_and_the_rest(within: str, path: str, split: tuple[str, str]) -> None:
    assert split_scope(within, path) == split
