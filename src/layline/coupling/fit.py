"""Does our replacement take what upstream passes at the tip? Signatures first, then upstream's own call sites."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from layline.change.binding import (
    CallSite,
    Problem,
    check_call,
    check_replacement,
    may_misplace,
)
from layline.change.call_sites import find_function, read_modules
from layline.change.compare import Comparer, Comparison
from layline.change.handed_on import HandedFunctions, HandedOn
from layline.change.signatures import ParameterChange
from layline.change.slots import find_refusing, find_slot_calls
from layline.core.evidence import Location
from layline.core.ours import is_test_module
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import find_nature_problems
from layline.coupling.replacements import Replacement
from layline.coupling.row_parts import Passed
from layline.source import Definition, DefinitionKind, Parameter, ParameterKind, Symbol
from layline.source.lineage import find_above
from layline.source.resolve import Resolver
from layline.source.seen import Read

_NEEDS = frozenset({Reason.NOT_PASSED, Reason.NEEDS_EXTRA, Reason.NEEDS_RENAMED, Reason.NEEDS_REMOVED})
"""What ours needs and callers do not give, as against what ours refuses."""
_MISPLACED = frozenset({Reason.TWICE, Reason.TOO_MANY})
"""What only a call shows: both signatures name the same parameters, at other places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The verdict: problems that are new at the tip, and whether one of them is sure to break a call."""

    why: tuple[Why, ...] = ()
    breaks: bool = False
    passed: Passed | None = None
    """The upstream calls that break it, where they decide."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One argument that our replacement does not take, and upstream's calls that pass it."""

    problem: Problem
    places: tuple[Location, ...]


