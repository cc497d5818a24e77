"""Version gates that an upgrade retires: tests of ours that upstream's version decided at the old pin and decides the
other way for good at the new one. The branch that can no longer run goes.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.condition import Condition, ConditionKind
from layline.core.progress import Progress, silent
from layline.coupling.decide import RefKnowledge, decide, satisfies
from layline.coupling.releases import ReleaseReader
from layline.gap.dependencies import read_declarations
from layline.gap.dependencies.model import Declaration, Kind, canonical_name
from layline.interpreter.line_tests import find_chain
from layline.interpreter.modules import Module, Modules, read_texts
from layline.source import Tree
from layline.source.names import longest_root
from layline.upgrade.edits import render_patch
from layline.upgrade.judging import edit_to, judge_at
from layline.upgrade.settings import Settings
from layline.upgrade.ungated import drop_gates
from layline.upgrade.values import Mend, MendKind

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.upgrade.absolute import Judged
    from layline.upgrade.question import Question
    from layline.upgrade.workshop import Workshop

_JOINED = {ConditionKind.ALL, ConditionKind.ANY, ConditionKind.NOT}
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORD = "version"
"""In every way of asking for one (`interpreter.versions`)."""
_BINDS_SCOPE = (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
"""What changes its whole function even where it never runs."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One `if`, or one `a if test else b`, whose test is decided at the new pin."""

    path: str
    line: int
    column: int
    holds: bool
    """At the new pin; at the old one the contrary."""
    asked: str
    """The test, such as `keel < 2`."""
    name: str
    """The distribution or package whose version it asks for."""


def find_gates(modules: Modules, texts: Mapping[str, bytes], ground: RefKnowledge) -> Iterator[Gate]:
    """The gates of these files that the way from the pin to the tip retires."""
    if None in ground.versions or ground.versions[0] == ground.versions[1]:
        return
    reader = ReleaseReader(modules)
    askers = find_askers(modules, texts)
    spoken = re.compile("|".join(map(re.escape, askers)).encode(), re.IGNORECASE)
    for path in (path for path, data in texts.items() if spoken.search(data)):
        module = modules.find(modules.names_by_path.get(path, ""))
        for block, node in _find_tests(module.body, askers) if module is not None else ():
            condition = _read(reader, module, node) if module is not None else None
            if condition is not None and _can_go(block, node, ground, condition):
                leaf = next(part for part in condition.walk() if part.kind is ConditionKind.VERSION)
                name = leaf.text[: longest_root(leaf.text, ground.packages)] or leaf.text
                holds = decide(condition, ground, 1).holds is True
                yield Gate(path, node.lineno, node.col_offset, holds, ast.unparse(node.test), name)


def find_askers(modules: Modules, texts: Mapping[str, bytes]) -> frozenset[str]:
    """Names at the top of our files that stand for a test of a version, and the word that every one begins with."""
    found = {_WORD}
    for path in (path for path, data in texts.items() if _WORD.encode() in data.lower()):
        module = modules.find(modules.names_by_path.get(path, ""))
        for statement in module.body if module is not None else ():
            match statement:
                case ast.FunctionDef(name=name) if any(_answers(one, found) for one in _find_returned(statement)):
                    found.add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if _answers(value, found):
                    found.add(name)
    return frozenset(found)


def _find_returned(function: ast.AST) -> Iterator[ast.expr]:
    return (part.value for part in ast.walk(function) if isinstance(part, ast.Return) and part.value is not None)


def _answers(value: ast.expr, askers: Collection[str]) -> bool:
    """True if it can be a version or a test of one: not a call that is only given one."""
    match value:
        case ast.Call(func=func, args=args):
            made = (arg.func if isinstance(arg, ast.Call) else None for arg in args)
            return _speaks(func, askers) or any(one is not None and _speaks(one, askers) for one in made)
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.Name() | ast.Attribute():
            return _speaks(value, askers)
    return False


def _speaks(node: ast.AST, askers: Collection[str]) -> bool:
    """True if a name in it asks for a version, by itself or through a name of ours."""
    for part in ast.walk(node):
        match part:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
                if word in askers or _WORD in word.lower():
                    return True
    return False


def _find_tests(body: list[ast.stmt], askers: Collection[str]) -> Iterator[tuple[list[ast.stmt], ast.If | ast.IfExp]]:
    """Each test that may ask for a version, by its own words or by a name of its function, and the block around it."""
    for statement in body:
        if isinstance(statement, ast.If) and _speaks(statement.test, askers):
            yield body, statement
        names = {*askers, *_find_local(statement, askers)} if isinstance(statement, _FUNCTIONS) else askers
        blocks = list(_find_blocks(statement))
        for block in blocks:
            yield from _find_tests(block, names)
        if not blocks:
            for part in ast.walk(statement):
                if isinstance(part, ast.IfExp) and _speaks(part.test, askers):
                    yield [], part


