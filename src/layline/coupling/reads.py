"""What our replacement reads of upstream and the tip does not have: the target may fit, and the first call fails all
the same.

Attributes of the patched object, fields of what it holds, names of upstream modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from layline.change.compare import Comparer, Comparison
from layline.change.signatures import takes_others
from layline.core.drift import DriftKind, Fate
from layline.core.evidence import Location
from layline.core.why import Reason, Why, say
from layline.coupling.below import is_given, is_set_outside
from layline.coupling.exchanged import find_exchanged
from layline.coupling.lost_attribute import find_attribute_loss, find_result_change
from layline.coupling.own_imports import OwnImports, OwnModules
from layline.coupling.replacements import Replacement, Replacements
from layline.coupling.results import ResultPair, Results, find_beside
from layline.coupling.row_parts import LostRead
from layline.coupling.surroundings import (
    Chain,
    Imported,
    find_chains,
    find_imports,
    find_needed,
    find_own_steps,
    find_set,
    find_steps,
)
from layline.coupling.vanished import Vanished
from layline.coupling.version_guards import Running
from layline.source import DefinitionKind, Symbol, SymbolKind
from layline.source.instances import Instances, bare_annotation
from layline.source.names import is_within, longest_root


class Reader:
    """Holds replacements against both refs of one upstream."""

    def __init__(
        self, comparer: Comparer, replacements: Replacements, packages: tuple[str, ...], roots: tuple[str, ...] = (".",)
    ) -> None:
        self._comparer = comparer
        ours = OwnModules(replacements.ours, roots)
        self.imports = (
            OwnImports(ours, packages, comparer.pin, trusted=False),
            OwnImports(ours, packages, comparer.tip, trusted=True),
        )
        self._replacements = replacements
        self._packages = packages
        self._instances = Instances(comparer.pin), Instances(comparer.tip)
        self._results = ResultPair(Results(comparer.pin, self._instances[0]), Results(comparer.tip, self._instances[1]))
        self._vanished = Vanished(comparer)

    def find_lost(self, comparison: Comparison, ours: Replacement | None, at: Location) -> tuple[LostRead, ...]:
        """Each lost thing once, in the order of our lines; `at` is the line that puts the replacement in place."""
        found = [*self._find_steps(comparison, at)]
        if ours is not None:
            found += self._find_attributes(comparison, ours)
            found += self._find_names(comparison, ours)
            found += self._vanished.find(comparison, ours, {item.attribute for item in found})
            found += self._find_failing(comparison, ours)
            found += self._find_lacking(comparison, ours)
        # of imports that fail the order in which they would stop us
        listed = sorted(found, key=lambda item: (item.line, _order(item.why)))
        once = {(item.name, item.attribute, item.result and item.why): item for item in reversed(listed)}
        return tuple(once.values())[::-1]

    def find_outlived(self, ours: Replacement | None, running: Running | None) -> tuple[LostRead, ...]:
        """Methods that our replacement calls at the tip's version alone, and that upstream had in between only."""
        found = self._vanished.find_outlived(ours, running) if ours is not None and running is not None else ()
        return tuple(found)

    def find_lacking(self, comparison: Comparison, ours: Replacement) -> tuple[Why, ...]:
        """What our method reads of the results of upstream's functions and they do not have at the pin already."""
        stays = _is_method(comparison.before) and _is_method(comparison.after)
        found = self._results.find_today(ours, comparison.name.rpartition(".")[0]) if stays else ()
        return tuple(dict.fromkeys(found))

    def _find_lacking(self, comparison: Comparison, ours: Replacement) -> Iterator[LostRead]:
        """The same at the tip alone."""
        if comparison.kind.facts.fate is Fate.STAYS and _is_method(comparison.before) and _is_method(comparison.after):
            yield from self._results.find_lost(ours, comparison.name.rpartition(".")[0])

    def sets(self, owner: Comparison, word: str) -> bool:
        """Whether methods of a class put an attribute on their objects, at pin and tip."""
        homes = (owner.before.home, owner.after.home or owner.new_home)
        return all(
            home is not None and word in side.find(home) for side, home in zip(self._instances, homes, strict=True)
        )

    def find_too_new(self, comparison: Comparison, ours: Replacement) -> tuple[Why, ...]:
        """Attributes that our replacement reads, that the tip has and the pin has not."""
        found = (self._find_absent(chain, home) for chain, home in self._find_read(comparison, ours))
        return tuple(dict.fromkeys(why for why in found if why is not None))

    def _find_absent(self, chain: Chain, home: str) -> Why | None:
        """The first word along a chain that the pin's class surely lacks, though the tip's class has it."""
        words = chain.words[1:]
        for number, word in enumerate(words):
            then = self._read(0, home, word)
            if then is None:
                now = None if chain.guarded else self._find_tip_class(home)
                if now is None or self._read(1, now, word) is None or not self._results.lacks(home, word):
                    return None
                text = ".".join((chain.words[0], *words[: number + 1]))
                return None if is_given(self._comparer.pin, word) else Why(Reason.READS_TOO_NEW, text, home, text=word)
            if then.kind is None:
                return None
            home = then.kind
        return None

    def _find_attributes(self, comparison: Comparison, ours: Replacement) -> Iterator[LostRead]:
        for chain, home in self._find_read(comparison, ours):
            yield from self._follow(chain, home, chain.words[1:])

    def _find_read(self, comparison: Comparison, ours: Replacement) -> Iterator[tuple[Chain, str]]:
        """What our replacement reads of `self` and of parameters whose class upstream's signature tells, and does not
        set itself, with that class; also in the functions beside ours that are handed them.
        """
        if not isinstance(ours.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        roots = dict(self._find_roots(comparison.before, ours.node))
        yield from _find_unset(ours.node, roots, find_set(ours.node))
        for mine, home in roots.items():
            own = [name.partition(".") for name in find_set(ours.node)]
            for function, me in find_beside(ours, mine):
                known = {f"{me}.{word}" for name, _, word in own if name == mine}
                yield from _find_unset(function, {me: home}, known | find_set(function))

    def _find_roots(self, before: Symbol, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, str]]:
        """Names of our parameters → the upstream class (at the pin) that they hold."""
        definition = before.definition
        if definition is None or before.module is None or definition.kind is not DefinitionKind.FUNCTION:
            return
        mine = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
        theirs = definition.parameters or ()
        if definition.owner and theirs and theirs[0].name == "self" and mine:
            yield mine[0], f"{before.module}.{definition.owner}"
        taken = {*mine, *(item.arg for item in node.args.kwonlyargs)}
        for item in theirs:
            text = bare_annotation(item.annotation) if item.annotation and item.name in taken else None
            symbol = self._comparer.pin.resolve_in(before.module, text) if text else None
            if symbol is not None and symbol.home and _is_class(symbol):
                yield item.name, symbol.home

    def _follow(self, chain: Chain, home: str, words: tuple[str, ...]) -> Iterator[LostRead]:
        """Word by word along a chain, as long as the pin says which class comes next."""
        for number, word in enumerate(words):
            then = self._read(0, home, word)
            now = self._find_tip_class(home)
            if then is None or now is None:
                return
            if self._read(1, now, word) is None and self._read(1, now, "__getattr__") is None:
                text = ".".join((chain.words[0], *words[: number + 1]))
                doubt = (
                    chain.guarded
                    or self._instances[1].mentions(now, word)
                    or is_set_outside(self._comparer, (now,), word)
                )
                why = Why(Reason.READS_LOST, text, now)
                yield LostRead(
                    line=chain.line,
                    why=why,
                    certain=not doubt,
                    asked=chain.guarded,
                    name=then.owner,
                    attribute=word,
                )
                return
            if then.kind is None:
                return
            home = then.kind

    def _find_tip_class(self, home: str) -> str | None:
        lost = self._comparer.compare_lost(home)
        name = self._comparer.tip.resolve(home).home if lost is None else lost.new_home
        return name if name is not None and _is_class(self._comparer.tip.resolve(name)) else None

    def _read(self, side: int, home: str, word: str) -> _Member | None:
        """The member of a class at one ref: set by its methods, or defined; None where it has none of its own."""
        resolver = (self._comparer.pin, self._comparer.tip)[side]
        attribute = self._instances[side].find(home).get(word)
        if attribute is not None:
            return _Member(owner=attribute.owner, kind=attribute.kind)
        symbol = resolver.resolve(f"{home}.{word}")
        if not symbol.exists or symbol.definition is None or symbol.module is None:
            return None
        owner = f"{symbol.module}.{symbol.definition.owner}"
        text = bare_annotation(symbol.definition.returns) if symbol.definition.kind is DefinitionKind.FIELD else None
        held = resolver.resolve_in(symbol.module, text) if text else None
        return _Member(owner=owner, kind=held.home if held is not None and _is_class(held) else None)

    def _find_names(self, comparison: Comparison, ours: Replacement) -> Iterator[LostRead]:
        """Upstream names that the replacement reaches through imports around or in it."""
        tree = self._replacements.read_tree(ours.location.path)
        if tree is None:
            return
        imports = find_imports(tree, ours.node)
        for chain in find_chains(ours.node):
            imported = imports.get(chain.words[0])
            if imported is None or chain.line in imported.own_lines:
                continue
            name = self._find_known(imported, chain.words[1:])
            found = self._comparer.compare_lost(name) if name is not None else None
            if name is None or found is None or found.kind.facts.fate is not Fate.GONE:
                continue
            if is_within(comparison.name, name) or is_within(name, comparison.name):
                continue  # what became of the target is the row itself
            asked = chain.guarded or imported.guarded
            there = self._comparer.tip.resolve(found.new_home).definition if found.new_home else None
            other = "other" if takes_others(found.before.definition, there) else ""
            why = Why(Reason.USES_GONE, name, found.new_home or "", text=other)
            yield LostRead(line=chain.line, why=why, certain=not asked, asked=asked, name=name)

    def find_dead(self, ours: Replacement | None, at: Location) -> Why | None:
        """Why our code fails before it puts a replacement in place today already; None where it does not."""
        own = self.imports[0].names.get(ours.location.path) if ours is not None else None
        for module in (*((own,) if own is not None else ()), *self._find_own_steps(at)):
            for found in self.imports[0].find_failing(module):
                return Why(Reason.CANNOT_LOAD, module, found.name, places=(found.location,))
        return None

    def find_missing(self, ours: Replacement) -> Iterator[Why]:
        """What the body of our replacement imports whenever it runs, and the pin does not have; the tip may."""
        for imported in find_own_steps(ours.node):
            if longest_root(imported.name, self._packages) and self.imports[0].is_missing(imported.name):
                at = Location(ours.location.path, min(imported.own_lines))
                still = self.imports[1].is_missing(imported.name)
                reason = Reason.IMPORTS_MISSING_STILL if still else Reason.IMPORTS_MISSING
                yield Why(reason, imported.name, places=(at,))

    def _find_own_steps(self, at: Location) -> Iterator[str]:
        """Modules of ours that are imported on the way to a line."""
        tree = self._replacements.read_tree(at.path)
        for imported in find_steps(tree, at.line) if tree is not None else ():
            yield from self._find_own_modules(imported)

    def _find_own_modules(self, imported: Imported) -> Iterator[str]:
        """The modules of ours that an import loads."""
        names = (imported.name, imported.name.rpartition(".")[0])
        yield from (name for name in names if name in self.imports[0].paths)

    def _find_steps(self, comparison: Comparison, at: Location) -> Iterator[LostRead]:
        """What our code imports on the way to the line that installs the replacement, and the tip does not have."""
        here = self.imports[1].names.get(at.path)
        if here is not None:
            yield from self._fail(here, 0, comparison, certain=True)
        tree = self._replacements.read_tree(at.path)
        for imported in find_steps(tree, at.line) if tree is not None else ():
            line = min(imported.own_lines)
            for module in self._find_own_modules(imported):
                yield from self._fail(module, line, comparison, certain=True)
            name = self._find_known(imported, ())
            found = self._comparer.compare_lost(name) if name is not None else None
            if name is None or found is None or found.kind.facts.fate is not Fate.GONE:
                continue
            if is_within(comparison.name, name):
                continue
            why = Why(Reason.NOT_REACHED, name, found.new_home or "", counts=(line,))
            yield LostRead(line=line, why=why, certain=True, name=name)
        if tree is not None:
            yield from self._find_failing_lines(tree, comparison, at)

    def is_import_lost(self, comparison: Comparison, at: Location) -> bool:
        """Whether a statement before a line, in no branch and no `try`, imports what the target stands in, and the tip
        does not have it.
        """
        tree = self._replacements.read_tree(at.path)
        steps = find_steps(tree, at.line) if tree is not None else ()
        known = (self._find_known(imported, ()) for imported in steps)
        return any(
            name is not None and is_within(comparison.name, name) and not self._comparer.tip.resolve(name).exists
            for name in known
        )

    def _find_failing_lines(self, tree: ast.Module, comparison: Comparison, at: Location) -> Iterator[LostRead]:
        """The first line before ours that reads what the tip does not have: nothing after it is run."""
        for statement, words in find_needed(tree, at.line):
            imported = find_imports(tree, statement).get(words[0])
            if imported is None or imported.guarded or min(imported.own_lines) > statement.lineno:
                continue
            name = self._find_known(imported, words[1:])
            found = self._comparer.compare_lost(name) if name is not None else None
            if name is None or found is None or found.kind.facts.fate is not Fate.GONE:
                continue
            if is_within(comparison.name, name) or found.before.kind is SymbolKind.SUBMODULE:
                continue  # the row of the target tells, or the import of the module
            if not self._comparer.tip.resolve(imported.name).exists:
                continue  # the import fails before
            instead = find_exchanged(name, self._comparer) if found.kind is DriftKind.BINDING_LOST else None
            home = instead.target if instead is not None else found.new_home
            why = Why(Reason.LINE_FAILS, name, home or "", counts=(statement.lineno,))
            yield LostRead(line=at.line, why=why, certain=True, name=name)
            return

    def _find_failing(self, comparison: Comparison, ours: Replacement) -> Iterator[LostRead]:
        """Modules of ours that the replacement stands in or imports, and that fail to load at the tip."""
        tree = self._replacements.read_tree(ours.location.path)
        own = self.imports[1].names.get(ours.location.path)
        if own is not None:
            yield from self._fail(own, ours.location.line, comparison, certain=True)
        for imported in find_imports(tree, ours.node).values() if tree is not None else ():
            lines = sorted(imported.own_lines)
            if lines and ours.node.lineno < lines[0] <= (ours.node.end_lineno or 0):
                for name in (imported.name, imported.name.rpartition(".")[0]):
                    yield from self._fail(name, lines[0], comparison, certain=not imported.guarded)

    def _fail(self, module: str, line: int, comparison: Comparison, *, certain: bool) -> Iterator[LostRead]:
        for found in self.imports[1].find_failing(module) if module in self.imports[1].paths else ():
            if self._comparer.pin.resolve(found.name).kind is SymbolKind.ABSENT:
                continue
            if is_within(comparison.name, found.name) or is_within(found.name, comparison.name):
                continue
            there = self._comparer.compare(found.name)
            why = Why(Reason.NEEDS_GONE, found.name, there.new_home or "", places=(found.location,))
            yield LostRead(line=line, why=why, certain=certain, name=found.name)

    def _find_known(self, imported: Imported, words: tuple[str, ...]) -> str | None:
        """The longest part of a dotted name that the pin binds; None for what is not this upstream's."""
        if not longest_root(imported.name, self._packages):
            return None
        name: str | None = None
        for number in range(len(words) + 1):
            dotted = ".".join((imported.name, *words[:number]))
            if not self._comparer.pin.resolve(dotted).exists:
                break
            name = dotted
        return name

    def find_culprit(self, lost: LostRead) -> str | None:
        """The first commit since which the tip does not have it."""
        if lost.since is not None:
            return lost.since
        if lost.result is not None:
            return find_result_change(self._comparer, lost.name, lost.result, lost.why.name.removeprefix("."))
        if lost.attribute is None:
            found = self._comparer.compare(lost.name)
            return self._comparer.find_loss(found)
        return find_attribute_loss(self._comparer, lost.name, lost.attribute)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    owner: str
    """Dotted name of the class that has it."""
    kind: str | None
    """Dotted name of the class it holds, where that can be told."""


def _find_unset(function: ast.AST, held: dict[str, str], own: AbstractSet[str]) -> Iterator[tuple[Chain, str]]:
    """What a function reads of names that hold objects of these classes, and does not set (`own`) itself."""
    for chain in find_chains(function):
        root, words = chain.words[0], chain.words[1:]
        if words and root in held and f"{root}.{words[0]}" not in own:
            yield chain, held[root]


def _order(why: Why) -> str:
    return "" if why.reason is Reason.NEEDS_GONE else say(why)


def _is_class(symbol: Symbol) -> bool:
    return symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS


def _is_method(symbol: Symbol) -> bool:
    return symbol.definition is not None and symbol.module is not None and bool(symbol.definition.owner)