class Fitter:
    """Checks replacements against one tip; its calls are read once, when a doubt needs them.

    `names`: whose calls at pin and tip may decide.
    """

    def __init__(self, comparer: Comparer, names: tuple[Iterable[str], Iterable[str]] = ((), ())) -> None:
        self.comparer = comparer
        self._tip = comparer.tip
        self._names = frozenset(names[0]), frozenset(names[1])
        self._handed = HandedFunctions(comparer.tip, self._names[1])
        self._slots: dict[frozenset[str], tuple[list[CallSite], Collection[Read]]] = {}

    def check(self, comparison: Comparison, ours: Replacement | None) -> Fit:
        """Certain problems break; optional arguments break where upstream passes them."""
        found = find_new_problems(comparison, ours, self.comparer)
        pair, old = _parameters(comparison, ours, self._tip), _maker(comparison.before, self.comparer.pin)
        if ours is None or pair is None:
            return found if found.breaks else Fit(why=tuple(_unread(comparison, ours)))
        if not found.why:
            opened = (
                _takes_any(pair[1]) and not _takes_any(pair[0]) and not _takes_any(old.parameters or () if old else ())
            )
            taken = Why(Reason.TAKES_NO_MORE if opened else Reason.TAKES_ALL, text=_signature(pair[0]))
            return Fit(why=(taken, *self._find_uncalled(comparison)))
        if found.breaks:
            return found
        problems = find_problems(comparison, ours, self.comparer)
        arguments = frozenset(item.argument for item in problems)
        passed = [
            site
            for site, argument in self._find_refused(comparison, pair[0], ours)
            if argument in arguments or argument.startswith("#")
        ]
        handed = HandedOn()
        if not any(site.certain for site in passed):
            handed = self._handed.find(_reaching_name(comparison))
            passed += self._find_refused_among(handed.sites, pair[0], arguments)
        passed = list(dict.fromkeys(passed))
        sure = [site for site in passed if site.certain]
        if (
            not sure
            and makes_instances(comparison)
            and (built := find_refusing(self._read_slots(arguments), *pair, arguments))
        ):
            return Fit(why=(_sum_up(problems, Reason.MISFITS_SLOT, built),), breaks=True)
        needs = all(item.why.reason in _NEEDS for item in problems)
        if not passed:
            unseen = Reason.MISFITS_UNSHOWN if needs else Reason.MISFITS_UNPASSED
            if handed.places:
                why = Why(Reason.MISFITS_HANDED, parts=tuple(item.why for item in problems), places=handed.places)
                return Fit(why=(why,))
            uncalled = tuple(self._find_uncalled(comparison))
            return Fit(why=(_sum_up(problems, Reason.MISFITS if uncalled else unseen), *uncalled))
        word = (Reason.MISFITS_LEFT_OUT if needs else Reason.MISFITS_PASSED) if sure else Reason.MISFITS_MAYBE
        name = called_name(comparison).removesuffix(".__init__").rpartition(".")[2]
        paths = tuple(dict.fromkeys(site.location.path for site in sure))
        told = Passed(name=name, arguments=tuple(sorted(arguments)), paths=paths)
        return Fit(
            why=(_sum_up(problems, word, sure or passed),),
            breaks=bool(sure),
            passed=told if sure and not needs else None,
        )

    def find_refused(
        self, comparison: Comparison, ours: Replacement | None, side: int, *, outside: bool = False
    ) -> dict[str, Refused]:
        """Arguments that calls at one ref surely pass to our replacement and that it does not take; `outside`: of a
        method whose whole class is ours, so that only calls on other objects than `self` are meant.

        A module that imported the function by value calls the old one: only calls in the module that we write to, and
        those of methods, count.
        """
        symbol = (comparison.before, comparison.after)[side]
        theirs = symbol.definition
        if ours is None or theirs is None or not may_refuse(symbol, ours):
            return {}
        problems = {item.argument: item for item in refuse(symbol, ours)}
        is_member = bool(theirs.owner) and "staticmethod" not in theirs.decorators
        found: dict[str, tuple[Problem, list[Location]]] = {}
        for site in self._read_sites(side, _spell(symbol)):
            near = bool(theirs.owner) or site.module == comparison.name.rpartition(".")[0]
            if not (site.certain and near) or is_test_module(site.module) or not _reaches(site, ours):
                continue
            if outside and site.on_self:
                continue
            if theirs.parameters is not None and check_call(site.shape, theirs.parameters, bound=is_member):
                continue  # what does not fit upstream's own function means another one
            for one in check_call(site.shape, ours.definition.parameters or (), bound=is_member):
                told = one if one.why.reason in _MISPLACED else problems.get(one.argument)
                if told is not None:
                    found.setdefault(one.argument, (told, []))[1].append(site.location)
        order = dict.fromkeys((*problems, *found))
        return {name: Refused(found[name][0], tuple(found[name][1])) for name in order if name in found}

    def find_outer_calls(self, name: str) -> tuple[Location, ...]:
        """Where code of the tip surely calls a method on another object than `self`."""
        sites = (one for one in self._read_sites(1, name) if one.certain and not one.on_self)
        return tuple(one.location for one in sites if not is_test_module(one.module))

    def find_callers(self, comparison: Comparison) -> frozenset[str]:
        """The functions of the tip that call a method on their own object, where it is the target; empty where another
        call may reach it, too.
        """
        after, tip = comparison.after, self._tip
        if after.definition is None or not after.definition.owner:
            return frozenset()
        owner, _, word = comparison.name.rpartition(".")
        above, found = set(find_above(owner, tip)), set()
        names = {home for one in above if (home := tip.resolve(f"{one}.{word}").home) is not None}
        for site in (site for name in sorted(names) for site in self._read_sites(1, name)):
            around = find_function(tip.index.module(site.module), site.location.line)
            caller = f"{site.module}.{around}"
            holder, _, method = caller.rpartition(".")
            if is_test_module(site.module):
                continue
            if not site.on_self or (holder not in above and tip.resolve(f"{holder}.{word}").home == after.home):
                return frozenset()  # on any object, or in a class below the target's
            if holder in above and tip.resolve(f"{owner}.{method}").home == caller:
                found.add(caller)
        return frozenset(found)

    @staticmethod
    def _find_refused_among(
        sites: Iterable[CallSite], ours: tuple[Parameter, ...], arguments: Collection[str]
    ) -> list[CallSite]:
        """Calls of what stands for the function that our replacement does not accept."""
        return [
            site
            for site in sites
            if any(
                one.argument in arguments or one.argument.startswith("#")
                for one in check_call(site.shape, ours, bound=False)
            )
        ]

    def _read_sites(self, side: int, name: str) -> list[CallSite]:
        """Upstream's calls of a name at one ref; those of all names that may decide are read together."""
        return self.comparer.sites[side].find(name, self._names[side])

    def _find_uncalled(self, comparison: Comparison) -> Iterator[Why]:
        """Of a function that nothing at the tip calls or imports: what we put in its place does nothing there."""
        definition = comparison.after.definition
        if definition is None or definition.owner or definition.kind is not DefinitionKind.FUNCTION:
            return
        users = [site.module for site in self._read_sites(1, called_name(comparison))]
        users += [module for module, _ in self._tip.find_importers(comparison.name)]
        if all(is_test_module(module) for module in users) and not self._is_named(definition.name):
            yield Why(Reason.UNCALLED)

    def _is_named(self, name: str) -> bool:
        """True if upstream's text has the name apart from its definition: in a table, a string, on a value."""
        plain = name.encode()
        word = re.compile(rb"(?<!\w)(def )?" + re.escape(plain) + rb"(?!\w)")
        return any(
            found[1] is None
            for module, data in read_modules(self._tip, [name])
            if plain in data and not is_test_module(module)
            for found in word.finditer(data)
        )

    def _read_slots(self, asked: frozenset[str]) -> list[CallSite]:
        """Calls at the tip that name one of these arguments."""
        return self.comparer.seen.remember(self._slots, asked, lambda: find_slot_calls(self._tip, asked))

    def _find_refused(
        self, comparison: Comparison, ours: tuple[Parameter, ...], replacement: Replacement
    ) -> Iterator[tuple[CallSite, str]]:
        """Upstream calls at the tip that our replacement does not accept, each with the argument that breaks."""
        definition = comparison.after.definition
        is_member = "self" in {item.name for item in ours[:1]} or replacement.definition.kind is DefinitionKind.CLASS
        static = definition is not None and "staticmethod" in definition.decorators
        bound = is_member or (definition is not None and bool(definition.owner) and not static)
        for site in self._read_sites(1, _reaching_name(comparison)):
            if not is_test_module(site.module) and _reaches(site, replacement):
                yield from ((site, problem.argument) for problem in check_call(site.shape, ours, bound=bound))


