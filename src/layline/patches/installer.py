"""What detectors may ask about the installer at hand: what a replacement does, what a name is upstream."""

from __future__ import annotations

import ast
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from layline.core.condition import Condition
from layline.core.evidence import Location
from layline.core.patch import Effect, Fate, Moment, Style, TargetKind
from layline.interpreter.config_paths import Roots
from layline.interpreter.events import Call, Log, Naming, Write
from layline.interpreter.objects import spell_object
from layline.interpreter.references import find_references
from layline.interpreter.stashed import UNWRAPPED, find_stashed
from layline.interpreter.values import (
    Called,
    Class,
    Copied,
    Element,
    Function,
    Inside,
    Instance,
    Items,
    Literal,
    Made,
    Member,
    Outside,
    Partial,
    Source,
    Table,
    Value,
    find_alternatives,
)
from layline.patches.alternatives import NAMED_VALUES, find_named, find_told
from layline.source.names import is_within
from layline.source.walking import find_nested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.interpreter.calls import Interpreter
    from layline.interpreter.events import Event
    from layline.interpreter.modules import Module

_METADATA = frozenset(
    "__name__ __qualname__ __doc__ __module__ __wrapped__ __signature__ __annotations__ __defaults__ "
    "__kwdefaults__".split()
)
_MARKER = re.compile(
    r"(?:^|_)(patched|wrapped|applied|installed|hooked|orig|original|backup|saved|sentinel|done|marker"
    r"|unpatched|instrumented|is_patch|patch)(?:_|$)",
    re.IGNORECASE,
)
_COMPUTED = "a value computed at run time"
_MOST_NAMED = 6
"""Of several replacements; the last is what is put there by default."""
_MOST_VALUES = 4
"""Constants that are named one by one; of more, only that they are computed."""


@dataclass(frozen=True, slots=True)
class Known:
    """What upstream knows of a dotted name."""

    kind: TargetKind
    alias_of: str | None = None
    suggestion: str | None = None
    is_field: bool = False
    """A class declares it as data."""
    is_function: bool = False
    is_class: bool = False
    may_be_of: str | None = None
    """Of a member that no class of upstream has: a class of another package that may have it."""
    set_by: str | None = None
    """The class whose methods give it to their objects, where none declares it."""


class MemberKind(StrEnum):
    """What classes of upstream declare a name as."""

    METHOD = "method"
    FIELD = "field"


def know_nothing(_: str) -> Known:
    return Known(TargetKind.UNKNOWN)


def know_no_members(_: str) -> frozenset[MemberKind]:
    return frozenset()


