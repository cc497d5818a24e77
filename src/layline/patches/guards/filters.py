"""Filters of the lists and tables that name targets: what they rule out is no effect, what they leave open is
uncertain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.condition import Condition, negate, say
from layline.core.patch import Effect, TargetKind
from layline.interpreter.condition_reader import tell_condition
from layline.interpreter.conditions import Reader, simplify
from layline.interpreter.config_paths import Roots
from layline.interpreter.containers import asks_each
from layline.interpreter.objects import asks_class
from layline.interpreter.state import text_of
from layline.interpreter.values import Called, Literal, Outside, Test, Value
from layline.interpreter.values import negate as negate_test
from layline.patches.guards.show import show_condition

if TYPE_CHECKING:
    from layline.interpreter.events import Event
    from layline.patches.installer import Installer

_UNSEEN = frozenset({TargetKind.UNKNOWN, TargetKind.EXTERNAL})
_LONGEST = 160
_SHORT = 110
"""What is longer is told as it is written."""
_FILTERED = "it is written in a loop that skips some items; whether it skips this one cannot be decided without running the code"


def apply_filters(event: Event, effect: Effect, installer: Installer) -> Effect | None:
    """The effect as the filters of its list leave it; None if they keep it out."""
    tests = [test for test in getattr(event, "when", ()) if installer.machine.filters.get(test)]
    if not tests or effect.target is None:
        return effect
    asked = [_asks_for(test, effect.target) for test in tests]
    if any(asked) and effect.target_kind is TargetKind.ABSENT:
        return None
    told = [found or _asks_for(negate_test(test), effect.target) for test, found in zip(tests, asked, strict=True)]
    if all(told) and effect.target_kind not in _UNSEEN:
        return effect  # what is there, or missing, the condition says
    return _doubt(effect, _FILTERED)


def weigh_imports(event: Event, effect: Effect, installer: Installer) -> Effect:
    """Of two ways that an import decides, the one that the pin does not take is uncertain."""
    if effect.target is None or not effect.certain:
        return effect
    for test in getattr(event, "when", ()):
        match test:
            case Test(operator="not", operands=(Test(operator="importable", operands=names),)):
                there = [text for name in names if (text := text_of(name)) and _is_there(text, installer)]
                if len(there) == len(names):
                    return _doubt(effect, f"only where {there[0]} cannot be imported, and the pin has it")
            case Test(operator="importable", operands=names):
                gone = [text for name in names if (text := text_of(name)) and _is_gone(text, installer)]
                if gone:
                    return _doubt(effect, f"only where {gone[0]} can be imported, and the pin does not have it")
    return effect


def _is_there(name: str, installer: Installer) -> bool:
    if _is_ours(name, installer):
        return True
    return installer.look_up(name).kind not in {*_UNSEEN, TargetKind.ABSENT}


def _is_gone(name: str, installer: Installer) -> bool:
    return not _is_ours(name, installer) and installer.look_up(name).kind is TargetKind.ABSENT


def _is_ours(name: str, installer: Installer) -> bool:
    modules = installer.machine.modules
    return modules.path_of(name) is not None or modules.path_of(name.rpartition(".")[0]) is not None


def _doubt(effect: Effect, why: str) -> Effect:
    return replace(effect, certain=False, reason=f"{why}; {effect.reason}" if effect.reason else why)


def find_filters(when: Iterable[Value], installer: Installer) -> tuple[Value, ...]:
    """The filters among the tests before a write; that a name is not this or that goes without saying where it is told
    what it is.
    """
    tests = [test for test in when if test in installer.machine.filters]
    known = [told for test in tests if (told := _find_subject(test)) is not None]
    denied = {test: _find_subject(negate_test(test)) for test in tests}
    return tuple(test for test in tests if denied[test] is None or denied[test] not in known)


def _find_subject(test: Value) -> Value | None:
    """The `x` of `x == "a"`."""
    match test:
        case Test(operator="==", operands=(subject, Literal())):
            return subject
    return None


def tell_filter(test: Value, installer: Installer) -> Condition:
    """A filter that an effect passed, in words; a class, or one of many objects, is asked for as it is written."""
    told = _tell(simplify(test), Reader(Roots()))
    is_object = asks_class(test) or asks_each(test)
    is_plain = not is_object and len(show_condition(told)) <= _SHORT
    found = told if is_plain else installer.machine.read_written(test) or told
    return found if len(show_condition(found)) <= _LONGEST else say("the loop that writes it does not skip it")


def _tell(test: Value, reader: Reader) -> Condition:
    """A plain test and its contrary are told as such, so that two ways can be told apart."""
    match test:
        case Test(operator="not", operands=(inner,)) if not isinstance(inner, Test):
            return negate(tell_condition(inner, reader))
    return tell_condition(test, reader)


def _asks_for(test: Value, target: str) -> bool:
    """Whether a test only asks if the target is there."""
    match test:
        case Outside(path=path):
            return path == target
        case Called(callee=Outside(path="builtins.callable"), arguments=(Outside(path=path),)):
            return path == target
        case Called(callee=Outside(path="builtins.hasattr"), arguments=(Outside(path=path), Literal(value=str(name)))):
            return f"{path}.{name}" == target
        case Test(operator="is not", operands=(Outside(path=path), Literal(value=None))):
            return path == target
    return False
