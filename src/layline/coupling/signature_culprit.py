"""Which commit did what to a signature, and since when upstream's calls pass what our replacement refuses."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache

from layline.change.binding import Problem, check_replacement
from layline.change.file_trace import FileTracer, Version
from layline.change.signatures import SignatureChange, compare_signatures, returns_another, split_change
from layline.change.trace import Tracer
from layline.core.drift import DriftKind
from layline.core.why import PROBLEMS, Reason, Why
from layline.coupling.body_culprit import find_tracer
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.row_parts import Passed
from layline.source import Definition, DefinitionKind, Symbol
from layline.source.loads import called_name
from layline.source.parsing import parse_tree
from layline.source.resolve import Resolver
from layline.source.seen import Asked
from layline.source.slices import find_statements
from layline.source.walking import walk


def find_signature_change(row: Drift, sides: Sides) -> str | None:
    """The first commit that made one of the changes that are told; where upstream's calls decide, the one since which
    they pass what ours refuses, too.
    """
    symbol = find_called(row, sides)
    place = find_tracer(symbol.module, sides) if symbol is not None else None
    if place is None or symbol is None or symbol.definition is None:
        return None
    (tracer, path), pin = place, symbol.definition

    def differs(version: Version) -> bool:
        now = version.read_signature(pin.qualname)
        return now is None or bool(compare_signatures(pin, now)) or returns_another(pin.returns, now.returns)

    # what no commit did by itself: since when the two differ
    changed = next(filter(None, _date_changes(row, sides)), None) or tracer.find_first_version(path, differs)
    return _later(tracer, changed, _find_passing(tracer, row.passed)) if row.passed is not None else changed


def date_misfits(said: Why, row: Drift, sides: Sides) -> list[tuple[Why, str]]:
    """Of what a replacement of ours does not take of a changed signature, which commit brought it, and upstream's calls
    that pass it, the earliest first; empty where that is not known of each part.
    """
    symbol, there = find_called(row, sides), row.comparison.after if row.comparison is not None else None
    place = find_tracer(symbol.module, sides) if symbol is not None else None
    mine = _find_taking(row, sides) if said.reason in PROBLEMS and row.kind is DriftKind.SIGNATURE_CHANGED else None
    now = _find_made(there, sides.tip) if there is not None else None
    if mine is None or place is None or symbol is None or symbol.definition is None or now is None:
        return []
    (tracer, path), qualname = place, symbol.definition.qualname
    arguments = {one.why: one.argument for one in _check(mine, now.definition)}
    before = {(one.why.reason, one.argument) for one in _check(mine, symbol.definition)}
    called, paths = qualname.removesuffix(".__init__").rpartition(".")[2], tuple({one.path for one in said.places})

    @cache
    def read_problems(version: Version) -> frozenset[tuple[Reason, str]] | None:
        found = version.read_signature(qualname)
        return frozenset((one.why.reason, one.argument) for one in _check(mine, found)) if found is not None else None

    def find_since(part: Why) -> str | None:
        argument = arguments.get(part)
        if argument is None:
            return None

        def refuses(version: Version) -> bool:
            found = read_problems(version)
            return found is None or (part.reason, argument) in found

        since = None if (part.reason, argument) in before else tracer.find_first_version(path, refuses)
        if said.reason is not Reason.MISFITS_PASSED:
            return since
        passed = Passed(name=called, arguments=(argument,), paths=tuple(sorted(paths)))
        return _later(tracer, since, _find_passing(tracer, passed))

    made: dict[str, list[Why]] = {}
    for part in said.parts:
        made.setdefault(find_since(part) or "", []).append(part)
    order = find_order(tracer)
    first = sorted(made, key=lambda one: order.get(one, len(order)))
    return [(replace(said, parts=tuple(made[commit])), commit) for commit in first] if "" not in made else []


def _find_taking(row: Drift, sides: Sides) -> Definition | None:
    """The function of ours that takes what is passed to the target; of a class its constructor."""
    ours = sides.replacements.read(row.effect.replacement_at) if row.effect is not None else None
    if ours is None or ours.definition.kind is DefinitionKind.FUNCTION:
        return ours.definition if ours is not None else None
    return ours.constructor()


def _check(ours: Definition, theirs: Definition | None) -> tuple[Problem, ...]:
    taken = theirs.parameters if theirs is not None else None
    return tuple(check_replacement(ours.parameters or (), taken)) if taken is not None else ()


def split_changes(said: Why, first: str, row: Drift, sides: Sides) -> Iterator[tuple[Why, str]]:
    """Of several changes of a signature which commit made which, the earliest first; `first` is who made the row so."""
    made = _date_changes(row, sides)
    undated = made.pop("", ())
    if not made or (row.passed is not None and first not in made):
        # who passes what ours refuses came later: that is what broke it
        yield said, first
        return
    for number, (commit, names) in enumerate(made.items()):
        yield replace(said, names=(*names, *(undated if number == 0 else ()))), commit


def _date_changes(row: Drift, sides: Sides) -> dict[str, tuple[str, ...]]:
    """Commits, the earliest first, with what each did to the signature that is so at the tip; under the empty name what
    no commit of the line did.
    """
    symbol, there = find_called(row, sides), row.comparison.after if row.comparison is not None else None
    place = find_tracer(symbol.module, sides) if symbol is not None else None
    now = _find_made(there, sides.tip) if there is not None else None
    if place is None or symbol is None or symbol.definition is None or row.comparison is None or now is None:
        return {}
    (tracer, path), pin = place, symbol.definition
    tip = now.definition or pin

    @cache
    def read_changes(version: Version) -> frozenset[str] | None:
        found = version.read_signature(pin.qualname)
        return frozenset(_tell_each(pin, found)) if found is not None else None

    def find_since(part: SignatureChange) -> str | None:
        def has(version: Version) -> bool:
            changes = read_changes(version)
            return changes is None or str(part) in changes

        return tracer.find_first_version(path, has)

    order = find_order(tracer)
    made: dict[str, list[str]] = {}
    for change in row.comparison.changes:
        parts = split_change(change, pin, tip)
        since = [find_since(part) for part in parts]
        whole = len(set(since)) == 1
        for part, commit in [(change, since[0])] if whole else zip(parts, since, strict=True):
            made.setdefault(commit or "", []).append(str(part))
    return {commit: tuple(made[commit]) for commit in sorted(made, key=lambda one: order.get(one, len(order)))}


def _tell_each(before: Definition, after: Definition) -> Iterator[str]:
    for change in compare_signatures(before, after):
        yield from map(str, split_change(change, before, after))


def find_called(row: Drift, sides: Sides) -> Symbol | None:
    """What the target is at the pin; of a class what makes its objects, where that is written."""
    before = row.comparison.before if row.comparison is not None else None
    return _find_made(before, sides.pin) if before is not None else None


def _find_made(symbol: Symbol, side: Resolver) -> Symbol | None:
    if symbol.definition is None or symbol.home is None or symbol.definition.kind is not DefinitionKind.CLASS:
        return symbol if symbol.definition is not None and symbol.home is not None else None
    made = side.resolve(f"{symbol.home}.__init__")
    return symbol if made.is_implicit or made.definition is None else made


def _find_passing(tracer: Tracer, passed: Passed) -> str | None:
    """Since when upstream's calls pass what our replacement refuses."""
    found = [
        tracer.find_first_version(path, lambda version: _ask_passing(tracer, version.blob, passed))
        for path in passed.paths
    ]
    for path in passed.paths:
        if changes := tracer.timeline.by_path.get(path):
            tracer.note("")
            told = [path, changes[-1][1].after, passed.name, *passed.arguments]
            tracer.seen.add(Asked.PASSING, json.dumps(told))
    order = find_order(tracer)
    known = [commit for commit in found if commit is not None]
    return min(known, key=lambda commit: order[commit]) if known else None


