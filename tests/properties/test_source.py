"""Properties of reading source: form never counts, and resolution always ends."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from layline.git import Blob
from layline.git.overlay import hash_blob
from layline.source import Module, Symbol, parse_module
from layline.source.index import Index, ModuleEntry
from layline.source.parsing import encode_module
from layline.source.resolve import Resolver

NAMES = st.sampled_from(["a", "b", "c", "total", "item"])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0:
        return draw(st.one_of(NAMES, st.integers(0, 99).map(str), st.sampled_from(["'x'", "None", "1.5", "b'q'"])))
    inner = expressions(depth=depth - 1)
    form = draw(
        st.sampled_from(
            [
                "{0} + {1}",
                "f({0}, k={1})",
                "[{0}, {1}]",
                "{0} if {1} else a",
                "a.b[{0}]",
                "lambda x: {0}",
                "(f'{{a}}!', {0}, {1})",
            ]
        )
    )
    left, right = draw(inner), draw(inner)
    return form.format(f"({left})", f"({right})")


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["assign", "return", "if", "for", "call", "def"]))
        value = draw(expressions())
        if depth == 0 or kind in {"assign", "return", "call"}:
            lines.append({"assign": f"item = ({value})", "return": f"return ({value})"}.get(kind, f"f({value})"))
            continue
        head = {"if": f"if {value}:", "for": f"for item in ({value}):", "def": "def inner(a, b=1):"}[kind]
        lines += [head, *(f"    {line}" for line in draw(statements(depth=depth - 1)))]
    return lines


def fingerprint_of(body: list[str]) -> str:
    text = "def f(a, b):\n" + "\n".join(f"    {line}" for line in body) + "\n"
    module = parse_module("m.py", text.encode())
    assert isinstance(module, Module), module
    found = module.best("f")
    assert found is not None
    return found.fingerprint


@given(statements())
@settings(max_examples=40)
def test_fingerprint_is_the_same_after_reformatting(body: list[str]) -> None:
    decorated = ['"""A docstring."""', "# a comment"]
    for line in body:
        decorated += [
            f"{line}  # noise",
            " " * (len(line) - len(line.lstrip())) + "# more" if not line.endswith(":") else "# x",
        ]
    plain = "def f(a, b):\n" + "\n".join(f"    {line}" for line in body)
    reformatted = ast.unparse(ast.parse(plain)).splitlines()[1:]
    again = [line[4:] for line in reformatted]
    assert fingerprint_of(body) == fingerprint_of(decorated) == fingerprint_of(again)


@given(statements(), statements())
@settings(max_examples=40)
def test_different_trees_have_different_fingerprints(one: list[str], two: list[str]) -> None:
    trees = [ast.dump(ast.parse("\n".join(f"{line}" for line in body))) for body in (one, two)]
    assert (trees[0] == trees[1]) == (fingerprint_of(one) == fingerprint_of(two))


MODULES = ["p", "p.a", "p.b", "p.c", "q"]
BOUND = ["x", "y", "a", "b", "C"]


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, str]:
    lines = st.one_of(
        st.builds(
            "from {} import {} as {}".format, st.sampled_from(MODULES), st.sampled_from(BOUND), st.sampled_from(BOUND)
        ),
        st.builds("from {} import *".format, st.sampled_from(MODULES)),
        st.builds("import {} as {}".format, st.sampled_from(MODULES), st.sampled_from(BOUND)),
        st.builds("{} = {}".format, st.sampled_from(BOUND), st.sampled_from([*BOUND, "a.b.x", "C.x"])),
        st.builds("class {}({}):\n    x = 1".format, st.sampled_from(BOUND), st.sampled_from([*BOUND, "a.C"])),
        st.builds("from . import {}".format, st.sampled_from(BOUND)),
    )
    return {name: "\n".join(draw(st.lists(lines, max_size=5))) + "\n" for name in MODULES}


def index_of(world: dict[str, str]) -> Index:
    entries = [
        ModuleEntry(
            name=name,
            path=name.replace(".", "/") + ".py",
            blob=hash_blob(text.encode()),
            part=0,
            is_package=name == "p",
        )
        for name, text in world.items()
    ]
    return Index([], [], {}) if not entries else _Flat(entries, world)


class _Flat(Index):
    """An index of texts without a repository behind it."""

    def __init__(self, entries: list[ModuleEntry], world: dict[str, str]) -> None:
        super().__init__([], [], {hash_blob(text.encode()): encode_module(text.encode()) for text in world.values()})
        self._world = world
        self.entries = self.every = {entry.name: entry for entry in entries}
        self.namespaces = frozenset({"p"})

    def stream_blobs(self, entries: Iterable[ModuleEntry]) -> Iterator[Blob | str]:
        return (Blob(entry.blob, self.read_blob(entry.name)) for entry in entries)

    def read_blob(self, module: str) -> bytes:
        return self._world[module].encode()


def questions() -> Iterator[str]:
    for module in MODULES:
        for name in BOUND:
            yield f"{module}.{name}"
            yield f"{module}.{name}.x.y"


@given(worlds())
@settings(max_examples=40)
def test_resolution_ends_on_any_tangle_of_imports(world: dict[str, str]) -> None:
    resolver = Resolver(index_of(world))
    for question in questions():
        found = resolver.resolve(question)
        assert isinstance(found, Symbol)
        assert found.exists == (found.home is not None and found.kind != "external") or found.kind in {
            "absent",
            "unknown",
        }


@given(worlds())
@settings(max_examples=30)
def test_the_order_of_questions_does_not_change_the_answers(world: dict[str, str]) -> None:
    forward, backward = Resolver(index_of(world)), Resolver(index_of(world))
    asked = list(questions())
    first = {question: forward.resolve(question) for question in asked}
    second = {question: backward.resolve(question) for question in reversed(asked)}
    assert first == second


def test_the_generators_make_python() -> None:
    assert re.fullmatch(r"[0-9a-f]{24}", fingerprint_of(["return 1"]))
