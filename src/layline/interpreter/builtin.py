"""What well-known functions of Python and its library do, as far as patches need it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from layline.interpreter.containers import call_dict_method, call_list_method
from layline.interpreter.executed import execute
from layline.interpreter.libraries import LIBRARIES
from layline.interpreter.objects import class_of, copy_value
from layline.interpreter.state import Machine, name_module, text_of
from layline.interpreter.strings import call_text_method, edit_source, read_pattern, rewrite_source
from layline.interpreter.values import (
    EACH,
    FALSE,
    NONE,
    TRUE,
    Called,
    Choice,
    Class,
    Element,
    Function,
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
    bind,
    find_alternatives,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Known: TypeAlias = "Callable[[Machine, list[Value], dict[str, Value], ast.AST], Value | None]"

Arguments: TypeAlias = "list[Value]"
Keywords: TypeAlias = "dict[str, Value]"


def _getattr(machine: Machine, arguments: Arguments, _: Keywords, node: ast.AST) -> Value | None:
    name = text_of(arguments[1]) if len(arguments) > 1 else None
    if name is None:
        if len(arguments) > 1 and isinstance(arguments[1], Choice):
            chosen = arguments[1]
            ways = [_getattr(machine, [arguments[0], way, *arguments[2:]], {}, node) for way in (chosen.yes, chosen.no)]
            return Choice(chosen.test, ways[0] or Unknown("no name"), ways[1] or Unknown("no name"))
        return Element(arguments[0], arguments[1]) if len(arguments) > 1 else None
    found = arguments[0]
    for part in name.split("."):
        found = machine.read_attribute(found, part, arguments[2] if len(arguments) > 2 else None)
    return found


def _setattr(machine: Machine, arguments: Arguments, _: Keywords, node: ast.AST) -> Value | None:
    if len(arguments) == 3:
        machine.write(arguments[0], arguments[1], arguments[2], node)
    return Literal(None)


def _object_setattr(machine: Machine, arguments: Arguments, _: Keywords, node: ast.AST) -> Value | None:
    if len(arguments) == 3:
        machine.write(arguments[0], arguments[1], arguments[2], node)
    return Literal(None)


def _delattr(machine: Machine, arguments: Arguments, _: Keywords, node: ast.AST) -> Value | None:
    if len(arguments) == 2:
        machine.write(arguments[0], arguments[1], None, node)
    return Literal(None)


def _import_module(machine: Machine, arguments: Arguments, keywords: Keywords, _: ast.AST) -> Value | None:
    given = arguments[0] if arguments else keywords.get("name", Unknown("no name"))
    if isinstance(given, Choice):
        left = _import_module(machine, [given.yes], {}, _)
        right = _import_module(machine, [given.no], {}, _)
        return Choice(given.test, left, right) if left is not None and right is not None else None
    name = name_module(given)
    if name is None:
        return None
    package = text_of(arguments[1]) if len(arguments) > 1 else text_of(keywords.get("package", Unknown("")))
    if name.startswith(".") and package:
        level = len(name) - len(name.lstrip("."))
        base = package.split(".")[: len(package.split(".")) - level + 1]
        name = ".".join([*base, *([name.lstrip(".")] if name.lstrip(".") else [])])
    return machine.find_by_text(name)


def _dunder_import(machine: Machine, arguments: Arguments, keywords: Keywords, _: ast.AST) -> Value | None:
    name = text_of(arguments[0]) if arguments else None
    if name is None:
        return None
    whole = "fromlist" in keywords or len(arguments) > 3
    return machine.find_by_text(name if whole else name.partition(".")[0])


def _partial(_: Machine, arguments: Arguments, keywords: Keywords, __: ast.AST) -> Value | None:
    return Partial(arguments[0], tuple(arguments[1:]), tuple(keywords.items())) if arguments else None


def _same(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return arguments[0] if arguments else None


def _copy(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return copy_value(arguments[0]) if arguments else None


def _items(machine: Machine, arguments: Arguments, _: Keywords, __: ast.AST) -> Value | None:
    if not arguments:
        return Items([])
    known = machine.iterate(arguments[0])
    if known is None and isinstance(arguments[0], Called | Outside):
        return Items([Element(arguments[0], EACH)], whole=False)
    return Items(known) if known is not None else arguments[0]


def _table(_: Machine, arguments: Arguments, keywords: Keywords, __: ast.AST) -> Value | None:
    entries: list[tuple[Value, Value]] = [(Literal(name), value) for name, value in keywords.items()]
    if arguments and isinstance(arguments[0], Table):
        return Table([*arguments[0].entries, *entries], whole=arguments[0].whole)
    if arguments and isinstance(arguments[0], Items):
        pairs = [item.values for item in arguments[0].values if isinstance(item, Items) and len(item.values) == 2]
        return Table([*((pair[0], pair[1]) for pair in pairs), *entries])
    return Table(entries, whole=not arguments)


def _zip(machine: Machine, arguments: Arguments, _: Keywords, __: ast.AST) -> Value | None:
    lists = [machine.iterate(argument) for argument in arguments]
    if any(values is None for values in lists):
        return None
    return Items([Items(list(row)) for row in zip(*(values or [] for values in lists), strict=False)])


def _enumerate(machine: Machine, arguments: Arguments, _: Keywords, __: ast.AST) -> Value | None:
    values = machine.iterate(arguments[0]) if arguments else None
    if values is None and arguments:
        return Items([Items([Unknown("a count"), Element(arguments[0], EACH)])], whole=False)
    return None if values is None else Items([Items([Literal(i), value]) for i, value in enumerate(values)])


def _any(machine: Machine, arguments: Arguments, _: Keywords, __: ast.AST) -> Value | None:
    return _fold(machine, arguments, "or")


def _all(machine: Machine, arguments: Arguments, _: Keywords, __: ast.AST) -> Value | None:
    return _fold(machine, arguments, "and")


def _fold(machine: Machine, arguments: Arguments, operator: str) -> Value | None:
    values = machine.iterate(arguments[0]) if arguments else None
    if values is None:
        return arguments[0].values[0] if arguments and isinstance(arguments[0], Items) and arguments[0].values else None
    decided = operator == "or"
    if any(truth(value) is decided for value in values):
        return TRUE if decided else FALSE
    kept = tuple(value for value in values if truth(value) is None)
    return Test(operator, kept) if len(kept) > 1 else kept[0] if kept else (FALSE if decided else TRUE)


def _bool(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    known = truth(arguments[0]) if arguments else False
    return arguments[0] if known is None else Literal(known)


def _text(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    if arguments and isinstance(arguments[0], Literal):
        return Literal(str(arguments[0].value))
    return arguments[0] if arguments else Literal("")


def _isinstance(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    match arguments:
        case [Literal(value=value), Outside(path=path)] if path.startswith("builtins."):
            kind = {"str": str, "int": int, "float": float, "bool": bool, "dict": dict, "list": list}
            wanted = kind.get(path.removeprefix("builtins."))
            return None if wanted is None else Literal(isinstance(value, wanted))
    return None


def _module_type(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    name = text_of(arguments[0]) if arguments else None
    return Made(name or "a module made at run time")


def _method_type(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    """`MethodType(f, obj)` and `f.__get__(obj)`: the function, bound."""
    if len(arguments) != 2:
        return arguments[0] if arguments else None
    ours = next((found for found in find_alternatives(arguments[0]) if isinstance(found, Function)), None)
    if ours is not None:
        return bind(ours, arguments[1])
    return Called(Outside("types.MethodType"), tuple(arguments))


def _vars(machine: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    if arguments and isinstance(arguments[0], Class):
        return machine.read_attribute(arguments[0], "__dict__")
    return Outside(f"{arguments[0].path}.__dict__") if arguments and isinstance(arguments[0], Outside) else None


def _type(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return class_of(arguments[0]) if len(arguments) == 1 else None


def _getsource(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return Source(arguments[0]) if arguments and not isinstance(arguments[0], Function) else None


def _regex(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    """`re.sub(pattern, new, source)`: a pattern that is plain text is an anchor; others are not run here."""
    source = next((argument for argument in arguments if isinstance(argument, Source)), None)
    if source is None:
        return None
    return edit_source(source, read_pattern(text_of(arguments[0])), text_of(arguments[1]))


def _dedent(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return arguments[0] if arguments and isinstance(arguments[0], Source | Literal) else None


def _environ_get(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    if not arguments:
        return None
    return Element(Outside("os.environ"), arguments[0], arguments[1] if len(arguments) > 1 else None)


def _loaded_module(machine: Machine, arguments: Arguments, _: Keywords, __: ast.AST) -> Value | None:
    """`sys.modules.get(name)`: the module, as if it were loaded."""
    names = [name_module(found) for found in find_alternatives(arguments[0])] if arguments else []
    found: Value | None = None
    for name in names:
        module = machine.find_by_text(name) if name else Element(Outside("sys.modules"), arguments[0])
        found = module if found is None else Choice(Unknown("which is loaded"), found, module)
    return found


def _put_modules(machine: Machine, arguments: Arguments, _: Keywords, node: ast.AST) -> Value | None:
    """`sys.modules.update({name: module})`."""
    if not arguments or not isinstance(arguments[0], Table):
        return None
    for key, value in arguments[0].entries:
        machine.write(Outside("sys.modules"), key, value, node, is_item=True)
    return NONE


def _map(machine: Machine, arguments: Arguments, _: Keywords, node: ast.AST) -> Value | None:
    values = machine.iterate(arguments[1]) if len(arguments) == 2 else None
    return None if values is None else Items([machine.call(arguments[0], [value], {}, node) for value in values])


def _find_spec(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return Test("importable", (arguments[0],)) if arguments and text_of(arguments[0]) else None


def _range(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    bounds = [value.value for value in arguments if isinstance(value, Literal) and isinstance(value.value, int)]
    if len(bounds) != len(arguments) or not bounds or len(bounds) > 3 or (len(bounds) == 3 and bounds[2] == 0):
        return None
    numbers = range(*bounds)
    return Items([Literal(number) for number in numbers[:64]]) if len(numbers) <= 64 else None


def _update_wrapper(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return arguments[0] if arguments else None


def _is_class(_: Machine, arguments: Arguments, __: Keywords, ___: ast.AST) -> Value | None:
    return (
        Literal(isinstance(arguments[0], Class)) if arguments and isinstance(arguments[0], Class | Function) else None
    )


KNOWN: dict[str, Known] = {
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.delattr": _delattr,
    "builtins.object.__setattr__": _object_setattr,
    "builtins.type.__setattr__": _object_setattr,
    "inspect.getattr_static": _getattr,
    "operator.attrgetter": lambda *_: None,
    "importlib.import_module": _import_module,
    "builtins.__import__": _dunder_import,
    "importlib.reload": _same,
    "copy.copy": _copy,
    "copy.deepcopy": _copy,
    "builtins.iter": _same,
    "functools.partial": _partial,
    "functools.partialmethod": _partial,
    "functools.update_wrapper": _update_wrapper,
    "builtins.staticmethod": _same,
    "builtins.classmethod": _same,
    "builtins.property": _same,
    "types.MethodType": _method_type,
    "builtins.list": _items,
    "builtins.tuple": _items,
    "builtins.set": _items,
    "builtins.frozenset": _items,
    "builtins.sorted": _items,
    "builtins.reversed": _items,
    "builtins.dict": _table,
    "collections.OrderedDict": _table,
    "collections.defaultdict": lambda *_: Table([], whole=False),
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.map": _map,
    "builtins.range": _range,
    "builtins.any": _any,
    "builtins.all": _all,
    "builtins.bool": _bool,
    "builtins.str": _text,
    "builtins.isinstance": _isinstance,
    "inspect.isclass": _is_class,
    "builtins.vars": _vars,
    "builtins.type": _type,
    "types.ModuleType": _module_type,
    "typing.cast": lambda _, arguments, *__: arguments[-1] if arguments else None,
    "builtins.exec": execute,
    "textwrap.indent": _dedent,
    "inspect.getsource": _getsource,
    "re.sub": _regex,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _dedent,
    "wrapt.apply_patch": _setattr,
    **LIBRARIES,
    "sys.modules.get": _loaded_module,
    "sys.modules.pop": _loaded_module,
    "sys.modules.update": _put_modules,
    "os.getenv": _environ_get,
    "os.environ.get": _environ_get,
    "importlib.util.find_spec": _find_spec,
}


def find_known(path: str | None) -> Known | None:
    """What is known about a function of another package, or about a method that a container of its has."""
    if path is not None and path.endswith(".copy") and path not in KNOWN:
        original = Outside(path.removesuffix(".copy"))
        return lambda _, arguments, keywords, __: None if arguments or keywords else copy_value(original)
    return None if path is None else KNOWN.get(path)


def call_method(
    machine: Machine, callee: Member, arguments: Arguments, keywords: Keywords, node: ast.AST
) -> Value | None:
    """A method of a list, dict, text or opaque object; None where nothing is known about it."""
    match callee.owner:
        case Items() as items:
            return call_list_method(machine, items, callee.name, arguments)
        case Table() as table:
            return call_dict_method(machine, table, callee.name, arguments)
        case Literal(value=str(text)):
            return call_text_method(text, callee.name, arguments, keywords)
        case Source() as source:
            return rewrite_source(source, callee.name, arguments)
    if callee.name in {"sub", "subn"} and isinstance(callee.owner, Called) and callee.owner.arguments:
        return _regex(machine, [callee.owner.arguments[0], *arguments], keywords, node)  # a compiled pattern
    if callee.name == "__get__" and isinstance(callee.owner, Function) and arguments:
        return bind(callee.owner, arguments[0])
    if callee.name == "__setattr__" and len(arguments) == 2 and not _is_super(callee.owner):
        machine.write(callee.owner, arguments[0], arguments[1], node)
        return Literal(None)
    if callee.name == "copy" and not arguments and not keywords:
        return copy_value(callee.owner)
    if callee.name == "get" and 1 <= len(arguments) <= 2:
        return Element(callee.owner, arguments[0], arguments[1] if len(arguments) > 1 else None)
    if callee.name in {"lower", "upper", "strip", "casefold"} and not arguments:
        return callee.owner  # for a test, the text itself
    return None


def _is_super(value: Value) -> bool:
    return isinstance(value, Called) and value.callee == Outside("builtins.super")
