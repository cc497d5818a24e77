"""Differences between two signatures, parameter by parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from layline.source.definitions import Definition, Parameter, ParameterKind

_SHOWN = 60
_FEW = 4
_STARS = frozenset({ParameterKind.VARIADIC, ParameterKind.KEYWORDS})
_BINDERS = {
    "staticmethod",
    "classmethod",
    "property",
    "cached_property",
    "abstractmethod",
    "contextmanager",
    "asynccontextmanager",
}


class ParameterChange(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    REORDERED = "reordered"
    KIND = "kind"
    DEFAULT = "default"
    ASYNC = "async"
    DECORATORS = "decorators"


@dataclass(frozen=True, slots=True)
class SignatureChange:
    """One difference; `may_break` says whether some call that was right before is wrong (or means another thing)
    now.
    """

    change: ParameterChange
    name: str
    before: str | None = None
    after: str | None = None
    may_break: bool = False

    def __str__(self) -> str:
        match self.change:
            case ParameterChange.ADDED:
                return (
                    f"{'required ' if self.may_break and '=' not in (self.after or '') else ''}parameter "
                    f"{self.after} added"
                )
            case ParameterChange.REMOVED:
                return f"parameter {self.name} removed"
            case ParameterChange.RENAMED:
                return f"parameter {self.before} renamed to {self.after}"
            case ParameterChange.DECORATORS if self.before is None or self.after is None:
                return f"decorator {self.after or self.before} {'added' if self.before is None else 'removed'}"
            case ParameterChange.ASYNC | ParameterChange.DECORATORS:
                return f"{self.before} became {self.after}"
        what = f"{self.name}: {self.change}" if self.name else "parameters"
        return f"{what} {self.before} became {self.after}"


def compare_signatures(before: Definition, after: Definition) -> tuple[SignatureChange, ...]:
    """Every difference a caller or an override can notice, in the order of the parameters. Annotations do not count."""
    return (
        *_compare_parameters(before.parameters or (), after.parameters or ()),
        *_compare_nature(before, after),
    )


def _compare_parameters(before: tuple[Parameter, ...], after: tuple[Parameter, ...]) -> Iterator[SignatureChange]:
    old, new = {item.name: item for item in before}, {item.name: item for item in after}
    renamed = dict(_find_renamed(before, after))
    swallowed = _find_swallowed(before, after)
    if swallowed:
        words = [item.name for item in swallowed]
        more = f", … ({len(words)} in all)" if len(words) > _FEW else ""
        yield SignatureChange(ParameterChange.KIND, "", f"{', '.join(words[:_FEW])}{more}", "*args, **kwargs")
    for item in before:
        if item in swallowed:
            continue
        if item.name in new:
            yield from _compare_parameter(item, new[item.name])
        elif item.name in renamed:
            # a positional-only name is nobody's business, any other may be passed by keyword
            breaks = item.kind is not ParameterKind.POSITIONAL_ONLY
            yield SignatureChange(ParameterChange.RENAMED, item.name, item.name, renamed[item.name], breaks)
        else:
            yield SignatureChange(ParameterChange.REMOVED, item.name, str(item), None, may_break=True)
    for item in after:
        if item.name not in old and item.name not in renamed.values() and not (swallowed and item.kind in _STARS):
            squeezed = item.kind in _BY_POSITION and _stands_before_common(item, after, old)
            yield SignatureChange(ParameterChange.ADDED, item.name, None, str(item), item.required or squeezed)
    yield from _compare_order(before, after)


def _find_swallowed(before: tuple[Parameter, ...], after: tuple[Parameter, ...]) -> list[Parameter]:
    """Parameters that are no longer named because the function now takes anything and hands it on: none of them is
    gone.
    """
    if not {item.kind for item in after} >= _STARS or {item.kind for item in before} >= _STARS:
        return []
    named = {item.name for item in after}
    return [item for item in before if item.name not in named and item.kind not in _STARS and item.name != "self"]


_BY_POSITION = {ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL}


def _stands_before_common(item: Parameter, after: tuple[Parameter, ...], old: dict[str, Parameter]) -> bool:
    """True if a positional parameter that callers already pass comes after the new one."""
    rest = after[after.index(item) + 1 :]
    return any(other.kind in _BY_POSITION and other.name in old for other in rest)


def _find_renamed(before: tuple[Parameter, ...], after: tuple[Parameter, ...]) -> Iterator[tuple[str, str]]:
    """Parameters that kept their place, kind and default but not their name."""
    old, new = {item.name for item in before}, {item.name for item in after}
    for one, two in zip(before, after, strict=False):
        same = (one.kind, one.default, one.annotation) == (two.kind, two.default, two.annotation)
        if one.name not in new and two.name not in old and same:
            yield one.name, two.name


def _compare_parameter(before: Parameter, after: Parameter) -> Iterator[SignatureChange]:
    if before.kind is not after.kind:
        narrowed = (before.kind, after.kind) != (ParameterKind.KEYWORD_ONLY, ParameterKind.POSITIONAL)
        yield SignatureChange(ParameterChange.KIND, before.name, before.kind.value, after.kind.value, narrowed)
    if before.default != after.default:
        lost = before.default is not None and after.default is None
        yield SignatureChange(
            ParameterChange.DEFAULT, before.name, before.default or "required", after.default or "required", lost
        )


def _compare_order(before: tuple[Parameter, ...], after: tuple[Parameter, ...]) -> Iterator[SignatureChange]:
    one = [item.name for item in before if item.kind in _BY_POSITION]
    two = [item.name for item in after if item.kind in _BY_POSITION]
    common = set(one) & set(two)
    old, new = [name for name in one if name in common], [name for name in two if name in common]
    if old != new:
        first = next(name for name, other in zip(old, new, strict=True) if name != other)
        yield SignatureChange(ParameterChange.REORDERED, first, ", ".join(old), ", ".join(new), may_break=True)


def _compare_nature(before: Definition, after: Definition) -> Iterator[SignatureChange]:
    if before.is_async != after.is_async:
        words = ("def", "async def")
        yield SignatureChange(
            ParameterChange.ASYNC, before.name, words[before.is_async], words[after.is_async], may_break=True
        )
    yield from compare_decorators(before, after)


def takes_same(old: Definition, new: Definition) -> bool:
    """Whether whatever calls the one can call the other: the same parameters in the same order, perhaps more."""
    taken = [one.name for one in old.parameters or ()]
    return taken == [one.name for one in new.parameters or ()][: len(taken)]


def takes_others(old: Definition | None, new: Definition | None) -> bool:
    """Whether a function takes other parameters than the one it stands for, so that another name alone mends no call."""
    if old is None or new is None or old.parameters is None or new.parameters is None:
        return False
    return not takes_same(old, new)


def compare_decorators(before: Definition, after: Definition) -> Iterator[SignatureChange]:
    """Decorators that came or went, or another order; `may_break` where they decide how the name is used."""
    if before.decorators == after.decorators:
        return
    gone = [word for word in before.decorators if word not in after.decorators]
    come = [word for word in after.decorators if word not in before.decorators]
    yield tell_decorators(before.name, gone, come) if gone or come else _tell_order(before, after)


def tell_decorators(name: str, gone: Sequence[str], come: Sequence[str]) -> SignatureChange:
    """Decorators that went and that came, as one difference."""
    breaks = not {word.partition("(")[0].rpartition(".")[2] for word in (*gone, *come)}.isdisjoint(_BINDERS)
    return SignatureChange(ParameterChange.DECORATORS, name, _listed(gone), _listed(come), may_break=breaks)


def split_change(change: SignatureChange, before: Definition, after: Definition) -> tuple[SignatureChange, ...]:
    """One difference of these two, of several decorators each by itself: not one commit need have done it all."""
    if change.change is not ParameterChange.DECORATORS:
        return (change,)
    gone = [tell_decorators(change.name, (word,), ()) for word in before.decorators if word not in after.decorators]
    come = [tell_decorators(change.name, (), (word,)) for word in after.decorators if word not in before.decorators]
    return (*gone, *come) or (change,)


def _tell_order(before: Definition, after: Definition) -> SignatureChange:
    old, new = _listed(before.decorators), _listed(after.decorators)
    return SignatureChange(ParameterChange.DECORATORS, before.name, old, new)


def _listed(words: Sequence[str]) -> str | None:
    """As they are written, long arguments cut; None where there is none."""
    return " ".join(f"@{word if len(word) <= _SHOWN else f'{word[: _SHOWN - 1]}…'}" for word in words) or None


def returns_another(before: str | None, after: str | None) -> bool:
    """True if the declared return type became another one; a narrower one (`type` → `type[X]`, `A | B` → `A`) is none,
    and `Any` says nothing.
    """
    if before is None or after is None or before == after:
        return False
    old, new = _find_types(before), _find_types(after)
    return not (new and new <= old) and old != new and "any" not in old | new


def _find_types(text: str) -> frozenset[str]:
    """The last names of the types that an annotation allows, but None: `Optional[a.X]`, `X | None` and `"X"` are X."""
    try:
        return frozenset(_find_heads(ast.parse(text.strip("\"' "), mode="eval").body))
    except (SyntaxError, ValueError):
        return frozenset({text})


def _find_heads(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=None):
            return
        case ast.Constant(value=str(text)):
            yield from _find_types(text)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _find_heads(left)
            yield from _find_heads(right)
        case ast.Subscript(value=head, slice=inner) if ast.unparse(head).rpartition(".")[2] in {"Optional", "Union"}:
            for item in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                yield from _find_heads(item)
        case ast.Subscript(value=head):
            yield from _find_heads(head)
        case _:
            yield ast.unparse(node).rpartition(".")[2].lower()  # `List` and `list` are one