@dataclass(slots=True, eq=False)
class Installer:
    """One handler, function or module whose events are being judged."""

    machine: Interpreter
    roots: Roots = field(default_factory=Roots)
    look_up: Callable[[str], Known] = know_nothing
    own_names: frozenset[str] = frozenset()
    """Top-level packages of ours: a private attribute that carries one is bookkeeping."""
    packages: tuple[str, ...] = ()
    """Upstream packages, for texts that may be a path or an id."""
    find_members: Callable[[str], frozenset[MemberKind]] = know_no_members
    """What classes of upstream declare a name as; `config.name`: those that upstream says of what it calls `config`."""
    holds_code: Callable[[str], bool] = lambda _: False
    """Whether upstream declares a field of this name that holds something to be called."""
    logs: dict[tuple[int, int, tuple[object, ...]], Log] = field(default_factory=dict)
    kept: list[Value] = field(default_factory=list)
    silent: dict[Location, Fate] = field(default_factory=dict)
    """Lines that were read and make no row, and why."""
    handed: set[Location] = field(default_factory=set)
    """Lines of helpers that a caller handed an object of ours."""
    written: frozenset[str] = frozenset()
    """Outside names that the run at hand writes."""
    module: Module | None = None
    conditions: dict[Value, Condition | None] = field(default_factory=dict)
    """What was read of tests: a dispatch asks the same ones on the way to each of its cases."""

    @contextmanager
    def reading(self, module: Module) -> Iterator[None]:
        """What is read of one module inside depends on nothing that was read before."""
        self.logs, self.kept, self.silent, self.conditions, self.module = {}, [], {}, {}, module
        self.handed = set()
        with self.machine.aside_from_others():
            self.machine.read_module(module)
            self.machine.aside |= module.aside
            yield

    def read_replacement(self, value: Value) -> Iterator[Log]:
        """What a replacement uses and does when it runs; each is read once."""
        for found in find_alternatives(value):
            function = found.function if isinstance(found, Partial) else found
            if not isinstance(function, Function):
                continue
            given = (*found.arguments, *(v for _, v in found.keywords)) if isinstance(found, Partial) else ()
            # of a function that a loop makes each round has its own defaults
            held = (*given, *function.defaults.values())
            key = (id(function.node), id(function.scope), tuple(map(id, held)))
            if key not in self.logs:
                self.logs[key] = Log()
                self.kept.append(found)  # an id is only unique while its object lives
                with self.machine.in_state(log=self.logs[key]):
                    self.machine.run_deferred(found)
            yield self.logs[key]

    def judge_style(self, target: str, value: Value) -> Style:  # noqa: C901  one case each
        """Wrapping if the replacement can still reach the original, however it is spelled."""
        for found in find_alternatives(value):
            match found:
                case Class(scope=scope):
                    made = scope.names.get("__new__")  # it may give an object of the original instead
                    if isinstance(made, Function) and self.uses_original(made, target):
                        return Style.FUNCTION_WRAPPING
                case Source():
                    return Style.SOURCE_REWRITE
                case Called(callee=Outside(path=path)) if path.startswith("operator."):
                    continue  # `m.N += 1` changes a value, it wraps nothing
                case Instance(attributes=attributes):
                    held = [v for value in attributes.values() for v in find_alternatives(value)]
                    if any(self.is_original(value, target) for value in held):
                        return Style.FUNCTION_WRAPPING
                case Called(arguments=arguments, keywords=keywords):
                    given = (*arguments, *(item for _, item in keywords))
                    if any(self.is_original(inner, target) for item in given for inner in find_alternatives(item)):
                        return Style.FUNCTION_WRAPPING
                    if any(self.judge_style(target, item) is Style.FUNCTION_WRAPPING for item in given):
                        return Style.FUNCTION_WRAPPING
                case Partial(function=function):
                    if self.is_original(function, target) or self.uses_original(found, target):
                        return Style.FUNCTION_WRAPPING
                case Function():
                    if self.uses_original(found, target):
                        return Style.FUNCTION_WRAPPING
        return Style.BINDING_REPLACEMENT

    def uses_original(self, value: Value, target: str) -> bool:
        for found in find_alternatives(value):
            function = found.function if isinstance(found, Partial) else found
            if isinstance(function, Function) and any(self.same_object(p, target) for p in find_references(function)):
                return True
        stashed = self.find_stashed_names(target)
        for log in self.read_replacement(value):
            if any(self.same_object(path, target) for path in log.used) or any(
                name in stashed for _, name in log.members
            ):
                return True
        return False

    def find_stashed_names(self, target: str) -> set[str]:
        """Names under which the original of a target is kept on objects: `self._orig_update`."""
        attribute = target.rpartition(".")[2]
        stashed = {at.rpartition(".")[2] for at, original in self.machine.stashes.items() if original == target}
        pairs = self.machine.aside | self.find_pairs()
        return stashed | {aside for aside, original in pairs if original == attribute and aside != attribute}

    def find_pairs(self) -> frozenset[tuple[str, str]]:
        """Names under which the file at hand keeps originals beside what it replaces."""
        return frozenset() if self.module is None else find_stashed(self.module)

    def is_stash(self, owner: str, name: str, value: Value | None) -> bool:
        """`C._first = C.go`, where the file puts something else in the place of `C.go`; or that one put back."""
        if value is None:
            return any(kept == name for kept, _ in self.find_pairs())
        if not isinstance(value, Outside) or value.path.rpartition(".")[0] != owner:
            return False
        other = value.path.rpartition(".")[2]
        if (name, other) in self.find_pairs():
            self.machine.stashes.setdefault(f"{owner}.{name}", value.path)
            return True
        return (other, name) in self.find_pairs()

    def is_original(self, value: Value, target: str) -> bool:
        return isinstance(value, Outside) and self.same_object(value.path.removesuffix(UNWRAPPED), target)

    def same_object(self, path: str, target: str) -> bool:
        """True if both names mean one object: equal, or one an alias of the other."""
        if path == target:
            return True
        if path.rpartition(".")[2] != target.rpartition(".")[2]:
            return False
        owner, other = path.rpartition(".")[0].rpartition(".")[2], target.rpartition(".")[0].rpartition(".")[2]
        if owner == other:
            return True
        if owner[:1].isupper() or other[:1].isupper():
            return False  # a method of another class
        left, right = self.look_up(path), self.look_up(target)
        if {left.kind, right.kind} & {TargetKind.UNKNOWN, TargetKind.EXTERNAL}:
            return self._may_be_alias(left.alias_of or path, right.alias_of or target)
        return (left.alias_of or path) == (right.alias_of or target)

    def _may_be_alias(self, path: str, target: str) -> bool:
        """Of two names that cannot be looked up: one package offers what a module below it defines, or both are
        replaced together.
        """
        owner, other = path.rpartition(".")[0], target.rpartition(".")[0]
        return is_within(owner, other) or is_within(other, owner) or {path, target} <= self.written

    def is_bookkeeping(self, owner: str, name: str, value: Value | None) -> bool:
        """Markers, stashed originals and function metadata change nothing upstream does."""
        if name in _METADATA:
            return True
        if not self._keeps_books(owner, name, value):
            return False
        if isinstance(value, Outside) and owner and value.path != f"{owner}.{name}":
            self.machine.stashes.setdefault(f"{owner}.{name}", value.path)
        return True

    def _keeps_books(self, owner: str, name: str, value: Value | None) -> bool:
        lowered = name.lower()
        private = name.startswith("_") and not name.startswith("__")
        if private and any(word in lowered for word in self.own_names):
            return True
        constant = isinstance(value, (Literal, Items, Table))
        if _MARKER.search(name) and (private or constant) and (constant or isinstance(value, Outside) or value is None):
            return self.look_up(f"{owner}.{name}").kind in {TargetKind.ABSENT, TargetKind.EXTERNAL, TargetKind.UNKNOWN}
        if private and isinstance(value, Outside) and value.path.rpartition(".")[2].strip("_") in name:
            return self.look_up(f"{owner}.{name}").kind not in {TargetKind.DEFINITION, TargetKind.IMPORTED_NAME}
        return False

    def describe(self, value: Value | None) -> tuple[str | None, Location | None]:  # noqa: C901  one case each
        """A replacement in a few words, and where the downstream defines it; of several, all that are ours."""
        several = find_told(value)
        named = find_named(value)
        if len(several) > 1 and isinstance(several[0], NAMED_VALUES) and any(not isinstance(v, Member) for v in named):
            told = [self._describe_reached(v) for v in named[:_MOST_NAMED]]
            names = list(dict.fromkeys(name for name, _ in told if name))
            more = " or …" if len(several) > min(len(named), _MOST_NAMED) and names != [_COMPUTED] else ""
            return " or ".join(names) + more, next((place for _, place in told if place is not None), None)
        if len(several) > 1 and isinstance(several[0], Literal):
            known = [repr(v.value) for v in several if isinstance(v, Literal)]
            return " or ".join(known) if len(known) == len(several) <= _MOST_VALUES else _COMPUTED, None
        found = None if value is None else next(iter(several), Literal(None))
        match found:
            case None:
                return "deleted", None
            case Function(decorates=Function() as inner):
                return self.describe(inner)
            case Function() | Class():
                return found.dotted, Location(found.module.path or found.module.name, found.node.lineno)
            case Literal(value=constant):
                return repr(constant), None
            case Outside(path=path):
                return path, None
            case Partial(function=function, arguments=given, keywords=named_too):
                name, place = self._describe_reached(function)
                return f"functools.partial({name}{', …' if given or named_too else ''})", place
            case Called(callee=Outside(path="types.MethodType"), arguments=(bound, _)):
                return self.describe(bound)
            case Called(callee=Outside(path="builtins.type"), arguments=(_, Items(values=bases), _)):
                ours = [self.describe(base) for base in bases if isinstance(base, Class)]
                below = ", ".join(name for name, _ in ours if name)
                return f"a class below {below}" if below else _COMPUTED, ours[0][1] if ours else None
            case Called(callee=callee, arguments=handed, keywords=words):
                name, place = self.describe(callee)
                if name == _COMPUTED:
                    return _COMPUTED, place
                if not isinstance(callee, Instance | Called | Function):
                    given = (*handed, *(item for _, item in words))  # `ContextVar("f", default=ours)`
                    made_of = (self.describe(one)[1] for one in given if isinstance(one, Function))
                    place = self.find_definition(callee) or next(made_of, None)
                return f"{name}(…)", place
            case Instance(of=of, attributes=held) if (kept := _find_held(held)) is not None:
                name, place = self.describe(kept)
                return f"{of.dotted}({name})", place
            case Instance(of=of):
                return f"{of.dotted}()", Location(of.module.path or of.module.name, of.node.lineno)
            case Inside(module=module):
                return module.name, Location(module.path or module.name, 1)
            case Made(name=name):
                return f"module {name}", None
            case Copied(of=of):
                return f"a copy of {spell_object(of) or _COMPUTED}", None
            case Source(of=of):
                return f"rewritten source of {self.describe(of)[0]}", None
            case Element(owner=Outside(path=path), key=Items(values=parts)) if any(isinstance(v, Class) for v in parts):
                told = [self.describe(part) for part in parts]  # `Union[theirs, Ours]`
                return f"{path}[{', '.join(str(name) for name, _ in told)}]", next(at for _, at in told if at)
            case Items(values=values) if not all(isinstance(item, Literal) for item in values):
                return "a list built at run time", None
            case Table(entries=[], whole=True):
                return "{}", None
            case Items(values=[], whole=True):
                return "an empty list or tuple", None
            case Items() | Table():
                return "a literal", None
        return _COMPUTED, None

    def find_places(self, value: Value | None) -> tuple[Location, ...]:
        """Where each of several replacements is defined, in the order in which they are named; nothing for one."""
        told = (self._describe_reached(v)[1] for v in find_named(value)[:_MOST_NAMED])
        places = tuple(dict.fromkeys(place for place in told if place is not None))
        return places if len(places) > 1 else ()

    def _describe_reached(self, value: Value) -> tuple[str | None, Location | None]:
        """One of several values, or what is called by one: an attribute of an object as it is written."""
        spelled = spell_object(value) if isinstance(value, Member) else None
        return (spelled, None) if spelled else self.describe(value)

    def find_definition(self, value: Value) -> Location | None:
        """Where a function of ours stands that was too long to be read."""
        found = self._find_ours(value.path.split(".") if isinstance(value, Outside) else [])
        return None if found is None else Location(found[0], found[1].lineno)

    def find_function(self, parts: list[str]) -> ast.stmt | None:
        """The definition that a dotted name leads to in our own code."""
        found = self._find_ours(parts)
        return None if found is None else found[1]

    def _find_ours(self, parts: list[str]) -> tuple[str, ast.stmt] | None:
        modules = self.machine.modules
        for end in range(len(parts) - 1, 0, -1):
            path = modules.path_of(".".join(parts[:end]))
            module = modules.find(".".join(parts[:end])) if path is not None else None
            if path is not None and module is not None:
                found = find_nested(module.body, parts[end:])
                return None if found is None else (path, found)
        return None

    def build_effect(self, event: Write | Call | Naming, target: str, value: Value | None) -> Effect:
        """The effect of putting `value` at `target`."""
        replacement, place = self.describe(value)
        known = self.look_up(target)
        style = Style.BINDING_REPLACEMENT if value is None else self.judge_style(target, value)
        anchors = (
            tuple(a for v in find_alternatives(value) if isinstance(v, Source) for a in v.anchors) if value else ()
        )
        return Effect(
            style=style,
            target=target,
            replacement=replacement,
            replacement_at=place,
            location=event.at,
            moment=moment_of(event),
            target_kind=known.kind,
            alias_of=known.alias_of,
            may_be_of=known.may_be_of,
            suggestion=known.suggestion,
            anchors=anchors,
            adds=known.kind is TargetKind.ABSENT
            and value is not None
            and style is not Style.FUNCTION_WRAPPING  # what keeps the one before it is for versions that have it
            and self._is_class(target.rpartition(".")[0]),
        )

    def _is_class(self, dotted: str) -> bool:
        """A class that upstream has: a name it lacks is added to it; one that a module lacks is read by nobody."""
        known, is_named = self.look_up(dotted), dotted.rpartition(".")[2][:1].isupper()
        return is_named and not known.is_function and known.kind in {TargetKind.DEFINITION, TargetKind.IMPORTED_NAME}


def _find_held(attributes: dict[str, Value]) -> Function | Partial | None:
    """The function of ours that a wrapper object was made with."""
    values = [value for name, value in attributes.items() if name.startswith("<")]
    return next((v for v in values if isinstance(v, Function | Partial)), None)


def moment_of(event: Event) -> Moment:
    if isinstance(event, Write | Call | Naming) and event.transient:
        return Moment.TRANSIENT
    return Moment.DEFERRED if getattr(event, "deferred", False) else Moment.INSTALL
