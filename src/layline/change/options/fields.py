"""Config dataclasses: their fields and defaults at pin and tip, inherited ones included where they are declared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from layline.change.compare import Comparer
from layline.change.surface import SurfaceChange, SurfaceRow
from layline.core.evidence import Evidence
from layline.core.ours import is_test_module
from layline.source import Definition, DefinitionKind, Index, is_within
from layline.source.resolve import Resolver

_CUT = 200
"""How long a value the index keeps."""
_CONFIG = re.compile(r"(?:Config|Configs|Args|Arguments|Options|Settings|Params|Spec)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigField:
    """One field of one config dataclass."""

    owner: str
    name: str
    default: str | None
    """As text; long ones are cut."""
    annotation: str | None
    evidence: Evidence
    source: str = ""
    """The whole text of a default that is cut."""


def read_config_classes(index: Index, packages: tuple[str, ...]) -> dict[str, dict[str, ConfigField]]:
    """Dotted class → its own fields, for dataclasses that hold configuration."""
    found: dict[str, dict[str, ConfigField]] = {}
    for entry, module in index.modules():
        if not any(is_within(entry.name, package) for package in packages) or is_test_module(entry.name):
            continue
        for definition in module.definitions:
            if definition.kind is DefinitionKind.CLASS and is_config(entry.name, definition):
                owner = f"{entry.name}.{definition.qualname}"
                found[owner] = {one.name: one for one in _own_fields(index, entry.name, definition)}
    return found


def is_config(module: str, definition: Definition) -> bool:
    named = _CONFIG.search(definition.qualname) is not None or "config" in module.rpartition(".")[2]
    return definition.is_dataclass and named


def _own_fields(index: Index, module: str, owner: Definition) -> Iterator[ConfigField]:
    holder = index.module(module)
    for name in holder.members(owner.qualname) if holder else ():
        definition = holder.best(f"{owner.qualname}.{name}") if holder else None
        if definition is None or definition.kind is not DefinitionKind.FIELD or definition.returns is None:
            continue  # without an annotation it is a class attribute
        if definition.returns.startswith(("ClassVar", "typing.ClassVar")):
            continue
        source = ""
        if definition.value is not None and len(definition.value) >= _CUT:
            first, last = definition.lines
            source = "\n".join(index.read_text(module).splitlines()[first - 1 : last])
        yield ConfigField(
            source=source,
            owner=f"{module}.{owner.qualname}",
            name=name,
            default=definition.value,
            annotation=definition.returns,
            evidence=index.evidence(module, (definition.line, definition.line)),
        )


def all_fields(
    resolver: Resolver, classes: dict[str, dict[str, ConfigField]], owner: str, depth: int = 0
) -> dict[str, ConfigField]:
    """The fields of a dataclass with those it inherits."""
    symbol = resolver.resolve(owner)
    found: dict[str, ConfigField] = {}
    if symbol.definition is not None and symbol.module is not None and depth < 8:
        for base in reversed(symbol.definition.bases):
            home = resolver.resolve_in(symbol.module, base.partition("[")[0]).home
            if home in classes:
                found |= all_fields(resolver, classes, home, depth + 1)
    return found | classes.get(owner, {})


def compare_fields(
    comparer: Comparer, before: dict[str, dict[str, ConfigField]], after: dict[str, dict[str, ConfigField]]
) -> tuple[SurfaceRow, ...]:
    """Fields added, removed, with another default; a class that moved is followed to its new home."""
    rows: list[SurfaceRow] = []
    followed: set[str] = set()
    for owner, fields in before.items():
        home = owner if owner in after else comparer.compare(owner).new_home
        if home is None or home not in after:
            rows += [_row(SurfaceChange.REMOVED, one, None) for one in fields.values()]
            continue
        followed.add(home)
        rows += _compare_class(fields, after[home])
    for owner, fields in after.items():
        if owner not in followed:
            rows += [_row(SurfaceChange.ADDED, None, one) for one in fields.values()]
    return tuple(sorted(rows, key=lambda row: (row.name, row.change)))


def _compare_class(before: dict[str, ConfigField], after: dict[str, ConfigField]) -> Iterator[SurfaceRow]:
    for name, field in before.items():
        if name not in after:
            yield _row(SurfaceChange.REMOVED, field, None)
        elif field.default != after[name].default:
            yield _row(SurfaceChange.DEFAULT, field, after[name])
    for name, field in after.items():
        if name not in before:
            yield _row(SurfaceChange.ADDED, None, field)


def _row(change: SurfaceChange, was: ConfigField | None, now: ConfigField | None) -> SurfaceRow:
    one = was or now
    if one is None:
        raise ValueError("a field needs a side")
    return SurfaceRow(
        change=change,
        kind="field",
        name=f"{one.owner}.{one.name}",
        was=_text(was),
        now=_text(now),
        pin_evidence=was.evidence if was else None,
        tip_evidence=now.evidence if now else None,
    )


def _text(field: ConfigField | None) -> str | None:
    if field is None:
        return None
    return field.default if field.default is not None else "required"
