"""Calls: functions of the downstream are followed, known library functions understood, the rest recorded."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, cast

from layline.interpreter.builtin import call_method, find_known
from layline.interpreter.events import Call, Registration
from layline.interpreter.libraries import call_made
from layline.interpreter.modules import Scope
from layline.interpreter.objects import open_closure
from layline.interpreter.references import INERT
from layline.interpreter.state import (
    MOST_CALLS_DEEP,
    MOST_CALLS_DEEP_DEFERRED,
    MOST_STEPS_DEFERRED,
    MOST_STEPS_IN_CALL,
    Flow,
    text_of,
)
from layline.interpreter.text_targets import Namings
from layline.interpreter.values import (
    NONE,
    RAISES,
    Annotation,
    Argument,
    Called,
    Choice,
    Class,
    Function,
    Inside,
    Instance,
    Items,
    Literal,
    Member,
    Outside,
    Partial,
    Table,
    Test,
    Unknown,
    Value,
    bind,
    conjoin,
    find_alternatives,
)
from layline.interpreter.writes import Writes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from layline.core.evidence import Location


_TALKS = re.compile(r"_?(?:log|debug|info|warn|warning|error|print|trace)(?:_|$)")
"""Functions that only say something are called more than any other; following them finds nothing."""


_SHORT = 60
"""Lines of a function that is read again where it calls itself."""
IMPORT_HOOKS = frozenset(
    ["when_imported", "register_post_import_hook", "register_module_hook", "after_module_imported", "on_import"]
)
"""Calls that hand a module to a function once it is imported, by last name: wrapt, ddtrace and their kin."""
WRAPT = frozenset(["wrap_object", "resolve_path", "apply_patch", "wrap_function_wrapper"])
"""Functions of the wrapt library, which many projects carry along as a copy."""
_NOT_HANDLERS = frozenset(["condition", "predicate", "enabled", "enabled_if", "guard", "cond"])
"""Functions given to a registry that decide, and do not install."""


class Interpreter(Namings, Writes):
    """The whole machine."""

    def follow_call(self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        match callee:
            case Choice(test=test, yes=yes, no=no):
                left = self.call(yes, arguments, keywords, node)
                right = self.call(no, arguments, keywords, node)
                return left if left == right else Choice(test, left, right)
            case Test(operator="or", operands=operands):
                return Test("or", tuple(self.call(operand, arguments, keywords, node) for operand in operands))
            case Function():
                return self._call_ours(callee, arguments, keywords, node)
            case Class():
                return self._instantiate(callee, arguments, keywords, node)
            case Partial(function=function, arguments=first, keywords=named):
                return self.call(function, [*first, *arguments], {**dict(named), **keywords}, node)
            case Instance():
                method = self.read_attribute(callee, "__call__")
                if not isinstance(method, Function):
                    return Unknown("a call")
                if is_wrapt_decorator(method):
                    return Called(callee, tuple(arguments), tuple(keywords.items()))
                return self.call(method, arguments, keywords, node)
            case Called(callee=Outside(path="layline.registration")):
                return self._end_registration(callee, arguments, node)
            case Outside(path=path) if path.rpartition(".")[2] in self.registries.handlers:
                if not self._names_target(arguments, keywords):
                    return self._begin_registration(callee, arguments, keywords, node)
        return self._call_outside(callee, arguments, keywords, node)

    def _call_ours(self, callee: Function, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        """A function of the downstream is read, unless it is one that registers."""
        name = callee.name.rpartition(".")[2]
        if name in self.registries.handlers:
            if self._names_target(arguments, keywords) and not _returns_decorator(callee):
                return self._call_outside(Outside(callee.dotted), arguments, keywords, node)
            return self._begin_registration(callee, arguments, keywords, node)
        if len(arguments) == 1 and is_wrapt_decorator(callee):
            self._note_use(Unknown("a wrapper"), arguments, keywords)
            return Called(callee, tuple(arguments))  # the original, wrapped
        if name in WRAPT and _is_wrapt(callee):
            return self._call_outside(Outside(f"wrapt.{name}"), arguments, keywords, node)
        if name in IMPORT_HOOKS and self._run_import_hook(arguments, keywords, node):
            return NONE
        is_path = self.registries.believes_path(name) and self._names_target(arguments, keywords)
        if is_path or self.registries.believes_wrapper(name):
            return self._call_outside(Outside(callee.dotted), arguments, keywords, node)
        return self.call_function(callee, arguments, keywords, node)

    def _names_target(self, arguments: list[Value], keywords: dict[str, Value]) -> bool:
        """The first text is an id, unless it is a path of upstream."""
        named = next((text for value in (*arguments, *keywords.values()) if (text := text_of(value))), None)
        return named is not None and (self.is_upstream(named) or self.is_target(named.replace(":", ".")))

    def _call_outside(self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        path = callee.path if isinstance(callee, Outside) else None
        if (known := find_known(path)) is not None:
            found = known(self, arguments, keywords, node)
            if found is not None:
                return found
        if isinstance(callee, Member | Called):
            found = (
                call_method(self, callee, arguments, keywords, node)
                if isinstance(callee, Member)
                else call_made(self, callee, arguments)
            )
            if found is not None:
                return found
        match callee:
            case Called(callee=Outside(path="functools.wraps")) if arguments:
                return arguments[0]
            case Called(callee=Outside(path=hook), arguments=first) if hook.rpartition(".")[2] in IMPORT_HOOKS:
                self._run_import_hook([*first, *arguments], {}, node)
            case Outside(path=hook) if hook.rpartition(".")[2] in IMPORT_HOOKS:
                self._run_import_hook(arguments, keywords, node)
        self._note_use(callee, arguments, keywords)
        self.record(
            Call(
                callee=callee,
                arguments=tuple(arguments),
                keywords=keywords,
                at=self.place(node),
                deferred=self.deferred,
                activation=self.frame.number,
                within=self.frame.within,
                when=self.conditions(),
                trail=self.trail(),
            )
        )
        return Called(callee, tuple(arguments), tuple(keywords.items()))

    def _run_import_hook(self, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> bool:
        """`register_post_import_hook(hook, "a.b")`, `@when_imported("a.b")`: the hook is handed the module."""
        given = [*arguments, *keywords.values()]
        named = [text for value in given for found in find_alternatives(value) if (text := text_of(found))]
        hook = next((v for value in given for v in find_alternatives(value) if isinstance(v, Function)), None)
        if not named or hook is None:
            return False
        outer, self.deferred = self.deferred, True
        for name in dict.fromkeys(named):
            self.frame.conditions.append((Called(Outside("imported"), (Outside(name),)), False))
            self.call_function(hook, [self.find_by_text(name)], {}, node)
            self.frame.conditions.pop()
        self.deferred = outer
        return True

    def _note_use(self, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> None:
        """Whoever is called or handed on can still run; looking at it is no use."""
        for value in find_alternatives(callee):
            self.mark_used(value)
        if isinstance(callee, Outside) and callee.path in INERT:
            return
        for argument in (*arguments, *keywords.values()):
            for value in find_alternatives(argument):
                self.mark_used(value)

    def call_function(
        self, function: Function, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        """Follow a function of the downstream; its result is a choice over its `return`s."""
        deepest = MOST_CALLS_DEEP_DEFERRED if self.deferred else MOST_CALLS_DEEP
        running = sum(1 for frame in self.frames if frame.function and frame.function.node is function.node)
        if (
            len(self.frames) > deepest
            or running > _may_recur(function.node)
            or not (len(self.frames) == 1 or self.follows(function) or self._goes_on(function))
            or _TALKS.match(function.name.rpartition(".")[2])
        ):
            self._note_use(Unknown("too deep"), arguments, keywords)
            return Called(Outside(function.dotted), tuple(arguments), tuple(keywords.items()))
        if function.bound is not None and function.kind != "staticmethod":
            arguments = [function.bound, *arguments]
        scope = Scope(function.module, open_closure(function))
        scope.names.update(bind_arguments(function, arguments, keywords))
        frame = self.push(function.module, function.name, function)
        if function.module.path is not None:
            self.log.visited.add(function.module.path)
        limit, self.limit = self.limit, min(self.limit, self.steps + MOST_STEPS_IN_CALL[self.deferred])
        try:
            if isinstance(function.node, ast.Lambda):
                frame.returns.append(((), self.evaluate(function.node.body, scope)))
                flow = Flow.RETURN
            else:
                flow = self.run_block(function.node.body, scope)
        finally:
            self.frames.pop()
            self.steps, self.limit = min(self.steps, self.limit), limit
        if frame.yields:
            return Items(frame.yields)
        return join_returns(frame.returns, falls=flow < Flow.RETURN)

    def _goes_on(self, function: Function) -> bool:
        """`super().__init__()` inside a constructor: it says what the attributes are that the rest writes to."""
        running = self.frame.function
        return (
            running is not None
            and function.bound is not None
            and function.bound is running.bound
            and function.name.endswith(".__init__")
            and running.name.endswith(".__init__")
        )

    def _instantiate(self, callee: Class, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        made = Instance(callee)
        maker = self.read_attribute(callee, "__init__")
        if isinstance(maker, Function):
            self.call_function(bind(maker, made), arguments, keywords, node)
        else:
            fields = [
                n.target.id for n in callee.node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
            ]
            made.attributes.update(dict(zip(fields, arguments, strict=False)))
            made.attributes.update(keywords)
            for argument in arguments:
                self.mark_used(argument)
        # what an object was made with, it may keep: in a base we cannot read, a slot, a closure
        made.attributes.update({f"<{index}>": value for index, value in enumerate((*arguments, *keywords.values()))})
        return made

    def _begin_registration(
        self, registry: Function | Outside, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        """A call of the registering function: its arguments by name, waiting for the handler."""
        if isinstance(registry, Function):
            name, given, decorates = (
                registry.dotted,
                bind_arguments(registry, arguments, keywords),
                _returns_decorator(registry),
            )
        else:
            name, given, decorates = registry.path, _name_arguments(arguments, keywords), False
        entries: list[tuple[Value, Value]] = [(Literal(key), value) for key, value in given.items()]
        waiting = Called(Outside("layline.registration"), (Literal(name), Table(entries), Literal(self.place(node))))
        handlers = [v for key, v in given.items() if isinstance(v, Function) and key not in _NOT_HANDLERS]
        if decorates or not handlers:
            return waiting
        return self._end_registration(waiting, [handlers[0]], node)

    def _end_registration(self, waiting: Called, arguments: list[Value], node: ast.AST) -> Value:
        name, table, place = waiting.arguments
        handler = next((v for a in arguments for v in find_alternatives(a) if isinstance(v, Function)), None)
        if (
            handler is None
            or not isinstance(table, Table)
            or not isinstance(name, Literal)
            or not isinstance(place, Literal)
        ):
            return arguments[0] if arguments else NONE
        given = {str(key.value): value for key, value in table.entries if isinstance(key, Literal)}
        at, home = cast("Location", place.value), self.frame.module
        self.record(Registration(registry=str(name.value), arguments=given, handler=handler, at=at, module=home))
        return handler

    def call_from(self, function: Function, arguments: list[Value]) -> Value:
        """Call a function from nowhere in particular, for its result; what it does is not recorded."""
        with self.from_outside(function.module), self.in_state(follows=lambda _: True):
            return self.call_function(function, arguments, {}, function.node)

    def run_deferred(self, value: Value) -> None:
        """Read what a replacement does when it runs; its parameters are not known."""
        with self.in_state(deferred=True, steps=0, limit=MOST_STEPS_DEFERRED):
            for found in find_alternatives(value):
                match found:
                    case Function():
                        self._run_unbound(found, (), {})
                    case Partial(function=Function() as function, arguments=first, keywords=named):
                        self._run_unbound(function, first, dict(named))

    def _run_unbound(self, function: Function, first: Iterable[Value], named: dict[str, Value]) -> None:
        given = [*([function.bound] if function.bound is not None else []), *first]
        parameters = function.node.args
        names = [arg.arg for arg in (*parameters.posonlyargs, *parameters.args)]
        rest = [_keep_function(name, function) for name in names[len(given) :] if name not in named]
        keywords = {**{arg.arg: _keep_function(arg.arg, function) for arg in parameters.kwonlyargs}, **named}
        plain = Function(
            function.node,
            function.module,
            function.scope,
            function.name,
            None,
            "function",
            function.defaults,
            captured=function.captured,
        )
        with self.in_state(frames=[]):
            self.push(function.module, function.name)
            self.call_function(plain, [*given, *rest], keywords, function.node)


def _may_recur(node: ast.AST) -> int:
    """How often a function may stand above itself: a short one twice, a long one once, or it eats the budget."""
    return 1 if (getattr(node, "end_lineno", 0) or 0) - getattr(node, "lineno", 0) <= _SHORT else 0


def _keep_function(name: str, function: Function) -> Value:
    """What a parameter is when a replacement runs: a function kept in its default, else an argument nobody told."""
    default = function.defaults.get(name)
    return default if isinstance(default, Outside | Function | Member | Partial) else Argument(name)


def bind_arguments(function: Function, arguments: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Parameter → value: as called, else the default, else an argument nobody told."""
    parameters = function.node.args
    names = [arg.arg for arg in (*parameters.posonlyargs, *parameters.args)]
    only = [arg.arg for arg in parameters.kwonlyargs]
    bound: dict[str, Value] = {name: function.defaults.get(name, Argument(name)) for name in (*names, *only)}
    bound.update(dict(zip(names, arguments, strict=False)))
    extra = {name: value for name, value in keywords.items() if name not in bound}
    bound.update({name: value for name, value in keywords.items() if name in bound})
    for arg in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs):
        if arg.annotation is not None and isinstance(known := bound[arg.arg], Argument) and known.says is None:
            bound[arg.arg] = Argument(known.name, known.context, Annotation(arg.annotation, function.scope))
    if parameters.vararg:
        whole = len(arguments) > len(names) or not any(isinstance(a, Argument) for a in arguments)
        bound[parameters.vararg.arg] = Items(arguments[len(names) :], whole=whole and bool(arguments[len(names) :]))
    if parameters.kwarg:
        bound[parameters.kwarg.arg] = Table([(Literal(n), v) for n, v in extra.items()], whole=bool(extra))
    return bound


