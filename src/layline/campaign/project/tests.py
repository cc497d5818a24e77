"""A project's own tests: which words select those of one operator and backend. Read, not run."""

from __future__ import annotations

import ast
from collections.abc import Collection


def choose_selection(
    source: str, words: Collection[str], backend: str, among: Collection[str] | None = None
) -> list[str]:
    """What `-k` needs: words of the operator that some tests are named after and others are not, and the backend where it
    is one of several that a test is given. Empty where these select nothing, or everything. `among`: tests that count.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    chosen, found = [test for test in tests if among is None or test.name in among], []
    for word in words:
        named = [test for test in chosen if word in test.name.split("_")]
        if named and len(named) < len(chosen):
            chosen = named
            found.append(word)
    given = [members for test in chosen if backend in (members := _find_members(test)) and len(members) > 1]
    if given:
        others = [test.name for test in tests] + [
            one for members in given for at, one in members.items() if at != backend
        ]
        # `-k` finds a word inside others and in either case: CK is in BackendType, too
        is_alone = not any(backend.lower() in one.lower() for one in others)
        found.append(backend if is_alone else given[0][backend])
    return found


def _find_members(test: ast.FunctionDef) -> dict[str, str]:
    """Members of one namespace (`Backend.A, Backend.B`) that the test is given in turns, each with what a test's name says."""
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[_names, ast.List(elts=values), *_rest]):
                members = [one for one in values if isinstance(one, ast.Attribute)]
                if members and len({ast.unparse(one.value) for one in members}) == 1:
                    space = ast.unparse(members[0].value).rpartition(".")[2]
                    return {one.attr: f"{space}.{one.attr}" for one in members}
    return {}
