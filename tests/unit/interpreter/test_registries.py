"""Registries as configured: every key acts, beside the well-known names."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.config import Registry
from layline.core.patch import Inventory
from layline.patches.inventory.read import read_inventory
from snippets import HEAD, open_reading


def read(folder: Path, source: str, registry: Registry, more: dict[str, str] | None = None) -> Inventory:
    return read_inventory(open_reading(folder, {"own/boot.py": source, **(more or {})}, {"mine": registry}), "up")


NONE = Registry()
HUB = "class Hub:\n    def put(self, where, what):\n        self.kept = (where, what)\n\nhub = Hub()\n"
STORE = {"own/hub.py": HUB}


def test_a_configured_handler_registers_wherever_it_is_defined(tmp_path: Path) -> None:
    source = """
from kit.patches import install_patch

@install_patch("x.y", phase="setup", priority=3)
def install(ctx):
    import up.a as m
    m.f = print
"""
    assert read(tmp_path, source, NONE).patches == ()
    (patch,) = read(tmp_path, source, Registry(handlers=("install_patch",))).patches
    assert (patch.id, patch.phase, patch.priority) == ("x.y", "setup", 3)
    assert [effect.target for effect in patch.effects] == ["up.a.f"]


def test_well_known_handlers_stay(tmp_path: Path) -> None:
    source = f'{HEAD}\n@register_patch("known")\ndef install(ctx):\n    pass\n'
    files = {"own/patches/a_patches.py": source}
    assert [patch.id for patch in read(tmp_path, "", Registry(handlers=("put",)), files).patches] == ["known"]
    assert read(tmp_path, "", Registry(ignored=("register_patch",)), files).patches == ()


@pytest.mark.parametrize(
    "call",
    [
        'hub.put("up.a.C.m", new)',
        'hub.put(where="up.a.C.m", what=new)',
        'hub.put("up.a:C.m", new)',
        'hub.put(new, "up.a.C.m")',
    ],
)
def test_a_configured_path_call_names_its_target(tmp_path: Path, call: str) -> None:
    source = f"from own.hub import hub\n\ndef new(self):\n    pass\n\ndef go():\n    {call}\n"
    assert read(tmp_path, source, NONE, STORE).patches == ()
    (patch,) = read(tmp_path, source, Registry(paths=("put",)), STORE).patches
    assert (patch.id, patch.effects[0].replacement) == ("up.a.C.m", "own.boot.new")


def test_a_configured_path_call_may_be_a_decorator(tmp_path: Path) -> None:
    source = 'from kit import swap\n\n@swap("up.a.C.m")\ndef new(self):\n    pass\n'
    (patch,) = read(tmp_path, source, Registry(paths=("swap",))).patches
    assert (patch.id, patch.effects[0].replacement) == ("up.a.C.m", "own.boot.new")


@pytest.mark.parametrize(
    "call",
    [
        'trace(up.a, "C.m", new)',
        'trace("up.a", "C.m", new)',
        'trace(module="up.a", name="C.m", wrapper=new)',
        'trace("up.a.C.m", new)',
    ],
)
def test_a_configured_wrapper_wraps(tmp_path: Path, call: str) -> None:
    source = (
        "import up.a\nfrom kit import trace\n\ndef new(wrapped, instance, args, kwargs):\n    pass\n\ndef "
        f"go():\n    {call}\n"
    )
    assert read(tmp_path, source, NONE).unregistered == ()
    (item,) = read(tmp_path, source, Registry(wrappers=("trace",))).unregistered
    assert (item.effect.style.value, item.effect.target) == ("function-wrapping", "up.a.C.m")


def test_a_well_known_name_can_be_taken_away(tmp_path: Path) -> None:
    source = "from kit import wrap\n\ndef new(): pass\n\ndef go():\n    wrap('up.a', 'text', new)\n"
    assert len(read(tmp_path, source, NONE).unregistered) == 1
    assert read(tmp_path, source, Registry(ignored=("wrap",))).unregistered == ()


def test_the_roles_of_a_helper_are_learned_by_reading_it(tmp_path: Path) -> None:
    helper = "def exchange(new, *, of, called):\n    owner = of\n    setattr(owner, called, new)\n"
    source = (
        "import up.a\nfrom own.tools import exchange\n\ndef new(): pass\n\ndef go():\n    exchange(new, "
        "of=up.a.C, called='m')\n"
    )
    (item,) = read(tmp_path, source, NONE, {"own/tools.py": helper}).unregistered
    assert (item.effect.target, item.effect.replacement, str(item.effect.location)) == (
        "up.a.C.m",
        "own.boot.new",
        "own/boot.py:7",
    )
