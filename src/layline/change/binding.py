"""Whether a call binds to a signature, and whether a replacement accepts what its callers pass.

    shape = read_call(node)                                        # of an ast.Call
    check_call(shape, definition.parameters, bound=True)           # → problems, () where the call binds; bound: `self`
    is supplied
    check_replacement(ours.parameters, theirs.parameters)          # → problems of calls that upstream's signature
    allows
    sites = find_call_sites(tip, {"pkg.m.f", "pkg.m.C.step"})      # `change.call_sites`: upstream's own calls at the tip
    [p for site in sites["pkg.m.f"] for p in check_call(site.shape, ours.parameters, bound=False)]

A problem names the argument that breaks. `certain` problems break every call; the others break the calls that pass the
optional argument, which `find_call_sites` can show.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layline.core.evidence import Location
from layline.core.why import Reason, Why, say
from layline.source.definitions import (
    Parameter,
    ParameterKind,
)
from layline.source.walking import walk

_TESTS = frozenset({"isinstance", "type", "len"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallShape:
    """What one call passes."""

    positional: int
    keywords: tuple[str, ...] = ()
    has_star: bool = False
    """`*args`: more positional arguments than can be counted."""
    has_double_star: bool = False
    taken: int | None = None
    """Into how many names the result is taken, where it is; 1: it is used as one value."""
    names: tuple[str, ...] = ()
    """Of our own calls: the variables and attributes that are passed by position, nothing for other values."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call does not bind."""

    argument: str
    why: Why
    certain: bool = True

    @property
    def message(self) -> str:
        return say(self.why)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSite:
    """One place that calls a name."""

    module: str
    location: Location
    shape: CallShape
    certain: bool
    """False: a method called on a value whose class only a run knows."""
    on_self: bool = False
    exact: bool = False
    """A method called on an object that was made beside it: of that class itself, of none below."""
    slot: str = ""
    """The field that holds what is called, where only a run knows what it is; or the object whose method is called,
    where it is made beside."""
    around: str = ""
    """The class in which the field is one of `self`."""
    asked: tuple[tuple[str, bool], ...] = ()
    """Parameters that what is called must have, or must not have, for the call to be made."""

    def reaches(self, parameters: Iterable[Parameter]) -> bool:
        """Whether a function with these parameters is called here at all."""
        names = {one.name for one in parameters}
        return all((name in names) is wanted for name, wanted in self.asked)


def find_tested(function: ast.AST) -> frozenset[str]:
    """Names of which a function asks what they hold."""
    return find_tested_by(node for node in walk(function) if isinstance(node, ast.Call))


def find_tested_by(calls: Iterable[ast.Call]) -> frozenset[str]:
    """The same, of the calls in it."""
    named = (call for call in calls if isinstance(call.func, ast.Name))
    asked = (call.args[0] for call in named if call.args and getattr(call.func, "id", "") in _TESTS)
    return frozenset(item.id for item in asked if isinstance(item, ast.Name))


def count_taken(user: ast.AST, tested: frozenset[str] = frozenset()) -> int | None:
    """Into how many names what stands around a call takes its result; 1: it is used as one value. None where it is
    dropped, asked about (`tested`), or handed to who may ask.
    """
    match user:
        case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)]):
            return None if any(isinstance(item, ast.Starred) for item in names) else len(names)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return None if name in tested else 1
        case ast.Assign(targets=[ast.Attribute()]) | ast.Attribute() | ast.Call(func=ast.Attribute(attr="append")):
            return 1
    return None


def read_call(node: ast.Call) -> CallShape:
    return CallShape(
        positional=len([item for item in node.args if not isinstance(item, ast.Starred)]),
        keywords=tuple([item.arg for item in node.keywords if item.arg is not None]),
        has_star=any(isinstance(item, ast.Starred) for item in node.args),
        has_double_star=any(item.arg is None for item in node.keywords),
    )


def check_call(call: CallShape, parameters: tuple[Parameter, ...], *, bound: bool) -> tuple[Problem, ...]:
    """Why the call does not bind; nothing where it does or where stars hide what it passes."""
    return tuple(_find_problems(call, _without_self(parameters) if bound else parameters))