def _reaches(site: CallSite, ours: Replacement) -> bool:
    """Whether a call that depends on the signature of what is called is one of ours; a decorator may show another."""
    return bool(ours.definition.decorators) or site.reaches(ours.definition.parameters or ())


def _takes_any(parameters: Iterable[Parameter]) -> bool:
    return any(item.kind is ParameterKind.KEYWORDS for item in parameters)


def called_name(comparison: Comparison) -> str:
    """What a call of the symbol at the tip calls: itself, or of a class what makes its instances."""
    return _spell(comparison.after) or comparison.name


def _reaching_name(comparison: Comparison) -> str:
    """The name by which calls of the tip reach what we put there: of a variable of a module that holds a function
    (`step = _step`), the variable's.
    """
    called, name = called_name(comparison), comparison.name
    after = comparison.after
    is_function = after.definition is not None and after.definition.kind is DefinitionKind.FUNCTION
    other = after.exists and is_function and not (after.definition and after.definition.owner)
    return name if other and name.rpartition(".")[2] != called.rpartition(".")[2] else called


def refuse(symbol: Symbol, ours: Replacement | None) -> tuple[Problem, ...]:
    """What a function of ours does not take of the signature of the function in whose place it stands."""
    theirs = symbol.definition
    kinds = {one.kind for one in (theirs, ours.definition if ours is not None else None) if one is not None}
    if ours is None or theirs is None or kinds != {DefinitionKind.FUNCTION}:
        return ()
    return check_replacement(ours.definition.parameters or (), theirs.parameters or ())


def may_refuse(symbol: Symbol, ours: Replacement | None) -> bool:
    """True if some call of the function that upstream's signature allows does not bind to ours."""
    if refuse(symbol, ours):
        return True
    theirs = symbol.definition
    if ours is None or theirs is None or {theirs.kind, ours.definition.kind} != {DefinitionKind.FUNCTION}:
        return False
    return may_misplace(ours.definition.parameters or (), theirs.parameters or ())


def _spell(symbol: Symbol) -> str:
    if symbol.home is None:
        return ""
    is_class = symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS
    return f"{symbol.home}.__init__" if is_class else symbol.home


