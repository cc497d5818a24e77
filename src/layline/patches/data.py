"""An inventory as plain JSON values: the contract others rely on (`layline.patches/1`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from layline.core.evidence import encode_skipped
from layline.patches.guards.show import show_condition, show_guard
from layline.patches.wanted import is_addition, is_state

if TYPE_CHECKING:
    from layline.core.patch import Effect, Inventory, Patch, Unregistered
    from layline.patches import answers

SCHEMA: Literal["layline.patches/1"] = "layline.patches/1"


def encode_inventory(inventory: Inventory) -> answers.Patches:
    return {
        "schema": SCHEMA,
        "backend": inventory.backend,
        "commit": inventory.commit,
        "pin": inventory.pin,
        "engine": {
            "phases": list(inventory.engine.phases),
            "switch": inventory.engine.switch,
            "switch_values": inventory.engine.switch_text,
            "location": str(inventory.engine.switch_at) if inventory.engine.switch_at else None,
        },
        "patches": [encode_patch(patch) for patch in inventory.patches],
        "unregistered": [encode_unregistered(item) for item in inventory.unregistered],
        "skipped": encode_skipped(inventory.skipped),
        "balance": {
            "candidates": inventory.balance.candidates,
            **{fate.value: count for fate, count in inventory.balance.fates},
            "not_read_at": [str(line) for line in inventory.balance.not_read],
            "lines": {fate.value: [str(line) for line in lines] for fate, lines in inventory.balance.unlisted},
        },
    }


def encode_patch(patch: Patch) -> answers.Patch:
    return {
        "id": patch.id,
        "backend": patch.backend,
        "phase": patch.phase,
        "priority": patch.priority,
        "file": patch.file,
        "line": patch.line,
        "handler": patch.handler,
        "description": patch.description,
        "tags": list(patch.tags),
        "version_gates": [str(one) for one in patch.version_patterns],
        "active": patch.active,
        "active_reason": patch.active_reason,
        "guard": {
            "text": show_condition(patch.guard.written) or None,
            "keys": list(patch.guard.keys),
            "other": list(patch.guard.other),
            "expression": show_guard(patch.guard),
        },
        "body_keys": list(patch.body_keys),
        "effects": [encode_effect(effect) for effect in patch.effects],
        "implementation": list(patch.implementation),
        "notes": list(patch.notes),
    }


def encode_effect(effect: Effect) -> answers.Effect:
    return {
        "id": effect.id,
        "style": effect.style.value,
        "target": effect.target,
        "replacement": effect.replacement,
        "replacement_at": str(effect.replacement_at) if effect.replacement_at else None,
        "replacements_at": [str(place) for place in effect.replacements_at],
        "otherwise": effect.otherwise,
        "holder": effect.holder.value if effect.holder else None,
        "reached": effect.reached,
        "adds": is_addition(effect),
        "mutates": list(effect.mutates),
        "location": str(effect.location),
        "certain": effect.certain,
        "reason": effect.reason,
        "moment": effect.moment.value,
        "target_kind": effect.target_kind.value,
        "alias_of": effect.alias_of,
        "suggestion": effect.suggestion,
        "removal": _encode_removal(effect),
        "anchors": list(effect.anchors),
        "when": show_condition(effect.when) or None,
        "state": is_state(effect),
    }


def _encode_removal(effect: Effect) -> answers.Removal | None:
    found = effect.removal
    if found is None:
        return None
    return {
        "what": found.what,
        "commit": found.commit,
        "date": found.date,
        "subject": found.subject,
        "elsewhere": found.elsewhere,
    }


def encode_unregistered(item: Unregistered) -> answers.Unregistered:
    return {
        **encode_effect(item.effect),
        "within": item.within,
        "called_from": list(item.called_from),
        "unknown_callers": item.unknown_callers,
    }
