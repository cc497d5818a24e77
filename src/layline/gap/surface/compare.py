"""The whole surface of one upstream, pin against tip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.change.options.fields import compare_fields
from layline.change.options.flags import compare_flags
from layline.change.surface import Surface
from layline.gap.surface.definitions import compare_definitions, read_rows
from layline.source import is_within

if TYPE_CHECKING:
    from layline.change.compare import Comparer
    from layline.change.options.read import Options
    from layline.source.resolve import Resolver


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
