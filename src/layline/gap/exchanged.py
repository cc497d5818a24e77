"""What took the place of a lost name, by upstream's own hand: what the commit that removed it put where it was named,
what its message says, and where the lost code stands.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from layline.change.similarity import SMALL, read_shingles, share_kept
from layline.core.ours import is_test
from layline.source import DefinitionKind, Module, parse_module, parse_tree
from layline.source.fingerprint import dotted_text
from layline.source.names import absolute_name, is_package, module_name, parents
from layline.source.slices import read_node, slice_definition
from layline.source.walking import find_children, walk

if TYPE_CHECKING:
    from layline.change.compare import Comparer, Comparison
    from layline.change.similarity import Shingles
    from layline.change.trace import Tracer
    from layline.history.timeline import BlobChange, TimelineCommit

Slot: TypeAlias = "tuple[str, ...]"
"""Where code names something: a parameter's annotation, a base, what a variable is made by."""
_BY = r"[`'\"\s]+(?:(?:is|was|are|has been)\s+)?(?:(?:replaced|superseded|renamed)\s+)?(?:by|with|to|->|=>|→)[`'\"\s]+"
_NAME = r"([A-Za-z_]\w*(?:\.\w+)*)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The commit that removed a name, and the name as it was called just before."""

    tracer: Tracer
    step: TimelineCommit
    path: str
    word: str
    roots: tuple[str, ...]
    body: Shingles | None

    @property
    def home(self) -> str:
        return module_name(self.path, self.roots) or ""

    def recall(self, kind: str, count: Callable[[], tuple[Counter[str], int]]) -> tuple[Counter[str], int]:
        """What the users of the name in that commit say, and how many there are: the commit stays as it is."""
        told = [[one.path, one.before, one.after] for one in self.step.changes]
        memos = self.tracer.memos

        def make() -> dict[str, object]:
            votes, number = count()
            return {"votes": [*votes.items()], "number": number}

        found = memos.find(f"{kind} {self.word}", memos.key(kind, told, self.word, self.roots), make)
        return Counter(dict(found["votes"])), found["number"]

    def find_users(self) -> Iterator[tuple[BlobChange, str, str]]:
        """Files of the commit, tests apart, that held the word: their text before and after."""
        for change in self.step.changes:
            if change.before is not None and change.after is not None and not is_test(change.path):
                before = self.tracer.read_text(change.before)
                if self.word in before:
                    yield change, before, self.tracer.read_text(change.after)


def find_loss(comparer: Comparer, found: Comparison) -> Loss | None:
    """Of a name that a module defined itself; members are lost with their class."""
    symbol = found.before
    tracer = comparer.tracer(symbol.module) if symbol.module is not None else None
    if tracer is None or symbol.module is None or symbol.definition is None or "." in symbol.definition.qualname:
        return None
    entry = comparer.pin.index.entries[symbol.module]
    trail = tracer.follow(entry.path, symbol.definition.qualname)
    step = next((one for one in tracer.timeline.steps if one.commit == trail.lost_in), None)
    if step is None:
        return None
    path, word = entry.path, symbol.definition.qualname
    if trail.hops:
        path, word = trail.hops[-1].arrival.path, trail.hops[-1].arrival.qualname
    roots = comparer.pin.index.parts[entry.part].source_roots
    return Loss(tracer=tracer, step=step, path=path, word=word, roots=roots, body=trail.last)


