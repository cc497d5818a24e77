"""Which arguments of a call of ours a function no longer takes, and which commit did that to each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from layline.change.binding import CallShape, Problem, check_call, check_replacement, find_shifted, pair_given
from layline.change.compare import Comparer, Comparison
from layline.change.file_trace import Version
from layline.change.signatures import ParameterChange, compare_signatures
from layline.change.trace import Tracer
from layline.core.why import Reason, Why
from layline.coupling.callee import find_callee, find_named, find_texts, find_written, is_reshaped
from layline.coupling.place import Place
from layline.source import Definition
from layline.source.instances import bare_annotation


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Since when our call, or our override, does not fit."""

    commits: tuple[str, ...] = ()
    """The first; of what was gone in between, who took it away and who brought it back in another form."""
    each: tuple[tuple[Why, str], ...] = ()
    """What does not fit at the tip, one by one, with the commit that made it so, where that is known."""


def tell_renamed(
    problems: Iterable[Problem], call: CallShape, before: Definition, after: Definition
) -> tuple[Problem, ...]:
    """The same problems; an argument that our call passes by its old name is told once, with both names."""
    listed = list(problems)
    names = dict(_find_renamed(call, before, after))
    needed = {one.argument for one in listed if one.why.reason is Reason.NOT_PASSED} & names.keys()
    old = {names[name] for name in needed}
    return tuple(
        Problem(one.argument, Why(Reason.NEEDS_CALLED, one.argument, names[one.argument]), certain=one.certain)
        if one.argument in needed
        else one
        for one in listed
        if not (one.why.reason is Reason.REFUSES_KEYWORD and one.argument in old)
    )


def _find_renamed(call: CallShape, before: Definition, after: Definition) -> Iterator[tuple[str, str]]:
    """Parameters of the later side, each with the keyword of our call that stood for it: upstream called it so, or a
    decorator took both names.
    """
    now = {one.name for one in after.parameters or ()}
    given = {name for name in call.keywords if name not in now}
    for change in compare_signatures(before, after):
        if change.change is ParameterChange.RENAMED and change.after is not None and change.before in given:
            yield change.after, change.before
    for words in map(find_texts, before.decorators):
        old, new = sorted(words & given), sorted((words & now) - set(call.keywords))
        if len(old) == len(new) == 1:
            yield new[0], old[0]


def find_refusal(comparer: Comparer, place: Place, found: Comparison, told: Iterable[Why] = ()) -> Refusal:
    """The first upstream commit since which the callee refuses our call, or passes what our override refuses, and that of
    each problem that is `told`.
    """
    callee = find_callee(comparer.pin, found.before) or find_written(found.before)
    made = comparer.pin.resolve(f"{found.before.home}.__init__") if found.before.home else None
    if callee is None or (made is not None and made.is_implicit) or found.before.module is None:
        return Refusal()  # nobody wrote the `__init__` of a dataclass: no line of history has its signature
    pin, bound = callee
    module = made.module if made is not None and made.definition is pin and made.module else found.before.module
    tracer = comparer.tracer(module)
    if tracer is None:
        return Refusal()
    path = comparer.pin.index.entries[module].path
    find_since = partial(tracer.find_since, path, pin.qualname)

    def refuses(version: Version, name: str) -> bool:
        now = version.read_signature(name)
        return now is not None and bool(_find_problems(place, pin, now, bound=bound))

    def is_lost(version: Version, name: str) -> bool:
        return version.read_signature(name) is None or refuses(version, name)

    def takes_another(version: Version, name: str) -> bool:
        now = version.read_signature(name)
        return now is None or _takes_another(place, pin, now, bound=bound)

    def has_problem(why: Why, version: Version, name: str) -> bool:
        now = version.read_signature(name)
        return now is not None and any(_is_same(one.why, why) for one in _find_problems(place, pin, now, bound=bound))

    # who took it away broke us first; what is said of it at the tip, who brought it back did
    since = find_since(is_lost) or find_since(takes_another)
    if since is None:
        return Refusal()
    if _was_gone(tracer, path, pin, since):
        back = find_since(refuses)
        return Refusal(commits=(since,) if back is None else (since, back))
    each = tuple((why, find_since(partial(has_problem, why))) for why in told)
    dated = tuple((why, commit) for why, commit in each if commit is not None)
    if dated and len(dated) == len(each):
        # what it refused in between and takes, or is not passed, at the tip is not what is told
        order = {step.commit: number for number, step in enumerate(tracer.timeline.steps)}
        since = min((commit for _, commit in dated), key=lambda one: order.get(one, len(order)))
    return Refusal(commits=(since,), each=dated)


def _was_gone(tracer: Tracer, path: str, pin: Definition, since: str) -> bool:
    """Whether a commit took the definition away that is back at the tip."""
    versions = tracer.find_versions(path, pin.qualname)
    return any(commit == since and version.read_signature(name) is None for commit, version, name in versions)


def _is_same(one: Why, other: Why) -> bool:
    """The same argument for the same reason, whatever stands beside it."""
    return (one.reason, one.name) == (other.reason, other.name)


def _find_problems(place: Place, pin: Definition, now: Definition, *, bound: bool) -> tuple[Problem, ...]:
    """What a version of upstream's function refuses of our call, or passes to our override, and the pin's did not."""
    parameters, before = now.parameters or (), pin.parameters or ()
    if place.override is not None:
        ours = place.override.parameters or ()
        known = {one.argument for one in check_replacement(ours, before)}
        return tuple(one for one in check_replacement(ours, parameters) if one.argument not in known)
    if place.call is None:
        return ()
    given = place.bound or bound
    refused = tell_renamed(check_call(place.call, parameters, bound=given), place.call, pin, now)
    if is_reshaped(pin) and is_reshaped(now):
        # a decorator takes what it took, and what it names
        taken = {one.argument for one in check_call(place.call, before, bound=given)} | find_named(now)
        refused = tuple(one for one in refused if one.argument not in taken)
    return (*refused, *find_shifted(place.call, before, parameters, bound=(given, given)))


def _takes_another(place: Place, pin: Definition, now: Definition, *, bound: bool) -> bool:
    """Whether a parameter that our call fills names another class than at the pin."""
    given = place.bound or bound
    if place.call is None:
        return False
    pairs = pair_given(place.call, pin.parameters or (), now.parameters or (), bound=(given, given))
    named = ([bare_annotation(one.annotation) for one in pair] for pair in pairs)
    return any(was and new and was.rpartition(".")[2] != new.rpartition(".")[2] for was, new in named)
