"""setup.py as a syntax tree, never run: what its `setup(…)` is called with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from layline.source.parsing import PARSING
from layline.source.walking import walk


@dataclass(frozen=True, slots=True)
class SetupScript:
    """The keywords of every call of `setup`, and the names that the file gives to values."""

    keywords: tuple[ast.keyword, ...] = ()
    """`**name` and `**dict(…)` are spread out where they are literals."""
    names: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    module: ast.Module = field(default_factory=lambda: ast.Module(body=[], type_ignores=[]))

    def find_texts(self, value: ast.expr) -> list[str]:
        """Every literal text of an expression, and of the functions of the file that it calls."""
        called = {
            node.func.id for node in walk(value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        nodes = (value, *(function for name, function in self.functions.items() if name in called))
        constants = (node.value for part in nodes for node in walk(part) if isinstance(node, ast.Constant))
        return list(dict.fromkeys(text for text in constants if isinstance(text, str)))

    def look_up(self, value: ast.expr) -> ast.expr:
        """What a name of the file stands for; any other expression is itself."""
        return self.names.get(value.id, value) if isinstance(value, ast.Name) else value

    def find_text(self, key: str) -> tuple[str, int] | None:
        """The literal text of a keyword, and its line: the first of that name decides."""
        for keyword in self.keywords:
            if keyword.arg == key:
                match self.look_up(keyword.value):
                    case ast.Constant(value=str() as text, lineno=line):
                        return text, line
                return None
        return None


def parse_setup_script(text: str) -> SetupScript:
    """Raises what `ast.parse` raises where the text is no Python."""
    with PARSING:
        module = ast.parse(text)
    names = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = (node for node in ast.walk(module) if isinstance(node, ast.Call) and _called(node) == "setup")
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    return SetupScript(tuple(keyword for call in calls for keyword in _spread(call, names)), names, functions, module)


def read_setup_name(text: str) -> str | None:
    """What a setup.py calls its distribution; extensions and the like have names, too."""
    try:
        found = parse_setup_script(text).find_text("name")
    except (SyntaxError, ValueError, RecursionError):
        return None
    return found[0] if found is not None else None


def _spread(call: ast.Call, names: dict[str, ast.expr]) -> Iterator[ast.keyword]:
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword
            continue
        value = names.get(keyword.value.id, keyword.value) if isinstance(keyword.value, ast.Name) else keyword.value
        match value:
            case ast.Call(func=ast.Name(id="dict")) as inner:
                yield from _spread(inner, names)
            case ast.Dict(keys=keys, values=values):
                for key, item in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield ast.keyword(arg=key.value, value=item)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