def _find_problems(call: CallShape, parameters: tuple[Parameter, ...]) -> Iterator[Problem]:
    by_position = [item for item in parameters if item.kind in _BY_POSITION]
    takes_more = any(item.kind is ParameterKind.VARIADIC for item in parameters)
    takes_any = any(item.kind is ParameterKind.KEYWORDS for item in parameters)
    if call.positional > len(by_position) and not takes_more:
        why = Why(Reason.TOO_MANY, counts=(len(by_position), call.positional))
        yield Problem(f"#{len(by_position) + 1}", why)
    filled = {item.name for item in by_position[: call.positional]}
    accepted = {item.name for item in parameters if item.kind in _BY_KEYWORD}
    for name in call.keywords:
        if name not in accepted and not takes_any:
            yield Problem(name, Why(Reason.REFUSES_KEYWORD, name))
        elif name in filled and name in accepted:
            yield Problem(name, Why(Reason.TWICE, name))
    for item in parameters:
        hidden = call.has_double_star or (call.has_star and item.kind in _BY_POSITION)
        named = item.name in call.keywords and item.name in accepted
        if item.required and item.name not in filled and not named and not hidden:
            yield Problem(item.name, Why(Reason.NOT_PASSED, item.name))


_BY_POSITION = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL)
_BY_KEYWORD = (ParameterKind.POSITIONAL, ParameterKind.KEYWORD_ONLY)


def find_shifted(
    call: CallShape, before: tuple[Parameter, ...], after: tuple[Parameter, ...], *, bound: tuple[bool, bool]
) -> tuple[Problem, ...]:
    """Positional arguments of a call that binds at both refs and that land in another parameter at the second.

    A class that became a function is `bound` at the first alone.
    """
    old, new = ([item.name for item in side if item.kind in _BY_POSITION] for side in _strip((before, after), bound))
    known = {item.name for item in after}
    found = []
    for place, (was, now) in enumerate(zip(old[: call.positional], new[: call.positional], strict=False), start=1):
        # a parameter that only changed its name is where it was
        if was != now and (was in known or now in old):
            found.append(Problem(was, Why(Reason.LANDS_IN_ANOTHER, was, now, counts=(place,))))
    return tuple(found)


def find_mixed(call: CallShape, parameters: tuple[Parameter, ...], *, bound: bool) -> tuple[tuple[str, str], ...]:
    """Variables of a call that are called as a parameter is and land in another, with that one."""
    given = _without_self(parameters) if bound else parameters
    places = [item.name for item in given if item.kind in _BY_POSITION]
    landed = zip(call.names, places, strict=False)
    return tuple((name, place) for name, place in landed if name != place and name in places)


def pair_given(
    call: CallShape, before: tuple[Parameter, ...], after: tuple[Parameter, ...], *, bound: tuple[bool, bool]
) -> Iterator[tuple[Parameter, Parameter]]:
    """The parameters that take what a call passes, at both refs."""
    old, new = _strip((before, after), bound)
    by_place = [[item for item in side if item.kind in _BY_POSITION][: call.positional] for side in (old, new)]
    yield from zip(*by_place, strict=False)
    then, now = ({item.name: item for item in side if item.kind in _BY_KEYWORD} for side in (old, new))
    yield from ((then[name], now[name]) for name in call.keywords if name in then and name in now)


def _strip(sides: Iterable[tuple[Parameter, ...]], bound: Iterable[bool]) -> Iterator[tuple[Parameter, ...]]:
    return (_without_self(side) if is_given else side for side, is_given in zip(sides, bound, strict=True))


def check_replacement(ours: tuple[Parameter, ...], theirs: tuple[Parameter, ...]) -> tuple[Problem, ...]:
    """What our replacement (or override) does not take although upstream's signature invites callers to pass it."""
    return tuple(_find_refused(ours, theirs))


