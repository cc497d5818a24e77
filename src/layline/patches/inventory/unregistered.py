"""Effects outside any registration: plain assignments, wrapt calls, string paths, project helpers, anywhere in the
tree.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.condition import Condition, ConditionKind, combine, tell
from layline.core.evidence import Location, Skipped
from layline.core.patch import Effect, Holder, Moment, Style, Unregistered
from layline.core.prose import count, verb
from layline.interpreter.events import Event, Naming, Registration
from layline.interpreter.line_tests import find_chain
from layline.interpreter.prefilter import look_at
from layline.interpreter.values import Choice, Class, Function, Instance, bind, find_alternatives
from layline.patches.guards.stray import Ways, find_caller, find_listed
from layline.patches.idioms.generics import find_declared
from layline.patches.idioms.path_targets import name_registry
from layline.patches.inventory.context_managers import Leavings
from layline.patches.inventory.hook_tables import hand_over
from layline.patches.inventory.inherited import find_inherited
from layline.patches.inventory.merge import find_helper, list_at_call
from layline.patches.inventory.put_back import PutBack, mark_put_back
from layline.patches.inventory.registrations import find_all_effects, run_function
from layline.source.names import longest_root

if TYPE_CHECKING:
    from layline.interpreter.modules import Module
    from layline.patches.installer import Installer

_TOO_LONG = "reading a call of this stopped after {limit} statements; patches that it makes later may be missing"
_MOST_VARIABLES = 12
_FLAGS = re.compile(r"\.(?:backends|config|_config|knobs|envs|flags)\.[\w.]+$")
"""Switches that a package offers to be set: `torch.backends.cudnn.benchmark`."""
_STDLIB = frozenset(sys.stdlib_module_names)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which targets count: the packages of one backend, or everything that is not ours where none is configured."""

    packages: tuple[str, ...]
    own: frozenset[str]
    is_near: Callable[[str], bool] = lambda _: True
    """Whether a file is written for this backend: methods bound onto objects there, and changes of packages that are no
    backend, are listed here."""
    others: tuple[str, ...] = ()
    """Packages of the other backends: their changes are listed there."""
    owns: Callable[[str], bool] = lambda _: False
    """Whether a dotted name leads into a module of the downstream itself, also inside a namespace that others share."""
    is_anothers: Callable[[str], bool] = lambda _: False
    """Whether a file is written for another backend."""

    def covers(self, target: str) -> bool:
        if self.packages:
            return longest_root(target, self.packages) > longest_root(target, set(self.others) - set(self.packages))
        top = target.partition(".")[0]
        return top not in _STDLIB and not self.is_ours(target) and not is_in(target, self.others)

    def is_ours(self, target: str) -> bool:
        return target.partition(".")[0] in self.own or self.owns(target)


def is_in(target: str, packages: tuple[str, ...]) -> bool:
    return any(target == package or target.startswith(f"{package}.") for package in packages)


@dataclass(frozen=True, slots=True)
class Read:
    """What is known before functions are read one by one."""

    calls: frozenset[str]
    """Names of helpers and registering functions: a function that calls one is read."""
    hooked: dict[str, list[str]]
    """Functions of ours and the modules they are handed once these are imported."""
    packages: tuple[str, ...]
    """Those of all backends; empty: everything."""
    only: Mapping[str, frozenset[str]] | None = None
    """Path → functions and classes that are read; None: all of every file."""
    hands: frozenset[str] = frozenset()
    """Names of functions that hand a target on to a helper: a function that calls one by its bare name is read."""

    def wants(self, function: Function, path: str | None) -> bool:
        if self.only is None:
            return True
        heir = function.bound.of if isinstance(function.bound, Instance) else function.bound
        names = {function.name.partition(".")[0], heir.name if isinstance(heir, Class) else ""}
        return not names.isdisjoint(self.only.get(path or "", ()))


def select(items: Iterable[Unregistered], scope: Scope, known: Iterable[Effect]) -> list[Unregistered]:
    """Those that concern one backend and no patch accounts for."""
    effects = list(known)
    taken = {effect.location for effect in effects}
    told = {(str(effect.location), effect.target) for effect in effects if effect.target}
    return [
        item
        for item in items
        if item.effect.location not in taken
        and (find_helper(item), item.effect.target) not in told  # what a handler does through the same helper
        and counts(item.effect, scope)
    ]


