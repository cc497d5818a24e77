"""Conditions taken apart: which of their parts are about upstream names, versions, config keys and the environment.

`conditions` reduces a test and knows its words; here it becomes the one value that is shown, asked for its keys, and
decided at an upstream ref, so that a patch whose guard can no longer be true is told from one that is switched off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from layline.core.condition import (
    OPAQUE,
    Condition,
    ConditionKind,
    need_class,
    need_import,
    need_key,
    need_name,
    need_value,
    negate,
    say,
)
from layline.interpreter.conditions import Reader, simplify
from layline.interpreter.values import Called, Choice, Element, Items, Literal, Member, Outside, Test, Value, truth
from layline.interpreter.versions import (
    METADATA,
    OPERATORS,
    Known,
    Release,
    compare,
    find_release,
    is_instance,
    is_parser,
    is_version,
    parse,
    read_attribute,
)

_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_JOINS = {"and": ConditionKind.ALL, "or": ConditionKind.ANY}
_MOST_PARTS = 40


def build_condition(value: Value, reader: Reader, within: str = "") -> Condition:
    """The condition of a simplified test, with its words, its config keys and what else it needs."""
    match value:
        case Test(operator="and" | "or" as operator, operands=operands) if len(operands) <= _MOST_PARTS:
            parts = tuple(build_condition(operand, reader, operator) for operand in operands)
            return Condition(kind=_JOINS[operator], parts=parts)
        case Test(operator="not", operands=(inner,)):
            return replace(negate(build_condition(inner, reader)), shown=reader.show(value))
    found = _recognise(value, reader)
    # a helper that is given its operator as a text: nobody writes `operator.ge(…)` in a test
    is_plain = found.kind is not ConditionKind.VERSION or isinstance(value, Test)
    return replace(
        found,
        shown=reader.show(value, within=within) if is_plain else str(found),
        keys=tuple(dict.fromkeys(reader.find_keys(value))),
        needs=tuple(reader.find_others(value)),
    )


def tell_condition(value: Value, reader: Reader) -> Condition:
    """The condition of a simplified test in words alone."""
    match value:
        case Test(operator="and" | "or" as operator, operands=operands):
            return Condition(kind=_JOINS[operator], parts=tuple(tell_condition(one, reader) for one in operands))
        case Test(operator="importable", operands=(_, _, *_)):
            return tell_condition(_split(value), reader)
    return say(reader.show(value))


def _split(value: Test) -> Test:
    """That several names can be imported: each for itself, so that brackets go round them where they are needed."""
    return Test("and", tuple(Test("importable", (one,)) for one in value.operands))


def _recognise(value: Value, reader: Reader) -> Condition:
    match value:
        case Test(operator="importable", operands=operands):
            names = [_name(operand) or _literal(operand) for operand in operands]
            if all(names):
                return _joined(need_import(str(name)) for name in names)
        case Test(operator="is" | "is not" as operator, operands=(inner, Literal(value=None))) if name := _name(inner):
            found = need_value(name)
            return found if operator == "is not" else negate(found)
        case Test(operator=operator, operands=(left, right)) if operator in _COMPARISONS:
            return _comparison(reader, (operator, left, right))
        case Called(callee=Outside(path=path), arguments=(left, right)) if path in OPERATORS:
            return _comparison(reader, (OPERATORS[path], left, right))
        case Called(callee=Outside(path=path), arguments=(owner, *given)) if above := _name(owner):
            return _ask(path, above, given)
        case Member() | Element() if (key := reader.roots.key_of(value)) is not None and _is_off_by_default(value):
            return need_key(key)
        case (
            Test(operator="in", operands=(Literal(value=str(name)), Outside(path="os.environ")))
            | Element(owner=Outside(path="os.environ"), key=Literal(value=str(name)))
        ):
            return Condition(kind=ConditionKind.ENV, text=name)
    return OPAQUE


def _ask(path: str, name: str, given: list[Value]) -> Condition:
    """What a call asks about a name of upstream."""
    match path, given:
        case "builtins.hasattr", [Literal(value=str(word)), *_]:
            return need_name(f"{name}.{word}")
        case (("builtins.callable" | "builtins.bool"), []):
            return need_name(name)
        case ("inspect.isclass", []) | ("builtins.isinstance", [Outside(path="builtins.type")]):
            return need_class(name)
    return OPAQUE


def _comparison(reader: Reader, parts: tuple[str, Value, Value]) -> Condition:
    """A version against a literal, or a config key against something true."""
    operator, left, right = parts
    asked = compare(_version(left), operator, _version(right))
    if asked.kind is ConditionKind.VERSION:
        return asked
    key = reader.roots.key_of(left)
    is_true = isinstance(right, Literal) and bool(right.value)
    if key is not None and operator in {"==", ">", ">="} and is_true and _is_off_by_default(left):
        return need_key(key)
    return OPAQUE


def _is_off_by_default(value: Value) -> bool:
    """True if a missing key counts as false: `getattr(args, "x", False)`, `cfg.get("x")`; `args.x` would raise."""
    default = value.default if isinstance(value, Member | Element) else None
    return isinstance(default, Literal) and not default.value


def _joined(parts: Iterable[Condition]) -> Condition:
    listed = tuple(parts)
    return listed[0] if len(listed) == 1 else Condition(kind=ConditionKind.ALL, parts=listed)


def _name(value: Value) -> str | None:
    """The dotted name of something outside the downstream."""
    match value:
        case Outside(path=path) if not path.startswith(("builtins.", "operator.", "os.environ")):
            return path
        case Member(owner=owner, name=name) if (above := _name(owner)) is not None:
            return f"{above}.{name}"
    return None


def _version(value: Value) -> Release | Known | None:
    """The version of a package, or what one is compared with."""
    match value:
        case Literal(value=known):
            return Known(known)
        case Items(values=values, whole=True) if all(isinstance(item, Literal) for item in values):
            return Known(tuple(item.value for item in values if isinstance(item, Literal)))
        case Called(callee=Outside(path=path), arguments=(Literal(value=str(name)), *_)) if path in METADATA:
            return Release(name)
        case Called(callee=Outside(path=path), arguments=(inner, *_)) if is_parser(path):
            found = _version(inner)
            return None if found is None else parse(path, found)
        case Choice():
            return _version_chosen(value)
        case Element(owner=owner, key=Literal(value=0)) if isinstance(found := _version(owner), Release):
            return replace(found, is_major=True)
        case Member(owner=owner, name=name) if isinstance(found := _version(owner), Release):
            return read_attribute(found, name)
    dotted = _name(value)
    return find_release(dotted) if dotted is not None else None


def _version_chosen(value: Choice) -> Release | Known | None:
    """Of a choice what is compared where the package is there: the other side is a word for its absence, or another
    form of the same number.
    """
    match value.test:
        case Called(callee=Outside(path="builtins.isinstance"), arguments=(asked, Outside(path=kind))):
            version = _version(asked)
            held = is_instance(version, kind) if version is not None else None
            if held is not None:
                return _version(value.yes if held else value.no)
    yes, no = _version(value.yes), _version(value.no)
    if yes == no:
        return yes
    test = simplify(value.test)
    match truth(test), test:
        case bool() as decided, _:
            return yes if decided else no
        case _, Test(operator="importable"):
            return yes
        case _, Test(operator="not", operands=(Test(operator="importable"),)):
            return no
    known = [one for one in (yes, no) if is_version(one)]
    return known[0] if len(known) == 1 and None not in (yes, no) else None


def _literal(value: Value) -> str | None:
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else None
