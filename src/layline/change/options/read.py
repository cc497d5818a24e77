"""Everything that can be configured at one ref."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.change.options.fields import all_fields, read_config_classes
from layline.change.options.flags import Flag, read_flags
from layline.change.options.tyro_flags import find_tyro_flags
from layline.core.evidence import Skipped

if TYPE_CHECKING:
    from layline.change.options.fields import ConfigField
    from layline.core.evidence import Evidence
    from layline.source.resolve import Resolver


_WHOLE = 3
"""Sections from which a configuration is a whole one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What can be configured at one ref."""

    classes: dict[str, dict[str, ConfigField]]
    flags: dict[str, Flag]
    skipped: tuple[Skipped, ...]

    def known(self, resolver: Resolver) -> dict[str, Evidence]:
        """Every name a YAML key may mean: flags, fields, and `section.field` of nested configuration."""
        found: dict[str, Evidence] = {}
        for owner in self.classes:
            for name, field in all_fields(resolver, self.classes, owner).items():
                found.setdefault(name, field.evidence)
                inner = self._nested(resolver, owner, field)
                for below, deeper in inner.items():
                    found.setdefault(f"{name}.{below}", deeper.evidence)
        return found | {dest: flag.evidence for dest, flag in self.flags.items()}

    def find_top(self, resolver: Resolver) -> frozenset[str]:
        """Keys that stand in no section: plain fields of a configuration that holds others and that none holds."""
        inner: dict[str, dict[str, str]] = {
            owner: {
                name: home
                for name, field in all_fields(resolver, self.classes, owner).items()
                if (home := self._home(resolver, owner, field)) is not None
            }
            for owner in self.classes
        }
        held = {home for homes in inner.values() for home in homes.values()}
        roots = [owner for owner, homes in inner.items() if len(homes) >= _WHOLE and owner not in held]
        return frozenset(
            name
            for owner in roots
            for name in all_fields(resolver, self.classes, owner)
            if name not in inner[owner] and not name.startswith("_")
        )

    def _nested(self, resolver: Resolver, owner: str, field: ConfigField) -> dict[str, ConfigField]:
        home = self._home(resolver, owner, field)
        return all_fields(resolver, self.classes, home) if home is not None else {}

    def _home(self, resolver: Resolver, owner: str, field: ConfigField) -> str | None:
        """The configuration that a field holds."""
        symbol = resolver.resolve(owner)
        if symbol.module is None or not field.annotation:
            return None
        home = resolver.resolve_in(symbol.module, field.annotation.strip("\"'")).home
        return home if home in self.classes else None


def read_options(resolver: Resolver, packages: tuple[str, ...]) -> Options:
    classes = read_config_classes(resolver.index, packages)
    flags, skipped = read_flags(resolver, packages, classes)
    made = list(find_tyro_flags(resolver, classes))
    by_tyro = {one.dest: one for one in reversed(made) if isinstance(one, Flag)}
    unread = tuple(one for one in made if isinstance(one, Skipped))
    return Options(classes=classes, flags=by_tyro | flags, skipped=(*skipped, *unread))
