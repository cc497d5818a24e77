"""Does our replacement take what upstream passes at the tip? Signatures first, then upstream's own call sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layline.patches.replacements import Replacement
from layline.source import DefinitionKind, Parameter, Resolver
from layline.source.binding import CallSite, Problem, check_call, check_replacement, find_call_sites
from layline.source.compare import Comparison

_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The verdict: problems that are new at the tip, and whether one of them is sure to break a call."""

    messages: tuple[str, ...] = ()
    breaks: bool = False
    summary: str = ""


class Fitter:
    """Checks replacements against one tip; the tip's calls of all `names` are read once, when a doubt needs them."""

    def __init__(self, tip: Resolver, names: Iterable[str] = ()) -> None:
        self._tip = tip
        self._names = frozenset(names)
        self._sites: dict[str, list[CallSite]] = {}

    def check(self, comparison: Comparison, ours: Replacement | None) -> Fit:
        """Certain problems break; optional arguments break where upstream passes them."""
        found = find_new_problems(comparison, ours, self._tip)
        pair = _parameters(comparison, ours, self._tip)
        if ours is None or pair is None:
            return Fit(summary="our replacement's signature cannot be read" if ours is None else "")
        if not found.messages:
            return Fit(summary=f"our replacement {_signature(pair[0])} still takes what upstream passes")
        if found.breaks:
            return found
        arguments = frozenset(item.argument for item in find_problems(comparison, ours, self._tip))
        passed = [site for site, argument in self._find_refused(comparison, pair[0], ours) if argument in arguments or argument.startswith("#")]  # fmt: skip
        passed = list(dict.fromkeys(passed))
        sure = [site for site in passed if site.certain]
        if not passed:
            return Fit(messages=found.messages, summary=f"{found.summary}, but no upstream call passes that")
        places = ", ".join(str(site.location) for site in (sure or passed)[:_SHOWN])
        word = "upstream passes it at" if sure else "it may be passed at"
        return Fit(messages=found.messages, breaks=bool(sure), summary=f"{found.summary}; {word} {places}")

    def _find_refused(
        self, comparison: Comparison, ours: tuple[Parameter, ...], replacement: Replacement
    ) -> Iterator[tuple[CallSite, str]]:
        """Upstream calls at the tip that our replacement does not accept, each with the argument that breaks."""
        home = called_name(comparison)
        definition = comparison.after.definition
        if home not in self._sites:
            self._sites.update(find_call_sites(self._tip, self._names | {home}))
        is_member = "self" in {item.name for item in ours[:1]} or replacement.definition.kind is DefinitionKind.CLASS
        bound = is_member or (definition is not None and bool(definition.owner))
        for site in self._sites[home]:
            if not site.module.startswith("tests."):
                yield from ((site, problem.argument) for problem in check_call(site.shape, ours, bound=bound))


def called_name(comparison: Comparison) -> str:
    """What a call of the symbol at the tip calls: itself, or of a class what makes its instances."""
    home = comparison.after.home or comparison.name
    definition = comparison.after.definition
    is_class = definition is not None and definition.kind is DefinitionKind.CLASS
    return f"{home}.__init__" if is_class else home


def find_new_problems(comparison: Comparison, ours: Replacement | None, tip: Resolver) -> Fit:
    """What our replacement refuses of the tip's signature and did not refuse of the pin's."""
    found = find_problems(comparison, ours, tip)
    return Fit(
        messages=tuple(item.message for item in found), breaks=any(item.certain for item in found), summary=_summary(found)
    )  # fmt: skip


def find_problems(comparison: Comparison, ours: Replacement | None, tip: Resolver) -> list[Problem]:
    pair = _parameters(comparison, ours, tip)
    if pair is None or ours is None:
        return []
    mine, theirs = pair
    before = comparison.before.definition
    old = before.parameters if before is not None and before.kind is DefinitionKind.FUNCTION else None
    today = {item.message for item in check_replacement(mine, old)} if old is not None else set()
    return [item for item in check_replacement(mine, theirs) if item.message not in today]


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
    mine = ours.definition
    if theirs.kind is DefinitionKind.CLASS:
        made = tip.resolve(f"{after.home}.__init__").definition
        own = ours.constructor() if mine.kind is DefinitionKind.CLASS else None
        if made is None or own is None or made.parameters is None or own.parameters is None:
            return None
        return own.parameters, made.parameters
    if mine.parameters is None or theirs.parameters is None:
        return None
    return mine.parameters, theirs.parameters


def _summary(problems: list[Problem]) -> str:
    return "our replacement " + ", ".join(item.message for item in problems[:_SHOWN]) if problems else ""


def _signature(parameters: tuple[Parameter, ...]) -> str:
    words = [str(item) for item in parameters[:8]]
    return f"({', '.join(words)}{', …' if len(parameters) > 8 else ''})"
