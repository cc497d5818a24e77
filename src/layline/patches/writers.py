"""Which functions may change upstream, by a look at their text: only those are worth reading."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.patches.reading.values import Function

_SHORT = 14
"""A helper this short is read for what it returns."""
_HINTS = re.compile(rb"\bsetattr\b|\bsys\.modules\b|\bwrap_\w+\b|\b_?wrap\(|\b_w\(|\bregister_patch\w*\b|\bgetsource\b|\bpatch_to\b|\b__class__ =|\bMethodType\b")  # fmt: skip
_IMPORTED = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([^)#]*?)(?:\)|$)|import[ \t]+([^\n#]+))", re.MULTILINE)  # fmt: skip


@lru_cache(maxsize=100_000)
def writes(node: ast.AST) -> bool:
    """Whether a function, or one it defines inside, sets an attribute or item of something other than itself."""
    return any(_is_write(inner) for inner in ast.walk(node))


def _is_write(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=targets):
            return any(_is_foreign(target) for target in targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _is_foreign(target)
        case ast.Delete(targets=targets):
            return any(_is_foreign(target) for target in targets)
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in {
                "setattr",
                "delattr",
                "exec",
                "wrap_function_wrapper",
                "wrap_object",
                "_w",
            } or name.startswith("register_patch")
    return False


def _is_foreign(target: ast.expr) -> bool:
    """`x.y = …` or `X[...] = …` where x is neither `self` nor a lower-case local table."""
    match target:
        case ast.Attribute(value=owner):
            return _root(owner) not in {"self", "cls"}
        case ast.Subscript(value=ast.Attribute() as owner):
            return _root(owner) not in {"self", "cls"}
        case ast.Subscript(value=ast.Name(id=name)):
            return name.upper() == name or name[:1].isupper() or name == "environ"
        case ast.Tuple(elts=elts):
            return any(_is_foreign(item) for item in elts)
    return False


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


@lru_cache(maxsize=100_000)
def _is_short(node: ast.AST) -> bool:
    return sum(isinstance(inner, ast.stmt) for inner in ast.walk(node)) <= _SHORT


def is_worth_following(function: Function) -> bool:
    """Read a called function if it may write, or is a short helper whose result may be a target."""
    return _is_short(function.node) or writes(function.node)


def find_helpers(functions: list[Function]) -> Iterator[str]:
    """Names of functions that write onto one of their own parameters: their callers decide the target."""
    for function in functions:
        parameters = {arg.arg for arg in (*function.node.args.args, *function.node.args.kwonlyargs)} - {"self", "cls"}
        if (
            len(function.name.rpartition(".")[2]) > 3
            and parameters
            and any(_writes_onto(inner, parameters) for inner in ast.walk(function.node))
        ):
            yield function.name.rpartition(".")[2]


def _writes_onto(node: ast.AST, parameters: set[str]) -> bool:
    match node:
        case ast.Assign(targets=targets):
            return any(isinstance(t, ast.Attribute) and _root(t.value) in parameters for t in targets)
        case ast.Call(func=ast.Name(id="setattr" | "_w" | "wrap_function_wrapper"), args=[first, *_]):
            return _root(first) in parameters
    return False


def calls_any(node: ast.AST, names: frozenset[str]) -> bool:
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)) if name in names:
                return True
    return False


def may_write(text: bytes, packages: tuple[str, ...]) -> bool:
    """A cheap look before parsing: whether the file sets attributes of something it imports from upstream."""
    if _HINTS.search(text):
        return True
    names: set[bytes] = set()
    tops = {package.partition(".")[0].encode() for package in packages}
    for base, listed, plain in _IMPORTED.findall(text):
        if plain:
            for part in plain.split(b","):
                words = part.split()
                if words and (not tops or words[0].partition(b".")[0] in tops):
                    names.add(words[2] if len(words) == 3 else words[0].partition(b".")[0])
        elif not tops or base.partition(b".")[0] in tops:
            names.update(word.split()[-1] for word in listed.split(b",") if word.strip())
    if not names:
        return False
    joined = b"|".join(re.escape(name) for name in sorted(names))
    pattern = (
        rb"(?:^|[;\s(=])(?:"
        + joined
        + rb")(?:\.\w+)*(?:\.\w+|\[[^\]\n]*\])\s*(?:=[^=]|\+=)|\bdel\s+(?:"
        + joined
        + rb")\."
    )
    return re.search(pattern, text, re.MULTILINE) is not None
