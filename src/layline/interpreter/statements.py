"""Statements: every branch is taken, values that differ become choices, tests on the way are remembered."""

from __future__ import annotations

import ast

from layline.core.evidence import Location
from layline.interpreter.branches import find_there, merge_names
from layline.interpreter.caught_imports import find_called, find_imports, split_after_call
from layline.interpreter.containers import grow, open_filters
from layline.interpreter.events import Imported
from layline.interpreter.expressions import Expressions
from layline.interpreter.loops import MOST_ITEMS, iterate_apart, note_stop, settle_loop, unfilter
from layline.interpreter.matches import unfold
from layline.interpreter.modules import Scope, resolve_relative
from layline.interpreter.objects import asks_class
from layline.interpreter.references import gives_value
from layline.interpreter.scripts import find_script_writes
from layline.interpreter.settled import ask_caller, decide_again
from layline.interpreter.state import Flow, Loop
from layline.interpreter.strings import fold_operation
from layline.interpreter.undo import BranchedFields
from layline.interpreter.values import (
    EACH,
    GOES_WELL,
    NONE,
    RAISES,
    UNREACHED,
    Called,
    Choice,
    Class,
    Element,
    Function,
    Inside,
    Items,
    Later,
    Literal,
    Member,
    Outside,
    Test,
    Unknown,
    Value,
    find_alternatives,
    negate,
    truth,
)
from layline.source.handlers import raises_again

_KINDS = {"staticmethod", "classmethod", "property"}
_LEAVES = {ast.Raise: Flow.RAISE, ast.Continue: Flow.CONTINUE, ast.Break: Flow.BREAK}