def _ask_passing(tracer: FileTracer, blob: str | None, passed: Passed) -> bool:
    question = f"passes {passed.name} {' '.join(passed.arguments)}"
    return tracer.ask(blob, question, lambda text: passes_any(text, passed))


def keeps_passing(tracer: FileTracer, told: str) -> bool:
    """Whether all versions of a file since the one that was the last pass an argument, or none does."""
    path, last, name, *arguments = json.loads(told)
    passed = Passed(name=name, arguments=tuple(arguments), paths=(path,))
    blobs = [blob for _, one in tracer.timeline.by_path.get(path, ()) for blob in (one.before, one.after)]
    since = blobs[blobs.index(last) :] if last in blobs else ()
    return len({_ask_passing(tracer, blob, passed) for blob in since}) == 1


def passes_any(text: str, passed: Passed) -> bool:
    """Whether a version of a file calls the name with one of the arguments; only statements that speak of both are
    parsed, and once for all versions that have them.
    """
    if passed.name not in text or not any(name in text for name in passed.arguments):
        return False
    answers = {
        _passes(statement, passed.name, passed.arguments)
        for statement in find_statements(text, passed.name)
        if any(name in statement for name in passed.arguments)
    }
    if True in answers or None not in answers:
        return True in answers
    return _passes(text, passed.name, passed.arguments) or False  # cut at a wrong place


@lru_cache(maxsize=4096)
def _passes(text: str, called: str, arguments: tuple[str, ...]) -> bool | None:
    """None if the text is no Python."""
    tree = parse_tree("", text.encode("utf-8", "surrogatepass"))
    if not isinstance(tree, ast.Module):
        return None
    return any(
        isinstance(node, ast.Call)
        and any(one.arg in arguments for one in node.keywords)
        and called_name(node) == called
        for node in walk(tree)
    )


def _later(tracer: Tracer, one: str | None, two: str | None) -> str | None:
    """The commit after which both hold."""
    if one is None or two is None:
        return one or two
    order = find_order(tracer)
    return max(one, two, key=lambda commit: order[commit])


def find_order(tracer: Tracer) -> dict[str, int]:
    """Commits between pin and tip by the order in which they came."""
    return {step.commit: number for number, step in enumerate(tracer.timeline.steps)}
