"""Lines of ours that assign to names of other packages: a quick look for `init`, which proposes and decides nothing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from layline.core.ours import is_own
from layline.source.tree import Tree


def count_writes(tree: Tree, packages: Iterable[str]) -> Counter[str]:
    """Lines of ours that write to a name of each package: `package.a.b = …`, `setattr(package.a, …)`."""
    wanted = frozenset(packages)
    found: Counter[str] = Counter()
    for path in tree.paths(suffix=".py"):
        text = tree.read_text(path) if is_own(path) else None
        if isinstance(text, str) and any(name in text for name in wanted):
            found.update(package for package, _ in set(_find_writes(text, wanted)))
    return found


def walk(text: str) -> list[ast.AST]:
    """Every node of a file; none where it cannot be read."""
    try:
        return list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _find_writes(text: str, wanted: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Package and line; a name that the file binds to several packages may mean any of them, and counts for none."""
    nodes = walk(text)
    bound_to: dict[str, set[str]] = {}
    for bound, package in (one for node in nodes for one in _find_bound(node)):
        bound_to.setdefault(bound, set()).add(package)
    names = {bound: min(packages) for bound, packages in bound_to.items() if len(packages) == 1 and packages <= wanted}
    for node in nodes:
        match node:
            case ast.Assign(targets=targets):
                written = [target.value for target in targets if isinstance(target, ast.Attribute)]
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, *_]):
                written = [owner]
            case _:
                continue
        yield from ((names[root], node.lineno) for owner in written if (root := _find_root(owner)) in names)


def _find_bound(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield alias.asname or alias.name.partition(".")[0], alias.name.partition(".")[0]
        case ast.ImportFrom(module=str() as module, names=names, level=0):
            for alias in names:
                yield alias.asname or alias.name, module.partition(".")[0]


def _find_root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
