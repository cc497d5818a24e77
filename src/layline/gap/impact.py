"""What the tip does to us: the surface of the upstream packages, our couplings, our configuration keys."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from layline import codec
from layline.change.kept import open_comparer
from layline.change.surface import StaleKey, Surface
from layline.change.trace import Tracer
from layline.core.evidence import Skipped, locate_skipped
from layline.core.ours import is_test
from layline.coupling.decide import RefKnowledge
from layline.coupling.judge import Judge, build_couplings
from layline.coupling.model import Coupling
from layline.coupling.own_code import find_version, read_running
from layline.coupling.own_uses import find_roots, read_uses
from layline.coupling.reading import Finder
from layline.coupling.uses import ANALYSER
from layline.executors.ahead import begin
from layline.gap.surface.compare import compare_surface, read_options
from layline.gap.surface.flags import find_files_with
from layline.gap.surface.yaml_keys import find_stale_keys, read_yaml_keys, spell_out
from layline.source import Index, Part, Tree, build_indexes, open_cache, parse_tree
from layline.source.versions import Versions
from layline.workspace.kept import Results, digest_downstream, result_key

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.git import TreeEntry
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The tip seen from our code."""

    surface: Surface | None
    couplings: tuple[Coupling, ...] = ()
    stale_keys: tuple[StaleKey, ...] = ()
    used_files: tuple[str, ...] = ()
    """Upstream files that hold what we touch."""
    shims: tuple[tuple[str, int], ...] = ()
    skipped: tuple[Skipped, ...] = ()


def read_impact(workspace: Workspace, backend: Backend, pin: Tree, tip: Tree) -> Impact:
    """What was measured for these files, commits and settings before, else what is measured now."""
    shallow = pin.repository.is_shallow
    key = result_key(
        "impact", digest_downstream(workspace), workspace.settings.project, backend, pin.commit, tip.commit, shallow
    )
    results = Results("impact")
    known = results.load(key, lambda plain: codec.decode(Impact, plain, where="cache"))
    if known is None:
        known = measure_impact(workspace, backend, pin, tip)
        results.store(key, codec.encode(known))
    return known


def measure_impact(workspace: Workspace, backend: Backend, pin: Tree, tip: Tree) -> Impact:
    """Everything of ours that touches the upstream packages, with its state at the tip."""
    packages = backend.packages
    if not packages:
        return Impact(surface=None)
    cache = open_cache()
    ours = Part(tree=SelectedTree(workspace.tree, lambda path: not is_test(path)))
    chosen = _package_files(backend)
    before, after = (
        Part(tree=SelectedTree(tree, chosen), packages=packages, source_roots=backend.source_roots)
        for tree in (pin, tip)
    )
    *indexes, both = build_indexes([[before], [after], [ours, before]], cache)
    roots = find_roots(both, packages)
    # other processes read our uses while this one compares upstream with itself
    wait_for_uses = begin(lambda: read_uses(both, roots, open_cache(analyser=ANALYSER)))
    versions = Versions(pin.repository, indexes, cache)
    comparer = open_comparer(
        "impact", indexes[0], indexes[1], [Tracer(pin.repository, pin.commit, tip.commit, versions)]
    )
    resolvers = comparer.pin, comparer.tip
    options = read_options(resolvers[0], packages), read_options(resolvers[1], packages)
    surface = compare_surface(comparer, packages, *options)
    uses, unread = wait_for_uses()
    numbers = tuple(find_version(pin.repository, one.commit, packages) for one in (pin, tip))
    ground = RefKnowledge(comparer=comparer, packages=packages, keys={}, versions=(numbers[0], numbers[1]))
    running = read_running(ours.tree, ours.source_roots, ground)
    judge = Judge(comparer, {row.name: row for row in surface.flags}, frozenset(options[0].flags), running)
    couplings = build_couplings(judge, Finder(index=both, packages=roots, uses=uses).find_places())
    comparer.save()
    keys, unreadable = read_yaml_keys(ours.tree, backend.configs)
    known = options[0].known(resolvers[0]), options[1].known(resolvers[1])
    return Impact(
        surface=surface,
        couplings=couplings,
        stale_keys=tuple(spell_out(ours.tree, find_stale_keys(keys, known[0], known[1].keys()))),
        used_files=tuple(
            sorted({one.pin_evidence.path for one in couplings if one.pin_evidence and one.pin_evidence.path})
        ),
        shims=tuple(find_shims(indexes[1])),
        skipped=(
            *locate_skipped((*unread, *unreadable), workspace.downstream.name, workspace.commit),
            *locate_skipped((*options[1].skipped, *indexes[1].skipped()), tip.repository.name, tip.commit),
        ),
    )


class SelectedTree(Tree):
    """The files of a commit that a question is about: the rest is not listed, so nobody parses it."""

    def __init__(self, tree: Tree, keep: Callable[[str], bool]) -> None:
        super().__init__(tree.repository, tree.commit)
        self._keep = keep

    @cached_property
    def entries(self) -> dict[str, TreeEntry]:
        """Paths that are kept, in order."""
        return {path: entry for path, entry in Tree(self.repository, self.commit).entries.items() if self._keep(path)}


def _package_files(backend: Backend) -> Callable[[str], bool]:
    """Files below the backend's packages and, since scripts are renamed, every file at the top."""
    roots = [root.strip("/").removeprefix("./").rstrip(".") for root in backend.source_roots]
    places = [posixpath.join(root, package.replace(".", "/")) for root in roots for package in backend.packages]
    folders = tuple(f"{place}/" for place in places)
    files = frozenset(f"{place}.py" for place in places)
    return lambda path: "/" not in path or path in files or path.startswith(folders)


def find_shims(index: Index) -> Iterator[tuple[str, int]]:
    """Modules that warn of deprecation when imported: path and line of the warning."""
    warning = {path for part in index.parts for path in find_files_with(part.tree, "DeprecationWarning")}
    for name, entry in sorted(index.entries.items()):
        tree = parse_tree(entry.path, index.read_blob(name)) if entry.path in warning else None
        for node in tree.body if isinstance(tree, ast.Module) else ():
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Call)
                and "DeprecationWarning" in ast.unparse(node.value)
            ):
                yield entry.path, node.lineno
                break
