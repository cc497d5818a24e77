"""Which calls register patches: well-known names, and those the configuration adds or takes away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from layline.config import Registry

HANDLERS = frozenset({"register_patch", "register_handler_patch", "patch_handler"})
PATHS = frozenset(
    {"register_patch", "register_patches", "add_patch", "patch_path", "patch_object", "patch", "register"}
)
WRAPPERS = frozenset(
    {"_w", "_wrap", "wrap", "wrap_function_wrapper", "wrap_object", "patch_function_wrapper", "wrap_method"}
)
_COMMON = frozenset({"patch", "register"})
"""Too common to stop at: a function of the downstream called so is read, not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registries:
    """Last names of the functions that register, by what their arguments mean."""

    handlers: frozenset[str] = HANDLERS
    """They take an installer: `register_patch("id", phase=…)(handler)`."""
    paths: frozenset[str] = PATHS
    """They name a target by text: `register_patch("a.b.C.m", replacement)`."""
    wrappers: frozenset[str] = WRAPPERS
    """They wrap `(module, "Class.method", wrapper)`."""
    configured: frozenset[str] = frozenset()
    """Names that the configuration added: these are believed, wherever they are defined."""

    def believes_path(self, name: str) -> bool:
        """Whether a function of the downstream called so names a target by text, whatever its body does."""
        return name in self.paths and (name in self.configured or name not in _COMMON)

    def believes_wrapper(self, name: str) -> bool:
        return name in self.wrappers and name in self.configured


def read_registries(configured: Iterable[Registry]) -> Registries:
    """The well-known names and the configured ones, less those that the configuration says register nothing."""
    listed = list(configured)
    handlers = frozenset(name for registry in listed for name in registry.handlers)
    paths = frozenset(name for registry in listed for name in registry.paths)
    wrappers = frozenset(name for registry in listed for name in registry.wrappers)
    ignored = frozenset(name for registry in listed for name in registry.ignored)
    return Registries(
        handlers=(HANDLERS - paths | handlers) - ignored,
        paths=(PATHS - handlers | paths) - ignored,
        wrappers=(WRAPPERS | wrappers) - ignored,
        configured=(handlers | paths | wrappers) - ignored,
    )