def makes_instances(comparison: Comparison) -> bool:
    """True of classes and their constructors: what upstream holds in a slot and calls there."""
    return called_name(comparison).endswith(".__init__")


def find_new_problems(comparison: Comparison, ours: Replacement | None, comparer: Comparer) -> Fit:
    """What our replacement refuses of the tip's signature and did not refuse of the pin's."""
    found = find_problems(comparison, ours, comparer)
    why = (_sum_up(found, Reason.MISFITS),) if found else ()
    return Fit(why=why, breaks=any(item.certain for item in found))


def find_problems(comparison: Comparison, ours: Replacement | None, comparer: Comparer) -> list[Problem]:
    if ours is None:
        return []
    natures = list(find_nature_problems(comparison, ours.definition, ours.installed))
    pair = _parameters(comparison, ours, comparer.tip)
    if pair is None:
        return natures
    mine, theirs = pair
    old = _maker(comparison.before, comparer.pin)
    today = {item.why for item in check_replacement(mine, old.parameters or ())} if old is not None else set()
    found = [item for item in check_replacement(mine, theirs) if item.why not in today]
    return [*natures, *found, *_find_lost(comparison, mine, found)]


def _find_lost(comparison: Comparison, ours: tuple[Parameter, ...], known: list[Problem]) -> Iterator[Problem]:
    """Parameters that upstream took away or renamed and that ours still needs: a call by name leaves them out."""
    gone = {ParameterChange.REMOVED, ParameterChange.RENAMED}
    lost = {item.name: item for item in comparison.changes if item.change in gone}
    for item in ours:
        stand_ins = {one.why.name for one in known if one.why.reason is Reason.REFUSES_NAME}
        told = item.name in stand_ins or any(item.name == one.argument for one in known)
        if item.required and item.name in lost and not told:
            new = lost[item.name].after
            why = Why(Reason.NEEDS_RENAMED, item.name, new) if new else Why(Reason.NEEDS_REMOVED, item.name)
            yield Problem(item.name, why, certain=False)


def _maker(symbol: Symbol, resolver: Resolver) -> Definition | None:
    """The function that a call of the symbol runs: itself, or of a class its `__init__`."""
    definition = symbol.definition
    if definition is not None and definition.kind is DefinitionKind.CLASS:
        definition = resolver.resolve(f"{symbol.home}.__init__").definition
    return definition if definition is not None and definition.kind is DefinitionKind.FUNCTION else None


def _parameters(
    comparison: Comparison, ours: Replacement | None, tip: Resolver
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]] | None:
    """Our parameters and those of the symbol at the tip (for classes, of what makes their instances)."""
    after = comparison.after
    if not after.exists and comparison.new_home is not None:
        after = tip.resolve(comparison.new_home)
    theirs = after.definition
    if ours is None or theirs is None:
        return None
    mine: Definition | None = ours.definition
    if theirs.kind is ours.definition.kind is DefinitionKind.CLASS:
        mine = ours.constructor()
    made = _maker(after, tip)
    if mine is None or made is None or mine.parameters is None or made.parameters is None:
        return None
    if theirs.kind is DefinitionKind.CLASS and ours.definition.kind is DefinitionKind.FUNCTION:
        return mine.parameters, made.parameters[1:]  # a function in the place of a class is called without `self`
    return mine.parameters, made.parameters


def _unread(comparison: Comparison, ours: Replacement | None) -> Iterator[Why]:
    """Why the verdict stays open."""
    definition = comparison.after.definition
    if ours is None:
        yield Why(Reason.UNREAD_SIGNATURE)
    elif definition is not None and definition.kind is DefinitionKind.CLASS:
        yield Why(Reason.NO_INIT)


def _sum_up(problems: Iterable[Problem], reason: Reason, sites: Iterable[CallSite] = ()) -> Why:
    return Why(reason, parts=tuple(item.why for item in problems), places=tuple(site.location for site in sites))


def _signature(parameters: tuple[Parameter, ...]) -> str:
    words = [str(item) for item in parameters[:8]]
    return f"({', '.join(words)}{', …' if len(parameters) > 8 else ''})"
