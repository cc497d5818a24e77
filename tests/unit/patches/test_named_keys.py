"""A text handed to a helper is a target where upstream has it or the helper is seen to write, else a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.core.patch import TargetKind
from layline.patches.installer import Known
from layline.patches.inventory.read import read_inventory
from snippets import handler, open_reading

GUARD = """
_MARK = "_own_applied"


def is_patched(target, key):
    return key in getattr(target, _MARK, ())


def mark_patched(target, key):
    applied = getattr(target, _MARK, None)
    if applied is None:
        applied = set()
        setattr(target, _MARK, applied)
    applied.add(key)


def patch_path(path, new, find=None):
    owner, name = find(path)
    setattr(owner, name, new)
"""
KEYS = [
    # idiom, body, targets that are listed
    ("a mark that is asked for", "if is_patched(up.a, 'up.a.our_key'): return", []),
    ("a mark that is set", "mark_patched(up.a, 'up.a.our_key')", []),
    ("a mark beside a patch", "up.a.f = new\nmark_patched(up.a, 'up.a.our_key')", ["up.a.f"]),
    ("a key in the namespace", "mark_patched(up.a, 'up.elsewhere.our_key')", []),
    ("a helper that writes", "patch_path('up.a.gone', new)", ["up.a.gone"]),
    ("a name upstream has", "from lib import override_function\noverride_function('up.a.f', new)", ["up.a.f"]),
]


def look_up(dotted: str) -> Known:
    if dotted.startswith("up.elsewhere"):  # up is a namespace that others share
        return Known(TargetKind.EXTERNAL)
    return Known(TargetKind.DEFINITION if dotted in {"up.a", "up.a.f"} else TargetKind.ABSENT)


@pytest.mark.parametrize(("name", "body", "expected"), KEYS, ids=[row[0] for row in KEYS])
def test_keys_are_no_targets(tmp_path: Path, name: str, body: str, expected: list[str]) -> None:
    head = "import up.a\nfrom own.guard import is_patched, mark_patched, patch_path\ndef new(): pass\n"
    files = {"own/patches/case_patches.py": handler(body, before=head), "own/guard.py": GUARD}
    (patch,) = read_inventory(open_reading(tmp_path, files), "up", look_up).patches
    assert [effect.target for effect in patch.effects if effect.target] == expected
    assert all(effect.certain for effect in patch.effects)


def test_what_a_library_is_handed_is_uncertain_where_upstream_does_not_know_it(tmp_path: Path) -> None:
    body = "from lib import override_function\noverride_function('up.a.gone', new)"
    source = handler(body, before="import up.a\ndef new(): pass\n")
    (patch,) = read_inventory(open_reading(tmp_path, {"own/patches/case_patches.py": source}), "up", look_up).patches
    assert [(effect.target, effect.certain) for effect in patch.effects] == [("up.a.gone", False)]
