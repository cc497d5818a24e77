"""Expressions → values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from layline.interpreter.containers import list_entries
from layline.interpreter.loops import MOST_ITEMS, evaluate_comprehension
from layline.interpreter.slots import is_open
from layline.interpreter.state import Machine, name_module
from layline.interpreter.strings import find_defining, fold_operation, show_constant
from layline.interpreter.values import (
    NONE,
    Called,
    Choice,
    Class,
    Element,
    Function,
    Inside,
    Instance,
    Items,
    Literal,
    Made,
    Member,
    Outside,
    Partial,
    Source,
    Table,
    Test,
    Unknown,
    Value,
    find_order,
    negate,
    truth,
)

if TYPE_CHECKING:
    from layline.interpreter.modules import Scope

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Expressions(Machine):
    """Evaluates every kind of expression; what it cannot tell is an Unknown, never an error."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        match node:
            case ast.Constant(value=value):
                return Literal(value)
            case ast.Name(id=name):
                return self._look_up(name, scope)
            case ast.Attribute(value=owner, attr=name):
                return self.read_attribute(self.evaluate(owner, scope), name)
            case ast.Call():
                return self._evaluate_call(node, scope)
            case ast.Subscript(value=owner, slice=ast.Slice() as part):
                return self._read_slice(self.evaluate(owner, scope), part, scope)
            case ast.Subscript(value=owner, slice=key):
                return self.read_item(self.evaluate(owner, scope), self.evaluate(key, scope))
            case ast.BoolOp(op=operator, values=values):
                return self._evaluate_bool(operator, values, scope)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return negate(self.evaluate(operand, scope))
            case ast.Compare():
                return self._evaluate_comparison(node, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                tested = self.evaluate(test, scope)
                self.note_test(tested, test)
                return self._evaluate_choice(tested, body, orelse, scope)
        return self._evaluate_rest(node, scope)

    def _evaluate_rest(self, node: ast.expr, scope: Scope) -> Value:
        match node:
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                return self._evaluate_items(elts, scope)
            case ast.Dict(keys=keys, values=values):
                return self._evaluate_table(keys, values, scope)
            case ast.Lambda():
                made = Function(node, self.frame.module, scope, _name_inside(self.frame.within, "<lambda>"))
                made.captured = scope.names if scope.parent is not None else None
                return made
            case ast.JoinedStr(values=values):
                return self._evaluate_text(values, scope)
            case ast.BinOp(left=left, op=operator, right=right):
                return fold_operation(operator, self.evaluate(left, scope), self.evaluate(right, scope))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _negative(self.evaluate(operand, scope))
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                found = self.evaluate(value, scope)
                scope.bind(name, found)
                return found
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return evaluate_comprehension(self, node, scope)
            case ast.Await(value=value) | ast.Starred(value=value):
                return self.evaluate(value, scope)
            case ast.Yield(value=value):
                self.frame.yields.append(self.evaluate(value, scope) if value else NONE)
                return Unknown("what is sent to a generator")
            case ast.YieldFrom(value=value):
                self.frame.yields.append(Element(self.evaluate(value, scope), Unknown("each")))
                return Unknown("what a generator returns")
        return Unknown(f"`{type(node).__name__}`")

    def _look_up(self, name: str, scope: Scope) -> Value:
        found = scope.find(name)
        if found is not None:
            return self._open_slot(name, found, scope) if isinstance(found, Literal) else self.settle(found)
        module = self.frame.module
        match name:
            case "__name__":
                return Literal(module.name)
            case "__package__":
                return Literal(module.package)
            case "__file__" | "__path__":
                return Unknown(name)
        if hasattr(builtins, name):
            return Outside(f"builtins.{name}")
        if (defining := find_defining(module.executed, name)) is not None:
            return defining
        stars = module.stars
        return Outside(f"{stars[-1]}.{name}") if stars else Unknown(f"the name {name} is not bound here")

    def _open_slot(self, name: str, found: Literal, scope: Scope) -> Value:
        """A constant of the module, or what another function may have put in its place."""
        module = scope.module
        is_shared = found is module.scope.names.get(name)
        return Member(Inside(module), name) if is_shared and is_open(module, name, self.frames) else found

    def read_item(self, owner: Value, key: Value, default: Value | None = None) -> Value:
        """`owner[key]`."""
        match owner:
            case Choice(test=test, yes=yes, no=no):
                return Choice(test, self.read_item(yes, key), self.read_item(no, key))
            case Outside(path="sys.modules") if (named := name_module(key)) is not None:
                return self.find_by_text(named)
            case Outside(path=path) if path.endswith(".__dict__") and isinstance(key, Literal):
                return self.read_attribute(Outside(path.removesuffix(".__dict__")), str(key.value))
            case Outside(path=path) if path.endswith(".__dataclass_fields__") and isinstance(key, Literal):
                return Outside(f"{path.removesuffix('.__dataclass_fields__')}.{key.value}")
            case Items(values=values, whole=True) if isinstance(key, Literal) and isinstance(key.value, int):
                return values[key.value] if -len(values) <= key.value < len(values) else Unknown("no such item")
            case Table():
                return self._read_table(owner, key, default)
            case Literal(value=str(text)) if isinstance(key, Literal) and isinstance(key.value, int):
                return Literal(text[key.value]) if -len(text) <= key.value < len(text) else Unknown("no such item")
            case Test(operator="or", operands=operands):
                return Test("or", tuple(self.read_item(operand, key) for operand in operands))
            case Source():
                return owner
            case Called(callee=Outside(path="builtins.globals")) if isinstance(key, Literal):
                return self._look_up(str(key.value), self.frame.module.scope)
        return Element(owner, key, default)

    def _read_slice(self, owner: Value, part: ast.Slice, scope: Scope) -> Value:
        """`owner[1:-1]` of a sequence we know; a slice of text that is edited source stays that source."""
        bounds = [self.evaluate(node, scope) if node else NONE for node in (part.lower, part.upper, part.step)]
        numbers = [
            bound.value for bound in bounds if isinstance(bound, Literal) and isinstance(bound.value, int | None)
        ]
        if len(numbers) != len(bounds) or numbers[2] == 0:
            return owner if isinstance(owner, Source) else Element(owner, Unknown("a slice"))
        chosen = slice(*numbers)
        match owner:
            case Items(values=values, whole=True):
                return Items(values[chosen])
            case Literal(value=str(text)):
                return Literal(text[chosen])
            case Source():
                return owner
        return Element(owner, Unknown("a slice"))

    def _read_table(self, table: Table, key: Value, default: Value | None) -> Value:
        for known, value in reversed(table.entries):
            if known == key:
                return value
        if isinstance(key, Literal) and table.whole and table.entries:
            return default if default is not None else Unknown("no such key")
        found: Value = default if default is not None else Element(table, key)
        for known, value in table.entries:
            found = Choice(Test("==", (key, known)), value, found)
        return found

    def _evaluate_bool(self, operator: ast.boolop, values: list[ast.expr], scope: Scope) -> Value:
        stops = isinstance(operator, ast.Or)
        found: list[Value] = []
        for node in values:
            value = self.evaluate(node, scope)
            known = truth(value)
            if known is (not stops) and node is not values[-1]:
                continue
            found.append(value)
            if known is stops:
                break
        return found[0] if len(found) == 1 else Test("or" if stops else "and", tuple(found))

    def _evaluate_comparison(self, node: ast.Compare, scope: Scope) -> Value:
        left = self.evaluate(node.left, scope)
        found: list[Value] = []
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node, scope)
            found.append(_compare(_COMPARISONS[type(operator)], left, right))
            left = right
        return found[0] if len(found) == 1 else Test("and", tuple(found))

    def _evaluate_choice(self, test: Value, body: ast.expr, orelse: ast.expr, scope: Scope) -> Value:
        known = truth(test)
        if known is not None:
            return self.evaluate(body if known else orelse, scope)
        yes, no = self.evaluate(body, scope), self.evaluate(orelse, scope)
        return yes if yes == no else Choice(test, yes, no)

    def _evaluate_items(self, nodes: list[ast.expr], scope: Scope) -> Value:
        items = Items([])
        for node in nodes:
            value = self.evaluate(node, scope)
            if not isinstance(node, ast.Starred):
                items.values.append(value)
            else:
                inner = self.iterate(value)
                items.whole = items.whole and inner is not None
                items.values.extend(inner or [])
        return items

    def _evaluate_table(self, keys: list[ast.expr | None], values: list[ast.expr], scope: Scope) -> Value:
        table = Table([], made=self.conditions())
        for key, node in zip(keys, values, strict=True):
            value = self.evaluate(node, scope)
            if key is not None:
                table.entries.append((self.evaluate(key, scope), value))
            elif isinstance(value, Table):
                table.entries.extend(value.entries)
            else:
                table.whole = False
        return table

    def _evaluate_text(self, values: list[ast.expr], scope: Scope) -> Value:
        found: Value = Literal("")
        for node in values:
            inner = node.value if isinstance(node, ast.FormattedValue) else node
            found = _append_text(found, self.evaluate(inner, scope))
        return found

    def _evaluate_call(self, node: ast.Call, scope: Scope) -> Value:
        match node:
            case ast.Call(func=ast.Name(id="super"), args=[] | [_, _]) if scope.find("super") is None:
                return self._evaluate_super(scope)
            case ast.Call(func=ast.Name(id="locals" | "globals")):
                return Called(Outside("builtins.globals"))
        callee = self.evaluate(node.func, scope)
        arguments: list[Value] = []
        for argument in node.args:
            value = self.evaluate(argument, scope)
            if isinstance(argument, ast.Starred):
                arguments.extend(self.iterate(value) or [Unknown("the items of a starred argument")])
            else:
                arguments.append(value)
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, Table):
                keywords.update({str(key.value): item for key, item in value.entries if isinstance(key, Literal)})
        return self.call(callee, arguments, keywords, node)

    def _evaluate_super(self, scope: Scope) -> Value:
        """`super()`: what comes after the class of the running method among those its object inherits from."""
        function = self.frame.function
        owner = function.bound if function is not None else None
        if function is None or owner is None:
            return Called(Outside("builtins.super"), ())
        kind = owner.of if isinstance(owner, Instance) else owner
        home = function.name.rpartition(".")[0]
        order = find_order(kind) if isinstance(kind, Class) else []
        around = next(
            (c for c in order if isinstance(c, Class) and c.name == home and c.module is function.module), None
        )
        return Called(Outside("builtins.super"), (owner,) if around is None else (owner, around))

    def iterate(self, value: Value) -> list[Value] | None:
        """The items a loop over `value` sees; None where they cannot be told."""
        match value:
            case Items(values=values, whole=True):
                return list(values[:MOST_ITEMS])
            case Table(whole=True) as table:
                return list_entries(table, lambda key, _: key).values[:MOST_ITEMS]
            case Literal(value=str(text)):
                return [Literal(character) for character in text[:MOST_ITEMS]]
            case Choice(yes=yes, no=no):
                left, right = self.iterate(yes), self.iterate(no)
                return None if left is None or right is None else [*left, *(item for item in right if item not in left)]
            case Test(operator="or", operands=operands):
                known = [self.iterate(operand) for operand in operands]
                return next((items for items in known if items), None)
            case Literal(value=None):
                return []
            case Source():
                return [value]  # its lines
        return None

    def bind_target(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """What `target = value` binds or writes."""
        match target:
            case ast.Name(id=name):
                scope.bind(name, value)
            case ast.Attribute(value=owner, attr=name):
                self.write(self.evaluate(owner, scope), Literal(name), value, target)
            case ast.Subscript(value=owner, slice=key):
                self.write(self.evaluate(owner, scope), self.evaluate(key, scope), value, target, is_item=True)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                self._unpack(elts, value, scope)
            case ast.Starred(value=inner):
                self.bind_target(inner, value, scope)

    def _unpack(self, targets: list[ast.expr], value: Value, scope: Scope) -> None:
        star = next((index for index, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        for index, target in enumerate(targets):
            if star is not None and index == star:
                known = self.iterate(value)
                taken = known[star : len(known) - (len(targets) - star - 1)] if known is not None else []
                self.bind_target(target, Items(taken, whole=known is not None), scope)
            else:
                position = index if star is None or index < star else index - len(targets)
                self.bind_target(target, self._pick(value, position), scope)

    def _pick(self, value: Value, index: int) -> Value:
        match value:
            case Choice(test=test, yes=yes, no=no):
                return Choice(test, self._pick(yes, index), self._pick(no, index))
        return self.read_item(value, Literal(index))


def _compare(operator: str, left: Value, right: Value) -> Value:
    match left, right:
        case Literal(value=a), Literal(value=b):
            try:
                return Literal(_COMPUTE[operator](a, b))
            except (TypeError, KeyError):
                return Test(operator, (left, right))
        case (
            Function() | Partial() | Made() | Source() | Items() | Choice(yes=Items(), no=Items()),
            Literal(value=None),
        ) if operator in {"is", "is not"}:
            return Literal(operator == "is not")
    if operator in {"in", "not in"} and isinstance(left, Literal) and isinstance(right, Items) and right.whole:
        if left in right.values:
            sure = right.values if right.sure is None else right.values[: right.sure]
            return Literal(operator == "in") if left in sure else Test(operator, (left, right))
        if all(isinstance(item, Literal) for item in right.values):
            return Literal(operator != "in")
    return Test(operator, (left, right))


_COMPUTE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "is": lambda a, b: a is b or (isinstance(a, (str, int)) and a == b),
    "is not": lambda a, b: not (a is b or (isinstance(a, (str, int)) and a == b)),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


def _append_text(left: Value, right: Value) -> Value:
    """One more piece of an f-string; a choice makes two texts."""
    match left, right:
        case Unknown(), _:
            return left
        case Choice(test=test, yes=yes, no=no), _:
            return Choice(test, _append_text(yes, right), _append_text(no, right))
        case Literal(), Choice(test=test, yes=yes, no=no):
            return Choice(test, _append_text(left, yes), _append_text(left, no))
        case Literal(value=str(text)), Literal() if (shown := show_constant(right)) is not None:
            return Literal(text + shown)
    return Unknown("a text put together at run time")


def _negative(value: Value) -> Value:
    if isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(-value.value)
    return Member(value, "-")


def _name_inside(within: str, name: str) -> str:
    return f"{within}.{name}" if within else name
