"""What the tip does to us: the surface of the upstream packages, our couplings, our configuration keys."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from layline import codec
from layline.change.kept import open_comparer
from layline.change.options.flags import find_files_with
from layline.change.options.read import read_options
from layline.change.surface import StaleKey, Surface
from layline.change.trace import Tracer
from layline.core.evidence import Location, Skipped, locate_skipped
from layline.core.ours import is_test
from layline.core.progress import within
from layline.coupling.agree import agree_on_patches, find_owned
from layline.coupling.culprit import blame_calls
from layline.coupling.fold import fold_told
from layline.coupling.model import Consequence, Coupling, is_flag
from layline.coupling.own_code import read_ours
from layline.gap.follow import Follow, find_follows
from layline.gap.own_files import find_lost_imports, find_texts, list_lost_files, list_yaml
from layline.gap.reach import list_beyond
from layline.gap.successors import Successor, find_successors
from layline.gap.surface.compare import compare_surface
from layline.gap.surface.key_losses import name_losses
from layline.gap.surface.known_keys import find_defaults, find_sections, find_told, leave_out_scripts, read_known
from layline.gap.surface.yaml_keys import find_stale_keys, join_beyond, read_yaml_keys, spell_out
from layline.history.commits import read_bodies
from layline.history.timeline import Timeline, read_timeline
from layline.source import Index, Part, Tree, build_indexes, open_cache, parse_tree
from layline.source.resolve import Resolver
from layline.source.versions import Versions
from layline.workspace.kept import Results, digest_downstream, open_memos, result_key

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.coupling.drift_model import Drift
    from layline.coupling.pair import Pair
    from layline.git import TreeEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The tip seen from our code."""

    surface: Surface | None
    couplings: tuple[Coupling, ...] = ()
    stale_keys: tuple[StaleKey, ...] = ()
    used_files: tuple[str, ...] = ()
    """Upstream files that hold what we touch."""
    shims: tuple[tuple[str, int], ...] = ()
    tests: tuple[Location, ...] = ()
    """Imports in our tests of names that the tip no longer has."""
    follows: tuple[Follow, ...] = ()
    """Methods of ours that override classes with a new address, and what changed in these."""
    successors: tuple[Successor, ...] = ()
    """What is known of the place that lost names left."""
    asked: tuple[tuple[str, tuple[Location, ...]], ...] = ()
    """Stale keys that our code asks for by name, with its lines."""
    read_files: tuple[tuple[str, tuple[Location, ...]], ...] = ()
    """Files of upstream that our code names and the tip no longer has, with its lines."""
    defaults: tuple[tuple[str, str, str], ...] = ()
    """Stale keys whose new name has another number as its default: key, default at the pin, default at the tip."""
    skipped: tuple[Skipped, ...] = ()


def read_impact(pair: Pair, patches: Collection[Drift]) -> tuple[Impact, tuple[Drift, ...]]:
    """What was measured for these files, commits and settings before, else what is measured now; what the rows of our
    patches decide they say. And these rows, with the commits of the calls that their replacements make.
    """
    workspace, backend, entries = pair.workspace, pair.settings, pair.workspace.tree.entries
    pair.owned = find_owned(patches)
    key = result_key(
        "impact",
        digest_downstream(workspace),
        workspace.settings.project,
        backend,
        pair.pin,
        pair.tip,
        pair.upstream.is_shallow,
        [[path, entries[path].oid] for path in list_yaml(entries, list_named(pair))],
        sorted((str(location), target) for location, target in pair.owned),
    )
    results = Results("impact")
    known = results.load(key, lambda plain: codec.decode(Impact, plain, where="cache"))
    if known is None:
        known = measure_impact(pair)
        pair.save()
        results.store(key, codec.encode(known))
    rows = tuple(blame_calls(tuple(patches), known.couplings, pair.upstream))
    return replace(known, couplings=agree_on_patches(fold_told(known.couplings, rows), rows)), rows