class Statements(Expressions):
    """Runs blocks of statements."""

    def run_block(self, body: list[ast.stmt], scope: Scope) -> Flow:
        known = len(self.frame.conditions)
        flow = Flow.FALL
        for statement in body:
            if not self.spend():
                break
            flow = self._run(statement, scope)
            if flow is not Flow.FALL:
                break
        del self.frame.conditions[known:]
        return flow

    def _run(self, node: ast.stmt, scope: Scope) -> Flow:  # noqa: C901  one case per statement of the language
        self.frame.line = node.lineno
        match node:
            case ast.Expr(value=value):
                self.evaluate(value, scope)
            case ast.Assign(targets=targets, value=value):
                found = self.evaluate(value, scope)
                for target in targets:
                    self.bind_target(target, found, scope)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.bind_target(target, self.evaluate(value, scope), scope)
            case ast.AugAssign():
                self._run_augmented(node, scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                scope.bind(node.name, self.define_function(node, scope))
            case ast.ClassDef():
                scope.bind(node.name, self._define_class(node, scope))
            case ast.Return(value=value):
                self._run_return(self.evaluate(value, scope) if value else NONE)
                return Flow.RETURN
            case ast.If():
                return self._branch(node, scope)
            case ast.For() | ast.AsyncFor():
                return self._run_for(node, scope)
            case ast.While(test=test, body=body):
                self.evaluate(test, scope)
                self.run_block(body, scope)
            case ast.Import() | ast.ImportFrom():
                self._run_import(node, scope)
            case _:
                return self._run_rest(node, scope)
        return Flow.FALL

    def _run_rest(self, node: ast.stmt, scope: Scope) -> Flow:
        match node:
            case ast.Try() | ast.TryStar():
                return self._run_try(node, scope)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    self._enter(item, scope)
                return self.run_block(body, scope)
            case ast.Raise() | ast.Continue() | ast.Break():
                self.frame.raised = node.lineno if isinstance(node, ast.Raise) else self.frame.raised
                return _LEAVES[type(node)]
            case ast.Delete(targets=targets):
                self._run_delete(targets, scope)
            case ast.Global(names=names):
                scope.declare_global(names)
                for name in names:
                    self.journal.note(scope.outer[name].names, name)
            case ast.Nonlocal(names=names):
                scope.declare_nonlocal(names)
            case ast.Match():
                return self._inline(list(unfold(node)), scope)
            case ast.Assert(test=test):
                if asks_class(asserted := self.evaluate(test, scope)):
                    self.frame.conditions.append((asserted, True))
        return Flow.FALL

    def _run_return(self, value: Value) -> None:
        local = tuple(test for test, left_behind in self.frame.conditions if not left_behind)
        if UNREACHED not in local:
            self.frame.returns.append((local, value))
        for found in find_alternatives(value):
            self.mark_used(found)

    def _run_augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        right = self.evaluate(node.value, scope)
        left = self.evaluate(node.target, scope)
        if not grow(self, node, left, right):
            self.bind_target(node.target, fold_operation(node.op, left, right), scope)

    def _branch(self, node: ast.If, scope: Scope) -> Flow:
        test, body, orelse = self.evaluate(node.test, scope), node.body, node.orelse
        # a replacement is judged by what its code can do, not by the flag its factory was given today
        known = truth(test) if not self.deferred or isinstance(node.test, ast.Constant) else None
        if known is not None:
            test, known = ask_caller(self, node.test, test, known, scope)
        self.note_test(test, node.test)
        if known is not None:
            return self._inline((body if known else orelse) or find_script_writes(node), scope)
        settled = decide_again(node.test, test, self.frame)
        before = dict(scope.names)
        scope.names |= (there := find_there(node.test, before))
        fields = BranchedFields(self.journal)
        yes = self._run_under(test, body, scope, reached=settled is not False)
        if yes is not Flow.BREAK:  # what holds where a loop stops is settled after it
            fields.turn()
        after_yes, scope.names = scope.names, before
        after_yes |= {name: before[name] for name, value in there.items() if after_yes.get(name) is value}
        no = self._run_under(negate(test), orelse, scope, reached=settled is not True)
        if yes is not Flow.BREAK:
            fields.join(test, yes is Flow.FALL and settled is not False, no is Flow.FALL and settled is not True)
        if settled is None:
            return self._join(test, (yes, after_yes), (no, scope.names), scope)
        scope.put({**scope.names, **after_yes} if settled else {**after_yes, **scope.names})
        return yes if settled else no

    def _inline(self, body: list[ast.stmt], scope: Scope) -> Flow:
        """A branch that is surely taken belongs to the block around it."""
        for statement in body:
            flow = self._run(statement, scope)
            if flow is not Flow.FALL or not self.spend():
                return flow
        return Flow.FALL

    def _run_under(self, test: Value, body: list[ast.stmt], scope: Scope, *, reached: bool = True) -> Flow:
        known = len(self.frame.conditions)
        self.frame.conditions += [(test, False)] if reached else [(test, False), (UNREACHED, False)]
        flow = self.run_block(body, scope)
        del self.frame.conditions[known:]
        return flow

    def _join(
        self, test: Value, yes: tuple[Flow, dict[str, Value]], no: tuple[Flow, dict[str, Value]], scope: Scope
    ) -> Flow:
        """After two branches: the names of those that go on, and what is known because the other one left."""
        if self.frame.loops:
            for known, (flow, names) in ((test, yes), (negate(test), no)):
                if flow is Flow.BREAK:
                    note_stop(self.frame.loops[-1], known, names)
        if yes[0] is Flow.FALL and no[0] is Flow.FALL:
            scope.put(merge_names(test, yes[1], no[1]))
            return Flow.FALL
        if yes[0] is not Flow.FALL and no[0] is not Flow.FALL:
            scope.names = no[1]
            return min(yes[0], no[0])
        goes_on = test if yes[0] is Flow.FALL else negate(test)
        scope.put(yes[1] if yes[0] is Flow.FALL else no[1])
        self.frame.conditions.append((goes_on, self._find_raise(max(yes[0], no[0])) or True))
        if Flow.RETURN in {yes[0], no[0]} and not self.deferred and self._may_install():
            self.log.tests.append(test)
        return Flow.FALL

    def _find_raise(self, flow: Flow) -> Location | None:
        """Where a branch that left raises; None where it leaves otherwise, or somebody catches that."""
        is_caught = any(frame.catching for frame in self.frames)
        module = self.frame.module
        return (
            Location(module.path, self.frame.raised) if flow is Flow.RAISE and module.path and not is_caught else None
        )

    def _may_install(self) -> bool:
        """The handler itself, or a helper it calls for what it does: one that computes a value decides nothing."""
        function = self.frame.function
        return len(self.frames) <= 2 or function is None or not gives_value(function.node)

    def _run_for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> Flow:
        self.frame.loops.append(Loop())
        flow = self._run_items(node, scope)
        scope.names = settle_loop(self.frame.loops.pop(), scope.names)
        if flow is Flow.FALL:
            return self.run_block(node.orelse, scope)
        return Flow.FALL if flow is Flow.BREAK else flow

    def _run_items(self, node: ast.For | ast.AsyncFor, scope: Scope) -> Flow:
        source = self.evaluate(node.iter, scope)
        values = iterate_apart(self, source)
        some = source.values[:MOST_ITEMS] if isinstance(source, Items) else []
        for value in (some or [Element(source, EACH)]) if values is None else values:
            found, plain = unfilter(value)
            tests = open_filters(self, found)
            self.bind_target(node.target, plain, scope)
            self.frame.conditions.extend((test, False) for test in tests)
            flow = self.run_block(node.body, scope)
            del self.frame.conditions[len(self.frame.conditions) - len(tests) :]
            if flow is Flow.BREAK or (flow >= Flow.RETURN and values is not None):
                return flow
        return Flow.FALL

    def _run_try(self, node: ast.Try | ast.TryStar, scope: Scope) -> Flow:
        plain = find_imports(node.body, self.frame.module)
        imports = [*plain, *find_called(node.body)]
        test: Value = _is_importable(imports) if imports else GOES_WELL
        handled = negate(test) if imports else RAISES
        before = dict(scope.names)
        body = [*node.body, *node.orelse]
        swallows = not all(map(raises_again, node.handlers))
        self.frame.catching += swallows
        flow = self._run_imported(plain, body, scope) if node.handlers else self.run_block(body, scope)
        self.frame.catching -= swallows
        joined = (flow, scope.names)
        for handler in node.handlers:
            scope.names = {**joined[1], **before} if joined[0] is Flow.FALL else dict(before)
            if handler.name:
                scope.bind(handler.name, Unknown("an exception"))
            known = len(self.frame.conditions)
            handler_flow = self._run_under(handled, handler.body, scope)
            flow = self._join(test, joined, (handler_flow, scope.names), scope)
            if not imports:
                del self.frame.conditions[known:]
            joined = (flow, scope.names)
        final = self.run_block(node.finalbody, scope)
        return max(joined[0], final)

    def _run_imported(self, names: list[str], body: list[ast.stmt], scope: Scope) -> Flow:
        """What runs only where these names can be imported, since the failure is caught; more do after each import by
        text.
        """
        self.frame.conditions += [(_is_importable(names), False)] if names else []
        parts = split_after_call(body)
        flow = self.run_block(parts[0] if parts else body, scope)
        if parts and flow is Flow.FALL:
            flow = self._run_imported(parts[1], parts[2], scope)
        del self.frame.conditions[len(self.frame.conditions) - bool(names) :]
        return flow

    def _enter(self, item: ast.withitem, scope: Scope) -> None:
        value = self.evaluate(item.context_expr, scope)
        if isinstance(value, Called):
            self.call(Member(value, "__enter__"), [], {}, item.context_expr)
        if item.optional_vars is not None:
            entered: Value = Called(Member(value, "__enter__")) if not isinstance(value, Items) else value
            if isinstance(value, Items) and value.values:
                entered = value.values[0]  # a generator with one `yield`
            self.bind_target(item.optional_vars, entered, scope)

    def _run_delete(self, targets: list[ast.expr], scope: Scope) -> None:
        for target in targets:
            match target:
                case ast.Attribute(value=owner, attr=name):
                    self.write(self.evaluate(owner, scope), Literal(name), None, target)
                case ast.Subscript(value=owner, slice=key):
                    self.write(self.evaluate(owner, scope), self.evaluate(key, scope), None, target, is_item=True)

    def _run_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.name if alias.asname else alias.name.partition(".")[0]
                scope.bind(alias.asname or bound, self.find_module(bound))
                self._note_import(alias.name, node)
            return
        base = resolve_relative(self.frame.module, node.module, node.level)
        self._note_import(base, node)
        for alias in node.names:
            if alias.name == "*":
                self._import_all(base, scope)
                continue
            inside = self.modules.knows(base)
            found = Later(base, alias.name) if inside else self.read_attribute(Outside(base), alias.name)
            scope.bind(alias.asname or alias.name, found)
            self._note_import(f"{base}.{alias.name}", node)

    def settle(self, value: Value) -> Value:
        """The value behind a name that was imported without a look."""
        if isinstance(value, Choice) and (
            isinstance(value.yes, Later | Choice) or isinstance(value.no, Later | Choice)
        ):
            yes, no = self.settle(value.yes), self.settle(value.no)
            return value if yes is value.yes and no is value.no else Choice(value.test, yes, no)
        if not isinstance(value, Later):
            return value
        if value.value is None:
            value.value = Unknown(f"{value.base}.{value.name} imports itself")
            value.value = self.settle(self._import_name(value.base, value.name))
        return value.value

    def _import_name(self, base: str, name: str) -> Value:
        owner = self.find_module(base)
        if not isinstance(owner, Inside):
            return self.read_attribute(owner, name)
        if owner.module.state in {"done", "new"}:
            found = self.read_attribute(owner, name)
            if not isinstance(found, Unknown):
                return found
        return self.find_module(f"{base}.{name}") if self.modules.knows(f"{base}.{name}") else Unknown(f"{base}.{name}")

    def _import_all(self, base: str, scope: Scope) -> None:
        owner = self.find_module(base)
        if isinstance(owner, Inside):
            self.read_module(owner.module)
            scope.names.update({n: v for n, v in owner.module.scope.names.items() if not n.startswith("_")})
            scope.module.stars.extend(owner.module.stars)
        else:
            scope.module.stars.append(base)

    def _note_import(self, name: str, node: ast.AST) -> None:
        if self.frame.function is None or self.modules.path_of(name) is None:
            return
        module = self.modules.find(name)
        if module is not None:
            self.record(Imported(module=module, at=self.place(node), deferred=self.deferred, when=self.conditions()))

    def define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Value:
        function = Function(node, self.frame.module, scope, self._name(node.name))
        function.defaults = self.evaluate_defaults(node.args, scope)
        function.captured = scope.names if scope.parent is not None else None
        value: Value = function
        for decorator in reversed(node.decorator_list):
            if isinstance(decorator, ast.Name) and decorator.id in _KINDS:
                function.kind = decorator.id
                continue
            self.frame.line = decorator.lineno
            value = self._decorate(self.evaluate(decorator, scope), value, decorator)
        if isinstance(value, Function) and value is not function and value.decorates is None:
            value.decorates = function
        return value

    def _decorate(self, decorator: Value, value: Value, node: ast.expr) -> Value:
        """What a decorator makes of a function: ours is read, others are taken to keep it what it is."""
        result = self.call(decorator, [value], {}, node)
        match result:
            case Function() | Class() | Items():
                return result
            case Outside(path=path) if not path.startswith("builtins."):
                return result
        return value

    def evaluate_defaults(self, arguments: ast.arguments, scope: Scope) -> dict[str, Value]:
        positional = [*arguments.posonlyargs, *arguments.args]
        given = dict(zip((arg.arg for arg in reversed(positional)), reversed(arguments.defaults), strict=False))
        given |= {arg.arg: node for arg, node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if node}
        return {name: self.evaluate(node, scope) for name, node in given.items()}

    def _define_class(self, node: ast.ClassDef, scope: Scope) -> Value:
        bases = tuple(self.evaluate(base, scope) for base in node.bases)
        inner = Scope(self.frame.module, scope, is_class=True)
        made = Class(node, self.frame.module, inner, self._name(node.name), bases)
        scope.bind(node.name, made)
        outer, self.frame.within = self.frame.within, made.name
        self.run_block(node.body, inner)
        self.frame.within = outer
        value: Value = made
        for decorator in reversed(node.decorator_list):
            self.frame.line = decorator.lineno
            value = self._decorate(self.evaluate(decorator, scope), value, decorator)
        return value

    def _name(self, name: str) -> str:
        return f"{self.frame.within}.{name}" if self.frame.within else name


def _is_importable(names: list[str]) -> Test:
    return Test("importable", tuple(Literal(name) for name in names))
