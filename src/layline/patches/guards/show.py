"""A condition as a person would write it: the one place where it becomes text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.condition import ELSEWHERE, Condition, ConditionKind
from layline.core.patch import OFFERED
from layline.core.prose import count

if TYPE_CHECKING:
    from layline.core.patch import Effect, Guard, Patch


FROM_OUTSIDE = "a caller outside the project"
"""A call by users of what a package offers."""


def show_condition(condition: Condition | None) -> str:
    """Empty where it always holds."""
    return _show(condition) if condition is not None else ""


def show_guard(guard: Guard) -> str:
    return show_condition(guard.when) or "always"


def show_both(effect: Effect, patch: Patch | None) -> str:
    """What the guard of its patch and the installer ask before an effect; empty where nothing does."""
    asked = (patch.guard.when if patch is not None else None, effect.when)
    return " and ".join(text for one in asked if (text := show_condition(one)))


def show_short(effect: Effect, patch: Patch | None, most: int) -> tuple[str, bool]:
    """The same, and whether it is whole: of a long one those tests that stand nearest to the line, each whole, and how
    many others there are.
    """
    whole = show_both(effect, patch)
    if len(whole) <= most:
        return whole, True
    asked = (patch.guard.when if patch is not None else None, effect.when)
    told = _shorten_all([test for one in asked if one is not None for test in _find_tests(one)], most)
    return told, told == whole


def _shorten_all(tests: list[Condition], most: int) -> str:
    """Of what is asked around the line the nearest tests, and in few words what is asked elsewhere."""
    around = {
        _show(one, "and"): one for one in reversed(tests) if one.kind not in ELSEWHERE
    }  # two lines may ask the same
    left, kept = list(reversed(around.values())), list[str]()
    while left and (not kept or len(" and ".join((*kept, _show(left[-1], "and")))) <= most):
        kept.insert(0, _shorten(left.pop(), most))
    if len(left) == 1 and len(_show(left[0], "and")) <= most // 2:  # as short as to say that there is one more
        kept.insert(0, _show(left.pop(), "and"))
    if left:
        kept.append(count(len(left), "more condition"))
    away = [one for one in tests if one.kind in ELSEWHERE]
    told = [" and ".join(kept)] if kept else []
    told += [_shorten(one, most // 2) for one in away[:1]]
    told += [count(len(away) - 1, "more condition") + " of callers"] if len(away) > 1 else []
    return "; and ".join(told)


def _shorten(condition: Condition, most: int) -> str:
    whole = _show(condition, "and")
    if len(whole) <= most:
        return whole
    if condition.told is not None:
        return _shorten(condition.told, most)
    tests = [test for part in condition.parts for test in _find_tests(part)]
    match condition.kind:
        case ConditionKind.SITE if tests:
            return f"{_shorten_all(tests, most)} ({condition.text})"
        case ConditionKind.HELPER if tests:
            return f"in {condition.text}: {_shorten_all(tests, most)}"
        case ConditionKind.CALLER if tests:
            return f"in the caller {condition.text}: {_shorten_all(tests, most)}"
        case ConditionKind.IMPORTER if tests:
            return f"{_show_importer(condition)}: {_shorten_all(tests, most)}"
        case ConditionKind.CALLERS if condition.text != "1":
            return _show(replace(condition, parts=()))
    return f"{whole[:most].rpartition(' ')[0] or whole[:most]} …"


def _find_tests(condition: Condition) -> Iterable[Condition]:
    """What must hold together; one that is shown in other words is one test."""
    if condition.told is not None:
        return _find_tests(condition.told)
    if condition.shown or condition.kind is not ConditionKind.ALL:
        return (condition,)
    return [test for part in condition.parts for test in _find_tests(part)]


def _show(condition: Condition, within: str = "") -> str:
    if condition.told is not None:
        return _show(condition.told, within)
    if condition.shown:
        return condition.shown
    parts = condition.parts
    match condition.kind:
        case ConditionKind.ALL:
            return _bracket(_join_all(parts), is_needed=len(parts) > 1 and within not in {"", "and"})
        case ConditionKind.ANY:
            ways = list(dict.fromkeys(_show_way(part) for part in parts))  # two ways may ask the same
            return _bracket(" or ".join(ways) or "never", is_needed=len(ways) > 1 and within not in {"", "or"})
        case ConditionKind.NOT:
            return f"not ({_show(parts[0])})"
        case ConditionKind.HELPER:
            return f"in {condition.text}: {_join_all(parts)}"
        case ConditionKind.CALLER:
            return f"in the caller {condition.text}: {_join_all(parts)}"
        case ConditionKind.CALLERS:
            return _show_callers(condition)
        case ConditionKind.IMPORTER:
            return f"{_show_importer(condition)}: {_join_all(parts)}"
        case ConditionKind.SITE:
            return f"{_show_inner(parts)} ({condition.text})" if parts else condition.text
        case ConditionKind.OPTIONS:
            return f"registered with {condition.text}"
    return str(condition)


def _show_importer(condition: Condition) -> str:
    """The one module that imports it, or what is imported in several places."""
    return f"at the import of {condition.wanted}" if condition.wanted else f"at its import in {condition.text}"


def _show_callers(condition: Condition) -> str:
    """One of several calls, with what each asks where that is not too much; whose calls, where it is said."""
    ways = " or ".join(dict.fromkeys(f"({_join_all(_show_parts(part))})" for part in condition.parts))
    number, whose = condition.text, f" of {condition.operator}" if condition.operator else ""
    callers = f"the {number} callers{whose}" if whose else f"its {number} callers"
    match number == "1", bool(ways):
        case True, True:
            told = f"the call{whose or ' here'} leads to it: {ways}"
        case True, False:
            told = f"under the condition of the one call{whose} that leads here"
        case False, True:
            told = f"one of {number} calls{whose} leads here: {ways}"
        case _:
            told = f"one of {callers} runs (each has conditions of its own)"
    return f"{told}, or {condition.wanted}" if condition.wanted else told


def _join_all(parts: Iterable[Condition]) -> str:
    """What is asked around the line, then what is asked elsewhere."""
    listed = list(parts)
    here = [part for part in listed if part.kind not in ELSEWHERE]
    tests = [test for part in here for test in (_find_tests(part) if _is_plain(part) else (part,))]
    within = "and" if len(here) > 1 else ""
    around = " and ".join(dict.fromkeys(_show(test, "and" if len(tests) > 1 else within) for test in tests))
    rest = [_show(part) for part in listed if part.kind in ELSEWHERE]
    return "; and ".join([*([around] if around else ()), *rest])


def _is_plain(part: Condition) -> bool:
    """Nothing in it is asked elsewhere: its tests can stand beside those around it, each once."""
    return not any(one.kind in ELSEWHERE for one in part.walk())


def _show_parts(part: Condition) -> tuple[Condition, ...]:
    return part.parts if part.kind is ConditionKind.ALL else (part,)


def _show_way(part: Condition) -> str:
    """One of several callers is always told in brackets, for it ends in a place."""
    return f"({_show(part)})" if part.kind is ConditionKind.SITE else _show(part, "or")


def _show_inner(parts: Iterable[Condition]) -> str:
    """What is asked at a place; with an `or` anywhere in brackets, for the place is said of all of it."""
    listed = list(parts)
    split = any(one.kind is ConditionKind.ANY and one.parts for part in listed for one in part.walk())
    is_places = any(one.kind is ConditionKind.SITE for part in listed for one in part.walk())
    return _bracket(_join_all(listed), is_needed=split and not is_places)


def _bracket(text: str, *, is_needed: bool) -> str:
    return f"({text})" if is_needed else text


def say_callers(places: Iterable[str], *, unknown: bool) -> Iterator[str]:
    """Where our code calls it; where only a package exports it, that none of our code does."""
    told = list(places)
    exported = [place.removesuffix(OFFERED) for place in told if place.endswith(OFFERED)]
    if len(exported) < len(told):
        yield f"called from {', '.join(told)}"
    elif exported:
        none = "no call to it was found in our code" if unknown else "our code does not call it"
        yield f"{none}; it is exported at {', '.join(exported)}, for users to call"