def measure_impact(pair: Pair) -> Impact:
    """Everything of ours that touches the upstream packages, with its state at the tip."""
    packages, workspace = pair.settings.packages, pair.workspace
    if not packages:
        return Impact(surface=None)
    pair.begin()
    cache = open_cache()
    pin, tip = Tree(pair.upstream, pair.pin), Tree(pair.upstream, pair.tip)
    chosen = _package_files(pair.settings)
    before, after = (
        Part(tree=SelectedTree(tree, chosen), packages=packages, source_roots=pair.settings.source_roots)
        for tree in (pin, tip)
    )
    pair.progress(f"reading the packages of {pair.backend}", 0, 0)
    indexes = build_indexes([[before], [after]], cache, progress=within(pair.progress, pair.backend))
    tracer = Tracer(pin.repository, pin.commit, tip.commit, Versions(pin.repository, indexes, cache))
    comparer = open_comparer("impact", indexes[0], indexes[1], [tracer])
    resolvers = comparer.pin, comparer.tip
    pair.progress(f"comparing the options of {pair.backend}", 0, 0)
    options = read_options(resolvers[0], packages), read_options(resolvers[1], packages)
    pair.progress(f"comparing the public names of {pair.backend}", 0, 0)
    surface = compare_surface(comparer, packages, *options)
    comparer.save()
    couplings = tuple(one for one in pair.settled if not is_test(one.location.path))
    ours = SelectedTree(workspace.tree, lambda path: not is_test(path))
    pair.progress("looking at our configuration keys", 0, 0)
    keys, unreadable = read_yaml_keys(ours, pair.settings.configs)
    beyond, unread_beyond = read_yaml_keys(ours, list_named(pair)) if pair.settings.configs else ({}, ())
    keys = join_beyond(keys, beyond)
    sections = find_sections(options[0], resolvers[0], keys)
    then, now = (read_known(one, resolver, sections) for one, resolver in zip(options, resolvers, strict=True))
    before_keys = leave_out_scripts(then.names, options[0], keys, tip.entries)
    gone = find_stale_keys(keys, before_keys, replace(now, top=now.top - then.top))
    stale = spell_out(ours, gone, keys, then.names.keys())
    gone_keys = tuple(_name_losses(list(stale), (pin, tip), pair.settings, sections, now.near))
    lost_files = list_lost_files(pair.settings.path or "", pin.entries, tip.entries)
    unread = (one for one in pair.places.skipped if one.path is None or not is_test(one.path))
    pair.progress("looking for what took the place of lost names", 0, 0)
    return Impact(
        surface=surface,
        couplings=couplings,
        stale_keys=gone_keys,
        used_files=tuple(
            sorted({one.pin_evidence.path for one in couplings if one.pin_evidence and one.pin_evidence.path})
        ),
        shims=tuple(find_shims(indexes[1])),
        tests=tuple(find_lost_imports(workspace.tree, packages, *resolvers)),
        follows=tuple(_read_follows(pair, couplings)),
        successors=tuple(
            find_successors(
                pair.comparer,
                _list_lost(couplings, pair.owned),
                {target for _, target in pair.owned},
                read_bodies(pair.upstream, pair.pin, pair.tip),
            )
        ),
        defaults=tuple(find_defaults(gone_keys, options, now.names)),
        asked=tuple(find_texts(workspace.tree, {one.key for one in gone_keys if "." in one.key})),
        read_files=tuple((lost_files[text], places) for text, places in find_texts(workspace.tree, lost_files.keys())),
        skipped=(
            *locate_skipped((*unread, *unreadable, *unread_beyond), workspace.downstream.name, workspace.commit),
            *locate_skipped((*options[1].skipped, *indexes[1].skipped()), tip.repository.name, tip.commit),
        ),
    )


def _list_lost(couplings: Iterable[Coupling], owned: Iterable[tuple[Location, str]]) -> list[str]:
    """Names that break, those that only our patches use included."""
    broken = [one.target for one in couplings if one.consequence is Consequence.WILL_BREAK and not is_flag(one.target)]
    return list(dict.fromkeys([*broken, *sorted(target for _, target in owned)]))


def _read_follows(pair: Pair, couplings: Iterable[Coupling]) -> Iterator[Follow]:
    """Of files of ours that import a class by an address that breaks, and whose new address is known."""
    broken = (one for one in couplings if one.consequence is Consequence.WILL_BREAK and one.new_target)
    paths = frozenset(one.location.path for one in broken)
    if paths:
        finder, _ = read_ours(pair.workspace, pair.part, pair.sight.see_built(list(paths)))
        yield from find_follows(pair.comparer, finder.find_places(paths), pair.workspace.tree.read_text)


def _name_losses(
    stale: list[StaleKey], sides: tuple[Tree, Tree], backend: Backend, sections: frozenset[str], near: frozenset[str]
) -> Iterator[StaleKey]:
    """Keys with the commits that dropped them, and the new names that these tell in their messages."""
    pin, tip = sides
    chosen, packages = _package_files(backend), backend.packages

    def known_at(commit: str) -> Collection[str]:
        tree = SelectedTree(Tree(tip.repository, commit), chosen)
        part = Part(tree=tree, packages=packages, source_roots=backend.source_roots)
        resolver = Resolver(build_indexes([[part]], open_cache())[0])
        return read_known(read_options(resolver, packages), resolver, sections).names.keys()

    if not stale:
        return
    timeline = read_timeline(tip.repository, pin.commit, tip.commit)
    steps = (
        replace(step, changes=tuple(one for one in step.changes if chosen(one.path) and not is_test(one.path)))
        for step in timeline.steps
    )
    messages = read_bodies(tip.repository, pin.commit, tip.commit)
    memos = open_memos("dropped")
    for one in name_losses(stale, Timeline(tuple(steps)), tip.repository.read_blob, known_at, memos):
        told = find_told(messages.get(one.culprit or "", ""), one.key, near)
        yield replace(one, suggestion=told or one.suggestion)


def list_named(pair: Pair) -> tuple[str, ...]:
    """Folders of ours beyond the configured ones that are called like the backend."""
    configured = tuple(f"{folder.rstrip('/')}/" for folder in pair.settings.configs)
    found = list_beyond(pair.workspace.tree.entries, pair.backend, pair.settings)
    return tuple(folder for folder, _ in found if not f"{folder}/".startswith(configured))


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
