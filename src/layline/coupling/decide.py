"""Can a patch go? Its guard is decided at pin and tip as far as upstream's names, versions and config keys decide
it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from layline.change.compare import Comparer
from layline.core.condition import IMPORTED, Condition, ConditionKind, VersionPattern, is_decidable
from layline.core.drift import DriftKind
from layline.core.patch import Patch
from layline.core.why import Reason, Why
from layline.coupling.may_raise import may_raise
from layline.coupling.past_modules import is_unbound
from layline.source.definitions import DefinitionKind
from layline.source.names import longest_root
from layline.source.resolve import Resolver
from layline.source.symbols import Symbol, SymbolKind

_ABOUT_UPSTREAM = frozenset({"backend", "upstream", "target", "base"})
_NOT_A_SUBJECT = frozenset(
    {"version", "versions", "min", "max", "supported", "range", "gate", "gates", "pattern", "patterns"}
)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a condition holds at one ref; None: reading cannot tell. `why` names the parts that decided it."""

    holds: bool | None
    why: tuple[Why, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What the guard of a patch says about the tip."""

    why: Why
    can_go: bool
    """False: it is undecided, or the guard only has to follow a name that moved."""
    of_effect: bool = False
    """It is the condition of one effect: what the installer does before it happens all the same."""
    is_over: bool = False
    """The condition is false at the tip: what stands behind it does not run there."""
    is_planned: bool = False
    """The guard was written to switch the patch off: a version pattern, or a name that upstream did not have yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefKnowledge:
    """What decides conditions: both refs, their versions, and which config keys upstream and we know."""

    comparer: Comparer
    packages: tuple[str, ...]
    versions: tuple[str | None, str | None] = (None, None)
    """Of pin and tip."""
    keys: dict[str, tuple[bool, bool]]
    """Key → whether upstream mentions it at pin and tip."""
    declares: Callable[[str], bool] = bool
    """Whether a config file of ours sets a key."""
    subjects: frozenset[str] = frozenset()
    """Words by which a version pattern may call this upstream."""


def judge_guard(patch: Patch, condition: Condition | None, ground: RefKnowledge) -> Outlook | None:
    """What the version patterns and the guard of a patch, else the condition of one effect, say about the tip."""
    found = [
        judge_patterns(patch.version_patterns, ground),
        _judge_condition(patch.guard.when, ground, "its guard"),
        replace(own, of_effect=True)
        if (own := _judge_condition(condition, ground, "the condition of this effect")) is not None
        else None,
    ]
    told = [one for one in found if one is not None]
    return next((one for one in told if one.can_go), told[0] if told else None)


def _judge_condition(condition: Condition | None, ground: RefKnowledge, what: str) -> Outlook | None:
    if condition is None or not is_decidable(condition):
        return None
    then, now = decide(condition, ground, 0), decide(condition, ground, 1)
    if now.holds is False:
        return _told_false(then, now, condition, ground, what)
    if then.holds is False:
        return Outlook(why=Why(Reason.GUARD_NOT_YET, what, parts=tuple(dict.fromkeys(then.why))), can_go=False)
    changed = tuple(_find_changed(condition, ground)) if now.holds is None else ()
    return Outlook(why=Why(Reason.GUARD_UNDECIDED, what, parts=changed), can_go=False) if changed else None


def _told_false(then: Decision, now: Decision, condition: Condition, ground: RefKnowledge, what: str) -> Outlook:
    needed = list(_find_needed(condition, ground))
    # a class that became a function, or went, was there when the patch was written
    unplanned = {ConditionKind.NAME} if then.holds is False else {ConditionKind.NAME, ConditionKind.CLASS}
    planned = not any(part.kind in unplanned and decide(part, ground, 0).holds is not False for part in needed)
    if then.holds is False:
        because = tuple(dict.fromkeys(then.why))
        return Outlook(why=Why(Reason.GUARD_NEVER, what, parts=because), can_go=True, is_over=True, is_planned=planned)
    homes = [home for part in needed if (home := _find_new_home(part, ground)) is not None]
    if homes:
        return Outlook(why=Why(Reason.GUARD_FOLLOWS, what, homes[0]), can_go=False, is_over=True)
    over = Reason.GUARD_OVER if planned else Reason.GUARD_OVER_UNLESS
    return Outlook(
        why=Why(over, what, parts=tuple(dict.fromkeys(now.why))), can_go=True, is_over=True, is_planned=planned
    )


def decide(condition: Condition, ground: RefKnowledge, side: int) -> Decision:
    """Whether it holds at the pin (side 0) or the tip (side 1)."""
    match condition.kind:
        case ConditionKind.ALL | ConditionKind.ANY:
            return _decide_many(condition, ground, side)
        case ConditionKind.NOT:
            inner = decide(condition.parts[0], ground, side)
            if condition.parts[0].kind is ConditionKind.NAME and condition.parts[0].text in ground.packages:
                return Decision(None)  # written for those who do not install it, whatever a commit of it has
            return Decision(None if inner.holds is None else not inner.holds, inner.why)
        case ConditionKind.NAME:
            return _decide_name(condition.text, ground, side, is_imported=condition.operator == IMPORTED)
        case ConditionKind.CLASS:
            return _decide_class(condition.text, ground, side)
        case ConditionKind.KEY:
            return _decide_key(condition.text, ground, side)
        case ConditionKind.VERSION:
            return _decide_version(condition, ground, side)
        case ConditionKind.DEMAND:
            met = decide(condition.parts[0], ground, side)
            return met if met.holds or may_raise(_resolver(ground, side), condition.text) else Decision(None)
    return Decision(None)


def _decide_many(condition: Condition, ground: RefKnowledge, side: int) -> Decision:
    decisive = condition.kind is ConditionKind.ANY
    found = [decide(part, ground, side) for part in condition.parts]
    for one in found:
        if one.holds is decisive:
            return one
    if all(one.holds is not None for one in found):
        return Decision(not decisive, tuple(dict.fromkeys(why for one in found for why in one.why)))
    return Decision(None)


def _decide_name(name: str, ground: RefKnowledge, side: int, *, is_imported: bool = False) -> Decision:
    if not longest_root(name, ground.packages):
        return Decision(None)
    if is_imported and name in ground.packages:
        return Decision(True)  # upstream itself: nothing to tell
    symbol = _resolver(ground, side).resolve(name)
    where = _side(side)
    if symbol.kind is SymbolKind.ABSENT:
        # what upstream never had may be a marker of our own, so its absence says nothing
        had = ground.comparer.pin.resolve(name).exists or (is_imported and _fails(name, ground, side))
        return Decision(False, (Why(Reason.SIDE_LACKS, name, where),)) if had else Decision(None)
    plain = symbol.definition is None or symbol.definition.group == 0
    if plain and (
        symbol.kind in {SymbolKind.DEFINITION, SymbolKind.SUBMODULE} or _is_container(_resolver(ground, side), symbol)
    ):
        return Decision(True, (Why(Reason.SIDE_HAS, name, where),))
    return Decision(None)  # bound under a condition, or made at run time


def _is_container(resolver: Resolver, symbol: Symbol) -> bool:
    """Whether a module binds a table or list as it is written: it is there, and it is not None."""
    if symbol.kind is not SymbolKind.MODULE_ASSIGNMENT or symbol.definition is None or symbol.module is None:
        return False
    node = resolver.index.read_node(symbol.module, symbol.definition)
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return isinstance(value, ast.Dict | ast.List | ast.Set | ast.Tuple)


def _fails(name: str, ground: RefKnowledge, side: int) -> bool:
    """Whether the import of a name that upstream's code does not bind surely fails; what our own code puts there is found
    when all rows are known.
    """
    return is_unbound(_resolver(ground, side), ground.comparer.pin, name)


def _decide_class(name: str, ground: RefKnowledge, side: int) -> Decision:
    """Whether a name is a class there; one that the pin had and the tip lacks is none."""
    if not longest_root(name, ground.packages):
        return Decision(None)
    definition = _resolver(ground, side).resolve(name).definition
    if definition is None:
        found = _decide_name(name, ground, side)
        return found if found.holds is False else Decision(None)
    if (
        definition.group != 0
        or definition.decorators
        or definition.kind not in {DefinitionKind.CLASS, DefinitionKind.FUNCTION}
    ):
        return Decision(None)
    is_class = definition.kind is DefinitionKind.CLASS
    return Decision(is_class, (Why(Reason.KIND_IS, name, _side(side), definition.kind.value),))


def _decide_key(key: str, ground: RefKnowledge, side: int) -> Decision:
    """A key that upstream dropped is false everywhere, unless a config file of ours still sets it."""
    mentions = ground.keys.get(key)
    if side == 1 and mentions == (True, False) and not ground.declares(key):
        return Decision(False, (Why(Reason.KEY_FALSE, key),))
    return Decision(None)


def _decide_version(condition: Condition, ground: RefKnowledge, side: int) -> Decision:
    name = condition.text
    version = ground.versions[side]
    # a distribution is spelled `megatron-core` where its package is `megatron.core`
    spelled = {name, name.replace("-", "_"), name.replace("-", ".")}
    if version is None or not any(longest_root(one, ground.packages) for one in spelled):
        return Decision(None)
    holds = satisfies(version, f"{condition.operator}{condition.wanted}")
    if holds is None:
        return Decision(None)
    return Decision(holds, (Why(Reason.VERSION_IS, version, _side(side), str(condition), (str(holds).lower(),)),))


def judge_patterns(carried: Iterable[VersionPattern], ground: RefKnowledge) -> Outlook | None:
    """Version patterns of a registration; those of one parameter are alternatives."""
    version = ground.versions[1]
    by_parameter: dict[str, list[str]] = {}
    for one in carried:
        by_parameter.setdefault(one.parameter, []).append(one.pattern)
    for parameter, patterns in by_parameter.items():
        shown = " or ".join(patterns)
        if not _is_about(parameter, ground.subjects):
            continue
        if version is None:
            return Outlook(why=Why(Reason.GATE_NO_VERSION, shown), can_go=False)
        verdicts = [satisfies(version, pattern) for pattern in patterns]
        if all(verdict is False for verdict in verdicts):
            return Outlook(why=Why(Reason.GATE_OVER, shown, version), can_go=True, is_over=True, is_planned=True)
        if None in verdicts and True not in verdicts:
            return Outlook(why=Why(Reason.GATE_UNDECIDED, shown, version), can_go=False)
    return None


def _is_about(parameter: str, subjects: frozenset[str]) -> bool:
    """True if the parameter of a pattern speaks of this upstream: `backend_versions` does, `torch_version` does not."""
    words = {word for word in parameter.lower().split("_") if word} - _NOT_A_SUBJECT
    return words <= (_ABOUT_UPSTREAM | subjects)


def satisfies(version: str, pattern: str) -> bool | None:
    """Whether a version passes `>=1.2`, `<2`, `1.2.*`, `1.2.3` or `1.2~1.4`; None where that depends on how one reads
    it.
    """
    text = pattern.strip()
    low, tilde, high = text.partition("~")
    if tilde and low and high and not high.startswith("="):
        text = f">={low},<={high}"
    elif text[:1].isdigit():
        text = f"=={text}"
    try:
        known, wanted = Version(version), SpecifierSet(text)
    except (InvalidSpecifier, InvalidVersion):
        return None
    verdicts = {wanted.contains(one, prereleases=True) for one in (known, Version(known.base_version))}
    return verdicts.pop() if len(verdicts) == 1 else None  # a release candidate of the bound itself


def _find_needed(condition: Condition, ground: RefKnowledge) -> Iterator[Condition]:
    """The parts that would have to hold and do not at the tip."""
    match condition.kind:
        case ConditionKind.ALL | ConditionKind.ANY:
            for part in condition.parts:
                yield from _find_needed(part, ground)
        case ConditionKind.NOT:
            return
        case _ if decide(condition, ground, 1).holds is False:
            yield condition


def _find_new_home(condition: Condition, ground: RefKnowledge) -> str | None:
    if condition.kind not in {ConditionKind.NAME, ConditionKind.CLASS}:
        return None
    found = ground.comparer.compare(condition.text)
    return found.new_home if found.kind in {DriftKind.MOVED, DriftKind.RENAMED, DriftKind.BINDING_LOST} else None


def _find_changed(condition: Condition, ground: RefKnowledge) -> Iterator[Why]:
    """Parts about upstream that are not at the tip what they were at the pin."""
    for part in condition.parts:
        yield from _find_changed(part, ground)
    if condition.kind is ConditionKind.KEY and ground.keys.get(condition.text) == (True, False):
        yield Why(Reason.KEY_STILL_SET, condition.text)
    if condition.kind in {ConditionKind.NAME, ConditionKind.VERSION}:
        then, now = decide(condition, ground, 0), decide(condition, ground, 1)
        if then.holds != now.holds and now.why:
            yield from now.why


def _resolver(ground: RefKnowledge, side: int) -> Resolver:
    return ground.comparer.tip if side else ground.comparer.pin


def _side(side: int) -> str:
    return "tip" if side else "pin"