def find_imported(text: str, path: str, roots: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Names that a file takes from modules: as it calls them, and dotted."""
    found = parse_module("", text.encode("utf-8", "surrogatepass"))
    module, package = module_name(path, roots) or "", is_package(path)
    for one in found.imports if isinstance(found, Module) else ():
        source = absolute_name(module, package=package, level=one.level, name=one.module)
        if source is not None and one.name is not None and one.name != "*":
            yield one.alias, f"{source}.{one.name}"


def find_named(comparer: Comparer, loss: Loss) -> tuple[str, int, int] | None:
    """The class inside another that stands in most slots where the lost name stood, with their number and of how many;
    None where none took a quarter of them, and two. What imports name is counted by them.
    """
    votes, slots = loss.recall("slots", lambda: _count_slots(loss))
    for name, number in votes.most_common(1):
        found = comparer.tip.resolve(name).definition
        is_nested = found is not None and "." in found.qualname
        if number > 1 and 4 * number >= slots and is_nested and _is_new_class(comparer, name):
            return name, number, slots
    return None


def _count_slots(loss: Loss) -> tuple[Counter[str], int]:
    """What stands where the lost name stood, and in how many slots that was."""
    votes: Counter[str] = Counter()
    slots = 0
    for change, before, after in loss.find_users():
        now, imported = find_slots(after), dict(find_imported(after, change.path, loss.roots))
        held = [slot for slot, name in find_slots(before).items() if name.rpartition(".")[2] == loss.word]
        slots += len(held)
        for head, dot, rest in (now[slot].partition(".") for slot in held if slot in now):
            home = imported.get(head) or f"{module_name(change.path, loss.roots)}.{head}"
            votes[f"{home}{dot}{rest}"] += 1
    return votes, slots


def _is_new_class(comparer: Comparer, name: str) -> bool:
    found = comparer.tip.resolve(name).definition
    return found is not None and found.kind is DefinitionKind.CLASS and not comparer.pin.resolve(name).exists


def find_slots(text: str) -> dict[Slot, str]:
    """The dotted name in every slot of a file."""
    tree = parse_tree("", text.encode("utf-8", "surrogatepass"))
    return dict(_walk(tree, "")) if isinstance(tree, ast.Module) else {}


def _walk(node: ast.AST, scope: str) -> Iterator[tuple[Slot, str]]:
    for child in find_children(node):
        inside = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{scope}.{child.name}"
        for slot, value in _find_slots(child):
            name = _name(value)
            if name:
                yield (inside, *slot), name
        yield from _walk(child, inside)


def _find_slots(node: ast.AST) -> Iterator[tuple[Slot, ast.expr | None]]:
    match node:
        case ast.FunctionDef(args=takes, returns=returns) | ast.AsyncFunctionDef(args=takes, returns=returns):
            yield ("returns",), returns
            for number, one in enumerate((*takes.posonlyargs, *takes.args, *takes.kwonlyargs)):
                yield ("takes", str(number)), one.annotation
        case ast.ClassDef(bases=bases):
            yield from ((("base", str(number)), base) for number, base in enumerate(bases))
        case ast.AnnAssign(target=target, annotation=annotation):
            yield ("holds", ast.unparse(target)), annotation
        case ast.Assign(targets=[target, *_], value=ast.Call(func=function)):
            yield ("made", ast.unparse(target)), function
        case ast.Return(value=ast.Call(func=function)):
            yield ("made",), function
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None and isinstance(value, ast.Call):
                    yield ("made", ast.unparse(key)), value.func


def _name(node: ast.expr | None) -> str:
    """The dotted name of an expression, or of what an annotation holds; empty where it is none."""
    match node:
        case ast.Name() | ast.Attribute():
            return dotted_text(node) or ""
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _name(left)
        case ast.Subscript(slice=ast.Name() | ast.Attribute() as inner):
            return _name(inner)
    return ""


def find_told(comparer: Comparer, loss: Loss, message: str) -> str:
    """The new class that the message of the commit names in place of the lost one (`X replaces Y`, `Y is replaced by
    X`), where one changed file alone defines it; else empty.
    """
    word = re.escape(loss.word)
    after = re.findall(rf"(?<![\w.]){word}{_BY}{_NAME}", message)
    before = re.findall(rf"(?<![\w.]){_NAME}[`'\"\s]+(?i:replaces|supersedes)[`'\"\s]+{word}(?![\w.])", message)
    for told in dict.fromkeys([*before, *after]):
        homes = {
            module_name(change.path, loss.roots)
            for change in loss.step.changes
            if change.after is not None
            and not is_test(change.path)
            and slice_definition(loss.tracer.read_text(change.after), told) is not None
        }
        names = [f"{home}.{told}" for home in homes if home and _is_new_class(comparer, f"{home}.{told}")]
        if len(names) == 1:
            return names[0]
    return ""


def find_inside(comparer: Comparer, loss: Loss) -> str:
    """The function of the same file that called the lost one and took its code, or its class where the tip has only
    that; empty where there is none.
    """
    change = next((one for one in loss.step.changes if one.path == loss.path), None)
    if loss.body is None or loss.body.total() < SMALL or change is None or change.after is None:
        return ""
    before, after = (loss.tracer.read_text(blob) for blob in (change.before, change.after))
    found = parse_module("", after.encode("utf-8", "surrogatepass"))
    for one in found.definitions if isinstance(found, Module) else ():
        then, now = read_node(before, one.qualname), read_node(after, one.qualname)
        if one.kind is not DefinitionKind.FUNCTION or then is None or now is None:
            continue
        calls = any(isinstance(part, ast.Name) and part.id == loss.word for part in walk(then))
        if calls and share_kept(loss.body, read_shingles(now)) >= 0.6:
            names = (f"{loss.home}.{name}" for name in (one.qualname, *parents(one.qualname)))
            return next((name for name in names if comparer.tip.resolve(name).exists), "")
    return ""
