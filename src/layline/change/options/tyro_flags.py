"""Flags that `tyro.cli` makes of nested dataclasses: `Config.training.steps` is `--training.steps`.

The class is read from the call; from the `Type[…]` annotations around it where a variable is passed; or, where a
configuration is chosen by name at run time, from what the functions of the modules so named say they return.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.change.options.fields import ConfigField, all_fields
from layline.change.options.flags import Flag, field_default, find_files_with
from layline.core.evidence import Skipped
from layline.core.ours import is_test_module
from layline.source import DefinitionKind, parse_tree
from layline.source.resolve import Resolver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from layline.source import Index

_DEEPEST = 8
_HIDDEN = re.compile(r"\b(?:conf\.)?(?:Suppress|SuppressFixed|Fixed)\b")
_FACTORY = re.compile(r"default_factory\s*=\s*([A-Za-z_][\w.]*)")

Classes = dict[str, dict[str, ConfigField]]


def find_tyro_flags(resolver: Resolver, classes: Classes) -> Iterator[Flag | Skipped]:
    """The flags of every `tyro.cli` call of the index; a call whose class cannot be read is skipped."""
    hidden = frozenset(_find_hidden(resolver, classes))
    for module, tree in _find_modules(resolver.index):
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and ast.unparse(call.func) in {"tyro.cli", "cli"}):
                continue
            roots = sorted(set(_find_roots(resolver, classes, module, tree, call)) - hidden)
            if not roots:
                yield Skipped.at(
                    resolver.index.entries[module].path,
                    call.lineno,
                    "which class tyro makes flags of cannot be decided without running the code; its fields are listed "
                    "instead",
                )
            for root in roots:
                yield from _find_flags(resolver, classes, root, "", 0)


def _find_hidden(resolver: Resolver, classes: Classes) -> Iterator[str]:
    """Classes that a field keeps away from the command line (`Annotated[Spec | None, tyro.conf.Suppress]`)."""
    for fields in classes.values():
        for field in fields.values():
            module = resolver.resolve(field.owner).module if _HIDDEN.search(field.annotation or "") else None
            for word in re.findall(r"[A-Za-z_][\w.]*", field.annotation or "") if module is not None else ():
                home = resolver.resolve_in(module, word).home if module is not None else None
                if home in classes and home is not None:
                    yield home


def _find_modules(index: Index) -> Iterator[tuple[str, ast.Module]]:
    calling = {path for part in index.parts for path in find_files_with(part.tree, "tyro")}
    for name, entry in sorted(index.entries.items()):
        data = index.read_blob(name) if entry.path in calling else b""
        tree = parse_tree(entry.path, data) if b"cli(" in data and not is_test_module(name) else None
        if isinstance(tree, ast.Module):
            yield name, tree


def _find_roots(resolver: Resolver, classes: Classes, module: str, tree: ast.Module, call: ast.Call) -> Iterator[str]:
    given = call.args[0] if call.args else next((item.value for item in call.keywords if item.arg == "f"), None)
    found = _class_of(resolver, classes, module, given)
    if found is not None:
        yield found
        return
    annotated = [home for home in _find_annotated(resolver, classes, module, tree) if home is not None]
    yield from annotated or _find_registered(resolver, classes, tree)


def _find_annotated(resolver: Resolver, classes: Classes, module: str, tree: ast.Module) -> Iterator[str | None]:
    """`Type[X]` in annotations of the module."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id="Type" | "type") | ast.Attribute(attr="Type"), slice=inner):
                yield _class_of(resolver, classes, module, inner)


def _find_registered(resolver: Resolver, classes: Classes, tree: ast.Module) -> Iterator[str]:
    """What functions return in modules whose name ends an f-string here:
    `import_module(f"{a}.{b}.config_registry")`.
    """
    words = {
        part.value.lstrip(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.startswith(".")
    }
    for entry, module in resolver.index.modules():
        if entry.name.rpartition(".")[2] not in words:
            continue
        for definition in module.definitions:
            if definition.kind is DefinitionKind.FUNCTION and not definition.owner and definition.returns:
                home = resolver.resolve_in(entry.name, definition.returns.strip("\"'")).home
                if home in classes:
                    yield home


def _class_of(resolver: Resolver, classes: Classes, module: str, node: ast.expr | None) -> str | None:
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    home = resolver.resolve_in(module, ast.unparse(node)).home
    return home if home in classes else None


def _find_flags(resolver: Resolver, classes: Classes, owner: str, prefix: str, depth: int) -> Iterator[Flag]:
    for name, field in all_fields(resolver, classes, owner).items():
        if is_hidden(field) or name.startswith("_") or depth > _DEEPEST:
            continue
        inner = _nested(resolver, classes, field)
        if inner is not None:
            yield from _find_flags(resolver, classes, inner, f"{prefix}{name}.", depth + 1)
        elif not _is_optional_class(resolver, classes, field):
            yield _flag(prefix, name, field)


def is_hidden(field: ConfigField) -> bool:
    """Nobody can set it from outside the code."""
    made = "init=False" in (field.default or "").replace(" ", "")
    return made or _HIDDEN.search(field.annotation or "") is not None


def _nested(resolver: Resolver, classes: Mapping[str, object], field: ConfigField) -> str | None:
    """The dataclass of a field: what its default makes, if that can be read, else its annotation."""
    module = resolver.resolve(field.owner).module
    if module is None:
        return None
    made = _FACTORY.search(field.source or field.default or "")
    for text in (made.group(1) if made else "", (field.annotation or "").strip("\"'")):
        home = resolver.resolve_in(module, text).home if text else None
        if home in classes:
            return home
    return None


def _is_optional_class(resolver: Resolver, classes: Mapping[str, object], field: ConfigField) -> bool:
    """`X | None` of a dataclass: tyro makes subcommands of it, not flags."""
    bare = re.sub(r"\s*\|\s*None$|^(?:typing\.)?Optional\[(.*)\]$", r"\1", (field.annotation or "").strip("\"'"))
    module = resolver.resolve(field.owner).module
    return module is not None and bare.isidentifier() and resolver.resolve_in(module, bare).home in classes


def _flag(prefix: str, name: str, field: ConfigField) -> Flag:
    default = field_default(field.default) if field.default is not None else "required"
    option = f"--{prefix}{name}".replace("_", "-")
    return Flag(dest=f"{prefix}{name}", option=option, default=default, evidence=field.evidence, generated=True)