def _find_local(function: ast.AST, askers: Collection[str]) -> Iterator[str]:
    for part in ast.walk(function):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _answers(value, askers):
                yield name
            case ast.ImportFrom(names=names):
                yield from (one.asname for one in names if one.asname and _speaks(one, askers))


def _find_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield from [block] if (block := getattr(statement, name, None)) else []
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _read(reader: ReleaseReader, module: Module, node: ast.If | ast.IfExp) -> Condition | None:
    """What the test asks, where it asks for nothing but versions."""
    chain: list[ast.AST] = list(find_chain(module.body, node.lineno))
    found = reader.read_test(node.test, reader.open_scope(module, chain, node.lineno))
    leaves = [part.kind for part in found.walk() if part.kind not in _JOINED]
    only = bool(leaves) and all(kind is ConditionKind.VERSION for kind in leaves)
    return found if only and not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)) else None


def _can_go(block: list[ast.stmt], node: ast.If | ast.IfExp, ground: RefKnowledge, condition: Condition) -> bool:
    then, now = decide(condition, ground, 0).holds, decide(condition, ground, 1).holds
    if now is None or then is not (not now):
        return False  # undecided, or so at the old pin already: that is not what this upgrade retires
    if isinstance(node, ast.IfExp):
        return True
    kept, dead = (node.body, node.orelse) if now else (node.orelse, node.body)
    if any(isinstance(part, _BINDS_SCOPE) for one in dead for part in ast.walk(one)):
        return False
    return not (kept and isinstance(kept[-1], _LEAVES) and block[-1] is not node)


def allows(items: Iterable[Declaration], names: Collection[str], version: str, backend: Backend) -> bool:
    """True if a requirement of ours takes a version, or no file of ours pins one; a requirement that is the pin moves."""
    pin = backend.pin.file if backend.pin is not None else None
    if backend.pin is not None and pin is None:
        return True
    known = {canonical_name(name) for name in names}
    mine = (one for one in items if one.kind is Kind.REQUIREMENT and one.name in known and one.place.path != pin)
    return any(not one.spec or satisfies(version, one.spec) is not False for one in mine)


def is_retired(path: str, before: Collection[Judged], after: Collection[Judged]) -> bool:
    """True if the edited file, judged again, has no place more, and nothing that fitted before does not now."""
    known = {one.key for one in before}
    bad = {one.key for one in before if not one.fits}
    return all(one.key in (known if one.fits else bad) for one in after if one.location.path == path or not one.fits)


def retire_gates(
    question: Question, workshop: Workshop, texts: Mapping[str, str], progress: Progress = silent
) -> Settings:
    """The gates of ours that the upgrade decides for good, out of the files as its other edits leave them."""
    found = Settings()
    ground = question.between.opened.sides.ground
    if ground is None or None in ground.versions or ground.versions[0] == ground.versions[1]:
        return found
    edited = edit_to(question.workspace, texts)
    tree = Tree(edited.downstream, edited.commit)
    by_path: dict[str, list[Gate]] = defaultdict(list)
    needs = read_declarations(tree).items
    backend, roots = question.workspace.settings.backend(question.key), question.workspace.settings.project.source_roots
    names = {question.key, question.upstream.name}
    for gate in find_gates(Modules(tree, roots), dict(read_texts(tree)), ground):
        if not allows(needs, {*names, gate.name}, ground.versions[0] or "", backend):
            by_path[gate.path].append(gate)
    read = ((path, gates, texts.get(path) or workshop.read(path)) for path, gates in by_path.items())
    made = {
        path: (text, new, gates)
        for path, gates, text in read
        if text is not None and (new := drop_gates(text, {(one.line, one.column): one.holds for one in gates}))
    }
    before = judge_at(edited, question.key, question.to, progress) if made else question.then
    while made:
        again = edit_to(question.workspace, {**texts, **{path: one[1] for path, one in made.items()}})
        edited_tree = Tree(again.downstream, again.commit)
        left = {one.path for one in find_gates(Modules(edited_tree, roots), dict(read_texts(edited_tree)), ground)}
        after = judge_at(again, question.key, question.to, progress)
        wrong = [path for path in made if path in left or not is_retired(path, before.places, after.places)]
        if not wrong:
            break
        made = {path: one for path, one in made.items() if path not in wrong}
    for path, (text, edit, gates) in made.items():
        found.texts[path] = edit
        found.mends += _tell(gates, render_patch(path, text, edit))
    return found


def _tell(gates: list[Gate], diff: str) -> Iterator[Mend]:
    """One mend for each gate; the first shows the edit of the whole file."""
    for number, gate in enumerate(gates):
        yield Mend(
            file=gate.path,
            lines=(gate.line, gate.line),
            kind=MendKind.GATE_RETIRED,
            mechanical=True,
            diff="" if number else diff,
            why=f"`{gate.asked}` is {'always' if gate.holds else 'never'} true from there on; "
            "the branch that cannot run is removed",
            target=gate.name,
        )
