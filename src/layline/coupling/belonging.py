"""What a patch is on: one rule for the list, which counts, and for drift, which compares."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from layline.core.patch import TargetKind
from layline.source.names import longest_root

if TYPE_CHECKING:
    from layline.core.patch import Effect


def find_target(effect: Effect) -> str | None:
    """What is compared; of a config rewrite the function or mapping it goes through (`a.b.register('x')`,
    `a.b.TABLE['x']`).
    """
    if effect.target:
        return effect.target
    for key in effect.mutates:
        head = re.split(r"[(\[]", key, maxsplit=1)[0]
        if head != key and "." in head and all(part.isidentifier() for part in head.split(".")):
            return head
    return None


def is_on(effect: Effect, packages: Iterable[str], foreign: Iterable[str] = ()) -> bool | None:
    """Whether its target is a name of this upstream, wherever what it stands for is defined; None: it has no name.

    `packages` are the upstream's, `foreign` those of the other backends. A name below a package that no commit of
    upstream leads to is another distribution's (`up.bridge` beside `up.core`).
    """
    target = find_target(effect)
    if target is None:
        return None
    own, other = longest_root(target, packages), longest_root(target, foreign)
    if effect.target_kind is TargetKind.EXTERNAL:
        return own > other and effect.alias_of is not None
    return own > other or not other
