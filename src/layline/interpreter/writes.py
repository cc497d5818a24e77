"""Reading and writing attributes and items."""

from __future__ import annotations

import ast
from collections import ChainMap
from typing import TYPE_CHECKING

from layline.interpreter.branches import assume, find_pairs, restrict
from layline.interpreter.containers import put_entries
from layline.interpreter.events import Log, Write
from layline.interpreter.modules import WHOLE
from layline.interpreter.objects import class_of
from layline.interpreter.slots import is_open
from layline.interpreter.stashed import find_kept_inside
from layline.interpreter.state import Machine, Stored, find_restores, is_either, module_around, same_place, text_of
from layline.interpreter.undo import Journal, find_changed_others
from layline.interpreter.values import (
    NONE,
    Called,
    Choice,
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
    Source,
    Table,
    Test,
    Unknown,
    Value,
    bind,
    find_order,
    negate,
)

if TYPE_CHECKING:
    from layline.interpreter.modules import Module

_SAY_NOTHING = ("builtins.", "abc.", "typing.", "enum.")
"""Bases from which nothing of interest is inherited."""


class Writes(Machine):
    """What `a.b`, `a.b = c`, `a[b] = c` and their deletions mean."""

    def find_module(self, name: str) -> Value:
        if self.modules.knows(name):
            module = self.modules.find(name)
            if module is not None:
                return Inside(module)
        return Outside(name)

    def find_by_text(self, name: str) -> Value:
        """A module by a name that the program itself works with: what is read of it stands in no import."""
        self.modules.asked.add(f"{name}{WHOLE}")
        return self.find_module(name)

    def read_module(self, module: Module) -> None:
        """Read the top level of a module once; its events stay with it.

        Modules that import one another are read from the same one on, whichever is asked for first.
        """
        if module.state != "new":
            return
        circle = self.circles.get(module.name, ())
        if circle not in self._circling:
            self._circling.add(circle)
            for name in circle:
                other = self.modules.find(name)
                if other is not None and other.state == "new":
                    self._read_top(other)
        if module.state == "new":
            self._read_top(module)

    def _read_top(self, module: Module) -> None:
        """What an import does, it does for everyone, and in the same way wherever it stands."""
        module.state = "running"
        asked, self.modules.asked = self.modules.asked, module.asked
        tests, filters, gathered = self.tests, self.filters, self.gathered
        with self.aside_from_others():
            self.tests, self.filters = ChainMap(tests.maps[-1]), ChainMap(filters.maps[-1])
            self.gathered = ChainMap(gathered.maps[-1])
            self.stashes, self.aside, self.follows = {}, module.aside, lambda _: True
            self.log = Log(module.events)
            self.push(module, "")
            self.run_block(module.body, module.scope)
            changed = find_changed_others(self.journal, module, self.modules.find_read())
            self.leaks += [(module.name, other) for other in changed]
            self.journal = Journal()
        self.modules.asked = asked
        module.state = "done"

    def read_attribute(self, owner: Value, name: str, default: Value | None = None) -> Value:  # noqa: C901
        match owner:
            case Outside():
                return self._read_from_outside(owner, name)
            case Source() if name.startswith("__"):
                return owner
            case Inside(module=module):
                found = self._read_from_module(module, name)
                # code that runs, or a name that is used, where the module has none of its own
                is_said = isinstance(default, Function) or (isinstance(default, Literal) and bool(text_of(default)))
                return default if default is not None and is_said and isinstance(found, Unknown) else found
            case Class(scope=scope) if name == "__dict__":
                return Table([(Literal(key), self.settle(value)) for key, value in scope.names.items()])
            case Class():
                return self._read_from_class(owner, name) or Member(owner, name, default)
            case Instance():
                return self._read_from_instance(owner, name) or Member(owner, name, default)
            case Function():
                return self._read_from_function(owner, name, default)
            case Made() | Copied():
                return owner.attributes.get(name, Member(owner, name, default))
            case Choice(test=test, yes=yes, no=no):
                left = self._read_under(test, yes, name, default)
                right = self._read_under(negate(test), no, name, default)
                return left if left == right else Choice(test, left, right)
            case Test(operator="or", operands=operands):
                return Test("or", tuple(self.read_attribute(operand, name, default) for operand in operands))
            case Called(callee=Outside(path="builtins.super"), arguments=(Class() | Instance() as current, *rest)):
                return self._read_from_bases(current, rest, name) or Member(owner, name, default)
            case Literal(value=None) if default is not None:
                return default
            case Called() if name == "__class__" and (made := class_of(owner)) is not None:
                return made
            case Called(callee=Outside(path="types.SimpleNamespace"), keywords=keywords):
                # a value may be another one by now, code that is kept there seldom is
                held = dict(keywords).get(name)
                return held if isinstance(held, Outside | Function) else Member(owner, name, default)
        return Member(owner, name, default)

    def _read_under(self, test: Value, owner: Value, name: str, default: Value | None) -> Value:
        """An attribute of one of several objects."""
        if not self.frames:  # an annotation, looked up when nothing runs
            return self.read_attribute(owner, name, default)
        self.frame.conditions.append((test, False))
        found = self.read_attribute(owner, name, default)
        self.frame.conditions.pop()
        return found

    def _read_from_outside(self, owner: Outside, name: str) -> Value:
        if name == "__func__":
            return owner
        if name == "__name__":
            return Literal(owner.path.rpartition(".")[2])
        if name == "__qualname__":
            return Literal(owner.path.removeprefix(f"{module_around(owner.path)}."))
        if name == "__module__":
            return Member(owner, name)  # a text, no step of a path; left open, so that comparing it decides nothing
        path = f"{owner.path}.{name}"
        found = self._read_stored(path)
        if isinstance(found, Outside) and found.path in self.stashes:
            return Outside(self.stashes[found.path])
        return found

    def _read_stored(self, path: str) -> Value:
        """What stands at an outside name; not what another branch than this one wrote there."""
        found = self.stored.get(path)
        while found is not None and found.when and not set(map(negate, found.when)).isdisjoint(self.conditions()):
            found = found.before
        return Outside(path) if found is None else found.value

    def _read_from_module(self, module: Module, name: str) -> Value:
        self.read_module(module)
        found = module.scope.names.get(name)
        if isinstance(found, Literal) and is_open(module, name, self.frames):
            return Member(Inside(module), name)
        if found is not None:
            return self.settle(found)
        if self.modules.knows(f"{module.name}.{name}"):
            return self.find_by_text(f"{module.name}.{name}")
        if name == "__name__":
            return Literal(module.name)
        if module.stars:
            return Outside(f"{module.stars[-1]}.{name}")
        return Unknown(f"{module.name} has no name {name}")

    def _read_from_class(self, owner: Class, name: str) -> Value | None:
        found = owner.scope.names.get(name)
        found = self.settle(found) if found is not None else None
        if isinstance(found, Function) and found.kind == "classmethod":
            return bind(found, owner)
        if found is not None:
            return found
        match name:
            case "__name__":
                return Literal(owner.node.name)
            case "__module__":
                return Literal(owner.module.name)
        for base in owner.bases:
            match base:
                case Class() if base is not owner:
                    inherited = self._read_from_class(base, name)
                    if inherited is not None:
                        return inherited
                case Outside(path=path) if not path.startswith(_SAY_NOTHING):
                    return Outside(f"{path}.{name}")
        return None

    def _read_from_instance(self, owner: Instance, name: str) -> Value | None:
        if name in owner.attributes:
            return owner.attributes[name]
        if name == "__class__":
            return owner.of
        found = self._read_from_class(owner.of, name)
        match found:
            case Literal(value=None) if name.startswith("_"):
                return Member(owner, name, found)  # a slot that a method fills in later
            case Function(kind="function"):
                return bind(found, owner)
            case Function(kind="property"):
                return self.call_function(bind(found, owner), [], {}, found.node)
            case Outside() if name not in owner.of.scope.names:
                return None  # inherited, or set on the object: a write through it does not reach the class
        return found

    def _read_from_bases(self, current: Class | Instance, rest: list[Value], name: str) -> Value | None:
        order = find_order(current if isinstance(current, Class) else current.of)
        after = order.index(rest[0]) + 1 if rest and rest[0] in order else 1
        for base in order[after:]:
            if isinstance(base, Class) and (found := base.scope.names.get(name)) is not None:
                found = self.settle(found)
                if not isinstance(found, Function):
                    return found
                bound = bind(found, current)
                return self.call_function(bound, [], {}, found.node) if found.kind == "property" else bound
            if isinstance(base, Outside) and not base.path.startswith(_SAY_NOTHING):
                return Outside(f"{base.path}.{name}")
        return None

    def _read_from_function(self, owner: Function, name: str, default: Value | None) -> Value:
        if name in owner.attributes:
            return owner.attributes[name]
        match name:
            case "__name__" | "__qualname__":
                return Literal(owner.name.rpartition(".")[2])
            case "__module__":
                return Literal(owner.module.name)
            case "__func__":
                return owner
        if isinstance(default, Items | Table):
            return default  # `getattr(helper, "_backup", [])`: empty until something is put there
        return Member(owner, name, default)

    def write(self, owner: Value, name: Value, value: Value | None, node: ast.AST, *, is_item: bool = False) -> None:
        """Remember a write so that later reads see it, and record it for the detectors."""
        if isinstance(name, Choice) and not isinstance(name.test, Unknown) and not is_item:
            self._write_under(name.test, (owner, name, value), node, is_item=is_item)
            self._write_under(negate(name.test), (owner, name, value), node, is_item=is_item)
            return
        match owner:
            case Choice(test=test, yes=yes, no=no):
                self._write_under(test, (yes, name, value), node, is_item=is_item)
                self._write_under(negate(test), (no, name, value), node, is_item=is_item)
                return
            case Test(operator="or", operands=operands):
                for operand in operands:
                    self.write(operand, name, value, node, is_item=is_item)
                return
            case Outside(path=path) if path.endswith(".__dict__") and is_item:
                self.write(Outside(path.removesuffix(".__dict__")), name, value, node)
                return
            case Outside(path=path) if path.endswith(".__globals__") and is_item:
                self.write(Outside(module_around(path.removesuffix(".__globals__"))), name, value, node)
                return
            case Literal(value=None):
                return
        event = Write(
            owner=owner,
            name=name,
            value=value,
            at=self.place(node),
            is_item=is_item,
            deferred=self.deferred,
            activation=self.frame.number,
            within=self.frame.within,
            when=self.conditions(),
            checks=self.checks(),
            trail=self.trail(),
            chosen=tuple(self.chosen),
            own=tuple(test for test, _ in self.frame.conditions),
            node=node,
        )
        if self._puts_back(event) if value is not None else self._takes_back(event):
            event.transient = event.restores = True
            find_restores(self.log.events, event)
        self._remember(event)
        self.record(event)

    def _write_under(
        self, test: Value, parts: tuple[Value, Value, Value | None], node: ast.AST, *, is_item: bool
    ) -> None:
        """A write to one of several objects; its name and value are those of the same branch."""
        known = assume(test, ())
        owner, name = restrict(parts[0], known), restrict(parts[1], known)
        value = None if parts[2] is None else restrict(parts[2], known)
        self.frame.conditions.append((test, False))
        self.chosen.append(test)
        self.write(owner, name, value, node, is_item=is_item)
        self.chosen.pop()
        self.frame.conditions.pop()

    def _puts_back(self, event: Write) -> bool:
        """True if an earlier write of this run is undone: the value is what was read from the same place."""
        match event.owner, event.value:
            case Outside(path=path), Outside(path=original) if not event.is_item:
                return original == f"{path}.{text_of(event.name)}"
            case _, Element(owner=owner, key=key) if event.is_item:
                kept = owner.of if isinstance(owner, Copied) else owner  # `saved = table.copy()`
                return kept == event.owner and key == event.name
            case _, Member(owner=owner, name=name) if not event.is_item and owner == event.owner:
                return name == text_of(event.name) or (name, text_of(event.name)) in self.aside
            case Outside(path=path), Choice() if not event.is_item and event.value is not None:
                pairs = list(find_pairs(event.name, event.value))
                return all(isinstance(v, Outside) and v.path == f"{path}.{text_of(name)}" for name, v in pairs)
        return False

    def _takes_back(self, event: Write) -> bool:
        """True if the same run put there what it deletes now."""
        return any(
            isinstance(one, Write)
            and one.activation == event.activation
            and one.value is not None
            and same_place(one, event)
            and not is_either(one, event)
            for one in self.log.events
        )

    def _fill_slot(self, module: Module, name: str, value: Value) -> None:
        """What is kept in a module of ours, unless something of its own stands there."""
        self.read_module(module)
        names = module.scope.names
        if module.state == "done" and names.get(name, NONE) == NONE:
            self.journal.note(names, name)
            names[name] = value

    def _remember(self, event: Write) -> None:
        name = text_of(event.name)
        if name is not None and isinstance(event.value, Member) and event.value.name != name:
            self.aside.add((name, event.value.name))
        if name is not None and isinstance(event.value, Instance):
            self.aside |= {(name, original) for original in find_kept_inside(event.value, event.owner)}
        match event.owner:
            case Outside(path=path) if name is not None and not event.is_item:
                _place_made(event.value, f"{path}.{name}")
                if event.value is None or event.transient:
                    self.stored.pop(f"{path}.{name}", None)
                else:
                    before = self.stored.get(f"{path}.{name}")
                    self.stored[f"{path}.{name}"] = Stored(event.value, event.when, before if event.when else None)
            case Table():
                if event.value is not None:
                    put_entries(self, event.owner, [(event.name, event.value)])
            case Inside(module=module) if name is not None and event.value is not None:
                self._fill_slot(module, name, event.value)
            case Class(scope=scope) if name is not None and event.value is not None:
                self.journal.note(scope.names, name)
                scope.names[name] = event.value
            case Instance() if name and event.value is not None:
                self.journal.note_field(event.owner.attributes, name)
                event.owner.attributes[name] = event.value
                if self.frame.loops:
                    self.frame.loops[-1].written.append((event.owner, name))
            case Made() | Function() | Copied() if name and event.value is not None and not event.is_item:
                attributes = event.owner.attributes
                self.journal.note(attributes, name)
                attributes[name] = event.value


def _place_made(value: Value | None, path: str) -> None:
    if isinstance(value, Made):
        value.place = path