def count_left_out(items: Sequence[Unregistered], scope: Scope, known: Iterable[Effect]) -> Iterator[Skipped]:
    """Plain values set on packages that are no backend: told in one line, not listed."""
    taken = {effect.location for effect in known}
    tops: Counter[str] = Counter()
    for item in items:
        target = item.effect.target
        if target is None or item.effect.location in taken or not scope.is_near(item.effect.location.path):
            continue
        if scope.is_ours(target):
            continue  # the analysed project is no other package
        if not counts(item.effect, scope) and not is_in(target, scope.others):
            tops[target.partition(".")[0]] += 1
    near = [e for item in items if (e := item.effect).location not in taken and scope.is_near(e.location.path)]
    variables = {name for effect in near for name in effect.mutates if name.startswith("env:")}
    if variables:
        shown = ", ".join(sorted(name.removeprefix("env:") for name in variables)[:_MOST_VARIABLES])
        more = f" and {len(variables) - _MOST_VARIABLES} more" if len(variables) > _MOST_VARIABLES else ""
        yield Skipped(
            "environment variables",
            f"{count(len(variables), 'variable')} that our code sets outside its patches {verb(len(variables), 'is')} "
            f"not listed: "
            f"{shown}{more}",
        )
    late = sorted({e.location for e in near if is_late(e)}, key=lambda at: (at.path, at.line))
    if late:
        shown = ", ".join(map(str, late[:_MOST_VARIABLES]))
        more = f" and {len(late) - _MOST_VARIABLES} more" if len(late) > _MOST_VARIABLES else ""
        yield Skipped(
            "objects that a replacement changes",
            f"what our replacements set on objects that exist only at run time is not listed "
            f"({count(len(late), 'line')}): {shown}{more}",
        )
    if tops:
        listed = ", ".join(
            f"{name} {number}" for name, number in sorted(tops.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        yield Skipped(
            "settings of other packages",
            f"{count(tops.total(), 'value')} set on them {verb(tops.total(), 'is')} not listed: {listed}",
        )


def counts(effect: Effect, scope: Scope) -> bool:
    """Upstream symbols, behaviour put into other packages, methods bound onto objects."""
    if not scope.packages and scope.is_anothers(effect.location.path):
        return False  # what belongs to this backend is not known; what stands in the folder of another one does not
    if effect.target is not None:
        return scope.covers(effect.target) or _is_foreign_behaviour(effect, scope)
    if effect.holder is Holder.REGISTRY and effect.mutates:
        return scope.covers(effect.mutates[0])
    return tells_unnamed(effect) and scope.is_near(effect.location.path)


def _is_foreign_behaviour(effect: Effect, scope: Scope) -> bool:
    """Code of ours put into a package that is no backend, the standard library included: torch, asyncio, a sibling."""
    target = effect.target or ""
    behaves = _behaves(effect)
    if not behaves or is_in(target, scope.others) or scope.is_ours(target):
        return False
    return scope.is_near(effect.location.path)


def _behaves(effect: Effect) -> bool:
    """Code of ours, a module, a deletion, or whatever is put there by a call that speaks of patching."""
    if effect.replacement_at is not None or effect.by_text:
        return True
    if _is_foreign_name(effect):
        return True
    return (effect.replacement or "").startswith(("deleted", "module "))


def _is_foreign_name(effect: Effect) -> bool:
    """`torch.cuda.Event = torch.npu.Event`: a name of a package bound to another name of a package, no constant."""
    parts = (effect.replacement or "").split(".")
    if effect.target is None or effect.mutates or effect.style is Style.CONFIG_REWRITE or len(parts) < 2:
        return False
    return all(map(str.isidentifier, parts)) and not parts[-1].isupper() and not _FLAGS.search(effect.target)


def find_in_module(
    module: Module, functions: list[Function], installer: Installer, read: Read, skipped: list[Skipped]
) -> Iterator[Unregistered]:
    machine = installer.machine
    top: list[Event] = [event for event in module.events if not isinstance(event, Registration)]
    yield from _collect(top, module.name, installer, read.packages)
    for owner, event in find_declared(module):
        for item in _collect([event], owner.dotted, installer, read.packages):
            yield replace(item, effect=replace(item.effect, reason=f"declared by {owner.name} for its target"))
    leavings, put_back = Leavings(machine), dict[ast.AST, PutBack]()
    handlers = {event.handler.node for event in module.events if isinstance(event, Registration)}
    for function in functions:
        seen = look_at(function.node)
        if function.node in handlers or not (seen.writes or seen.calls & read.calls or seen.plain & read.hands):
            continue
        if not read.wants(function, module.path):
            continue
        for given in hand_over(read.hooked.get(function.dotted, [])):
            machine.begin()
            events = run_function(machine, function, given)
            if machine.log.exhausted:
                place = f"{function.dotted} ({module.path}:{function.node.lineno})"
                skipped.append(Skipped(place, _TOO_LONG.format(limit=machine.limit)))
            leavings.mark(events, function)
            mark_put_back(events, function, put_back)
            for item in _collect(events, function.dotted, installer, read.packages):
                yield _name_heir(item, function, module)


def _name_heir(item: Unregistered, function: Function, module: Module) -> Unregistered:
    """What an inherited installer does is listed under the class that inherits it."""
    heir = function.bound.of if isinstance(function.bound, Instance) else function.bound
    if not isinstance(heir, Class) or heir.module is not module or function.name.startswith(f"{heir.name}."):
        return item
    return replace(item, within=f"{heir.dotted}.{function.name.rpartition('.')[2]}")


def _collect(
    events: list[Event], within: str, installer: Installer, packages: tuple[str, ...]
) -> Iterator[Unregistered]:
    ways = Ways(events, installer)
    found = find_all_effects(events, installer, lambda effect: may_count(effect, packages), _find_told)
    for event, effect in found:
        shown = may_count(effect, packages)
        when = tell(effect.when, _add_options(event, ways.describe(event, effect))) if shown else None
        effect = replace(_leave_helper(event, effect), when=when)  # noqa: PLW2901
        if (
            effect.target
            and effect.style is Style.BINDING_REPLACEMENT
            and _FLAGS.search(effect.target)
            and effect.replacement_at is None
        ):
            effect = replace(effect, style=Style.CONFIG_REWRITE, mutates=(effect.target,))  # noqa: PLW2901
        yield Unregistered(
            effect=effect,
            within=enclosing(effect, installer) or within,
            registry=name_registry(event, installer) if effect.target else None,
        )


def _add_options(event: Event, told: Condition) -> Condition:
    """What a registration was given beside its path says when it applies."""
    if not isinstance(event, Naming) or not event.options:
        return told
    given = Condition(kind=ConditionKind.OPTIONS, text=event.options)
    return combine(ConditionKind.ALL, (told, given))


def _find_told(event: Event, effect: Effect) -> Location:
    return find_listed(event, effect.location, is_named=effect.target is not None)[0]


def may_count(effect: Effect, packages: tuple[str, ...]) -> bool:
    """False if no backend lists the effect, whatever its scope (see `_counts`): then nobody reads its conditions."""
    if effect.target is None:
        return tells_unnamed(effect)
    behaves = _behaves(effect)
    return not packages or behaves or is_in(effect.target, packages)


def tells_unnamed(effect: Effect) -> bool:
    """True for rows that may be told although their target cannot be named."""
    if effect.holder is Holder.REGISTRY and effect.mutates:
        return True
    return not effect.certain and effect.moment is not Moment.DEFERRED and effect.told


def is_late(effect: Effect) -> bool:
    """Put onto an object that cannot be named when a replacement of ours runs: part of what that does."""
    return effect.target is None and effect.told and not effect.certain and effect.moment is Moment.DEFERRED


def _leave_helper(event: Event, effect: Effect) -> Effect:
    """An effect made by a helper is listed where the helper was called, if that decides it."""
    place = _find_told(event, effect)
    if place == effect.location:
        caller = find_caller(event) if effect.target is None else None
        return effect if caller is None else replace(effect, called_at=caller)
    return list_at_call(effect, place)


def enclosing(effect: Effect, installer: Installer) -> str | None:
    """The innermost function or class around the line, dotted."""
    modules = installer.machine.modules
    module = modules.find(modules.names_by_path.get(effect.location.path, ""))
    if module is None:
        return None
    return ".".join([module.name, *(node.name for node in find_chain(module.body, effect.location.line))])


def find_functions(module: Module) -> Iterator[Function]:
    """Functions and methods of a module, methods bound to an object nobody made."""
    for name in list(module.scope.names.values()):
        for value in find_alternatives(name) if isinstance(name, Choice) else [name]:  # one of several, by a test
            match value:
                case Function():
                    yield from (one for one in find_layers(value) if one.module is module)
                case Class() if value.module is module:
                    yield from _find_methods(value)


def find_layers(value: Function) -> Iterator[Function]:
    """A function, and those that decorators of ours put it around."""
    layer: Function | None = value
    while layer is not None:
        yield layer
        layer = layer.decorates


def _find_methods(owner: Class) -> Iterator[Function]:
    for value in list(owner.scope.names.values()):
        match value:
            case Function(kind="staticmethod"):
                yield from find_layers(value)
            case Function(kind="classmethod"):
                yield from (bind(one, owner) for one in find_layers(value))
            case Function():
                every = (one for first in (value, *_find_shadowed(value, owner)) for one in find_layers(first))
                yield from (bind(one, Instance(owner)) for one in every)
    yield from find_inherited(owner)


def _find_shadowed(last: Function, owner: Class) -> Iterator[Function]:
    """What a property was made of before: its setter has the same name."""
    every = [
        node
        for node in owner.node.body
        if isinstance(node, ast.FunctionDef) and node.name == last.name.rpartition(".")[2]
    ]
    if any(isinstance(one, ast.Attribute) for one in getattr(last.node, "decorator_list", ())):
        yield from (replace(last, node=node) for node in every if node is not last.node)
