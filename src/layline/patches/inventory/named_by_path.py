"""Patches that are registered by the path of their target: `register_patch("a.b.C.m", f)`."""

from __future__ import annotations

from dataclasses import replace

from layline.core.patch import Guard, Patch, Unregistered


def build_path_patch(item: Unregistered, key: str, guard: Guard) -> Patch:
    """A string-path registration: the target is its id; the conditions around it and its callers are its guard."""
    effect = item.effect
    return Patch(
        id=effect.target or str(effect.location),
        backend=key,
        phase=None,
        priority=None,
        location=effect.location,
        handler=item.within,
        handler_lines=(effect.location.line, effect.location.line),
        description=f"{effect.replacement} for {effect.target}",
        active_reason=f"registered by {item.registry} in {item.within}",
        guard=guard,
        effects=(replace(effect, when=None),),
        implementation=(effect.replacement_at.path,) if effect.replacement_at else (),
    )
