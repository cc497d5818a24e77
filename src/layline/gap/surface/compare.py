"""The whole surface of one upstream, pin against tip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.change.surface import Surface
from layline.core.evidence import Skipped
from layline.gap.surface.definitions import compare_definitions, read_rows
from layline.gap.surface.fields import all_fields, compare_fields, read_config_classes
from layline.gap.surface.flags import Flag, compare_flags, read_flags
from layline.gap.surface.tyro_flags import find_tyro_flags
from layline.source import is_within

if TYPE_CHECKING:
    from layline.change.compare import Comparer
    from layline.core.evidence import Evidence
    from layline.gap.surface.fields import ConfigField
    from layline.source.resolve import Resolver


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

    def _nested(self, resolver: Resolver, owner: str, field: ConfigField) -> dict[str, ConfigField]:
        symbol = resolver.resolve(owner)
        if symbol.module is None or not field.annotation:
            return {}
        home = resolver.resolve_in(symbol.module, field.annotation.strip("\"'")).home
        return all_fields(resolver, self.classes, home) if home in self.classes else {}


def read_options(resolver: Resolver, packages: tuple[str, ...]) -> Options:
    classes = read_config_classes(resolver.index, packages)
    flags, skipped = read_flags(resolver, packages, classes)
    made = list(find_tyro_flags(resolver, classes))
    by_tyro = {one.dest: one for one in reversed(made) if isinstance(one, Flag)}
    unread = tuple(one for one in made if isinstance(one, Skipped))
    return Options(classes=classes, flags=by_tyro | flags, skipped=(*skipped, *unread))


def compare_surface(comparer: Comparer, packages: tuple[str, ...], before: Options, after: Options) -> Surface:
    return Surface(
        definitions=compare_definitions(comparer.pin, comparer.tip, packages),
        fields=compare_fields(comparer, before.classes, after.classes),
        flags=compare_flags(before.flags, after.flags),
        sizes=(
            ("modules", _count_modules(comparer.pin, packages), _count_modules(comparer.tip, packages)),
            ("definitions", len(read_rows(comparer.pin.index, packages)), len(read_rows(comparer.tip.index, packages))),
            ("config dataclasses", len(before.classes), len(after.classes)),
            ("config fields", sum(map(len, before.classes.values())), sum(map(len, after.classes.values()))),
            ("command-line flags", len(before.flags), len(after.flags)),
        ),
    )


def _count_modules(resolver: Resolver, packages: tuple[str, ...]) -> int:
    return sum(1 for name in resolver.index.entries if any(is_within(name, package) for package in packages))