def _name_arguments(arguments: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Arguments of a registering function that is not ours to read: the first text is the id."""
    text = next((value for value in arguments if text_of(value) is not None), None)
    rest = [value for value in arguments if value is not text]
    named = {"id": text} if text is not None else {}
    return {**named, **{f"argument {index}": value for index, value in enumerate(rest)}, **keywords}


def join_returns(returns: list[tuple[tuple[Value, ...], Value]], *, falls: bool) -> Value:
    """The value of a call: the first `return` whose tests hold; an exception is not expected."""
    result: Value | None = NONE if falls or not returns else None
    for tests, value in reversed(returns):
        if RAISES in tests and result is not None:
            continue
        kept = tuple(test for test in tests if test != RAISES)
        if result is None or not kept:
            result = value
        elif value != result:
            result = Choice(conjoin(kept), value, result)
    return NONE if result is None else result


def is_wrapt_decorator(function: Function) -> bool:
    """`@wrapt.decorator def w(wrapped, instance, args, kwargs)`: calling it wraps what it is given."""
    return any(ast.unparse(item).endswith("wrapt.decorator") for item in getattr(function.node, "decorator_list", ()))


def _is_wrapt(function: Function) -> bool:
    """A copy of wrapt's function: it lives in a module called so, or takes what wrapt's takes."""
    names = [arg.arg for arg in function.node.args.args]
    return "wrapt" in function.module.name or names[:2] in (
        ["module", "name"],
        ["target", "name"],
        ["parent", "attribute"],
    )


def _returns_decorator(function: Function) -> bool:
    """True if calling it gives a decorator: it defines a function inside and returns it."""
    body = function.node.body if not isinstance(function.node, ast.Lambda) else []
    inner = {statement.name for statement in body if isinstance(statement, ast.FunctionDef)}
    return any(
        isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name) and statement.value.id in inner
        for statement in body
    )


__all__ = ["Inside", "Interpreter", "bind_arguments", "join_returns"]