def _find_refused(ours: tuple[Parameter, ...], theirs: tuple[Parameter, ...]) -> Iterator[Problem]:
    names = {item.name for item in ours if item.kind in _BY_KEYWORD}
    positions = [item for item in ours if item.kind in _BY_POSITION]
    kinds = {item.kind for item in ours}
    takes_more, takes_any = ParameterKind.VARIADIC in kinds, ParameterKind.KEYWORDS in kinds
    place = 0
    for item in theirs:
        by_position = place < len(positions) or takes_more
        if item.kind in _BY_POSITION:
            place += 1
        by_keyword = item.name in names or takes_any
        match item.kind:
            case ParameterKind.VARIADIC | ParameterKind.KEYWORDS:
                continue
            case ParameterKind.POSITIONAL_ONLY:
                is_taken = by_position
            case ParameterKind.POSITIONAL if item.name in {"self", "cls"}:
                continue
            case _:
                is_taken = by_keyword
        if is_taken:
            continue
        stand_in = _find_stand_in(place - 1, positions, theirs) if by_position and item.required else None
        if stand_in is not None:  # only a call that names it would notice
            yield Problem(item.name, Why(Reason.REFUSES_NAME, stand_in, text=str(item)), certain=False)
        else:
            yield Problem(item.name, Why(Reason.REFUSES, item.name, text=str(item)), certain=item.required)
    known = {item.name for item in theirs}
    flexible = any(item.kind in {ParameterKind.VARIADIC, ParameterKind.KEYWORDS} for item in theirs)
    for item in ours:
        is_extra = item.required and item.name not in known and item.name not in {"self", "cls"} and not flexible
        if is_extra and not _stands_for_another(item, positions, theirs):
            yield Problem(item.name, Why(Reason.NEEDS_EXTRA, item.name))
    yield from _find_swapped(positions, theirs)


def may_misplace(ours: tuple[Parameter, ...], theirs: tuple[Parameter, ...]) -> bool:
    """True if a call that upstream's signature allows may pass ours too many values by position, or one value there that
    it also names.
    """
    mine, places = ([item.name for item in side if item.kind in _BY_POSITION] for side in (ours, theirs))
    kinds, gives = {item.kind for item in ours}, {item.kind for item in theirs}
    gives_more, gives_any = ParameterKind.VARIADIC in gives, ParameterKind.KEYWORDS in gives
    if ParameterKind.VARIADIC not in kinds and (gives_more or len(places) > len(mine)):
        return True
    named = {item.name for item in theirs if item.kind in _BY_KEYWORD}
    given = [*places, *([""] * (len(mine) - len(places)) if gives_more else ())]
    return any(name != one and (name in named or gives_any) for name, one in zip(mine, given, strict=False))


def _find_stand_in(place: int, ours: list[Parameter], theirs: tuple[Parameter, ...]) -> str | None:
    """What our parameter at this place is called, if theirs has none of that name: the same one under another name."""
    name = ours[place].name if 0 <= place < len(ours) else None
    return name if name not in {item.name for item in theirs} else None


def _stands_for_another(item: Parameter, ours: list[Parameter], theirs: tuple[Parameter, ...]) -> bool:
    """True if it takes, under another name, the place of a parameter of theirs."""
    if item not in ours:
        return False
    place = ours.index(item)
    by_position = [other for other in theirs if other.kind in _BY_POSITION]
    return place < len(by_position) and by_position[place].name not in {other.name for other in ours}


def _find_swapped(ours: list[Parameter], theirs: tuple[Parameter, ...]) -> Iterator[Problem]:
    """Parameters of the same name at another place: a positional call would put values in the wrong ones."""
    their_names = [item.name for item in theirs if item.kind in _BY_POSITION]
    our_names = [item.name for item in ours]
    for place, name in enumerate(their_names):
        if (
            place < len(our_names)
            and our_names[place] != name
            and name in our_names
            and our_names[place] in their_names
        ):
            yield Problem(name, Why(Reason.SWAPPED, our_names[place], name), certain=False)
            return


def _without_self(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return parameters[1:] if parameters and parameters[0].kind in _BY_POSITION else parameters
