"""Where did it go? Finds the new home of a definition that is no longer where it was.

The object that moved must be *new* where it arrives: a namesake that stood there at the pin already is another object
(unless the two were copies of one another). Names alone prove nothing; bodies, signatures and members decide.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice
from typing import Any

from layline.change.similarity import SMALL, Shingles, compare_names, compare_shingles, read_shingles, share_kept
from layline.core.finding import Suggestion
from layline.core.ours import is_test_module
from layline.source.definitions import (
    ROW_FINGERPRINT,
    ROW_KIND,
    ROW_QUALNAME,
    Definition,
    DefinitionKind,
    Module,
    ParameterKind,
    definition_of,
)
from layline.source.index import Index
from layline.source.places import Places, find_places

MOVE = 0.6
"""Scores from here on are a move or a rename; lower ones are only worth a look."""
NEAR = 0.4
"""From here on a lower one is named as what may take its place."""
_WORTH_SHOWING = 0.35
_CLOSER_LOOK = 40
_SPELLED_ALIKE = 0.75
_GROWN = 0.3
"""So alike at least are a definition and what it grew into under another name."""
_SAME_TABLE = 0.7
"""A dictionary that shares so many of its keys is the same one under another name."""
_KINDS = tuple(DefinitionKind)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class _Candidate:
    module: str
    row: list[Any] = field(repr=False)

    @property
    def qualname(self) -> str:
        return str(self.row[ROW_QUALNAME])

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.qualname}"


class Homes:
    """Answers for one pair of indexes; what it reads of the tip it reads once."""

    def __init__(self, pin: Index, tip: Index) -> None:
        self.pin = pin
        self.tip = tip
        self._shingles: dict[tuple[bool, str, str, int], Shingles] = {}
        self._new: dict[DefinitionKind, list[tuple[_Candidate, frozenset[str]]]] = {}

    def find(self, module: str, definition: Definition, *, last: Shingles | None = None) -> list[Suggestion]:
        """The likely new homes of a module-level definition of the pin, best first.

        `last` is its body as it was when it was removed, where history tells: closer to where it went than the pin's.
        """
        if last is not None:
            self._shingles[True, module, definition.qualname, definition.line] = last
        found = [self._judge(module, definition, item) for item in self._candidates(module, definition)]
        kept = [item for item in found if item is not None and _is_worth_showing(item, definition)]
        kept = self._single_out(module, definition, kept) or list(self._find_alike(module, definition))
        return sorted(kept, key=lambda item: (-item.score, -_near(module, item.target), item.target))[:5]

    def _single_out(self, module: str, definition: Definition, found: list[Suggestion]) -> list[Suggestion]:
        """Short texts (`_GROUP = None`) are alike by chance: where several new names have this one, or several that are
        gone had it, nothing says which became which.
        """
        others = {item.target for item in found if item.target.rpartition(".")[2] != definition.name}
        if not others or self._read(self.pin, module, definition).total() >= SMALL:
            return found
        here, there = self.pin.module(module), self.tip.module(module)
        gone = [
            row[ROW_QUALNAME]
            for row in (here.rows if here is not None else ())
            if row[ROW_FINGERPRINT] == definition.fingerprint and (there is None or not there.has(row[ROW_QUALNAME]))
        ]
        peers = [name for name in gone if name.rpartition(".")[0] == definition.qualname.rpartition(".")[0]]
        is_clear = len(others) == 1 and len(peers) <= 1
        return found if is_clear else [item for item in found if item.target not in others]

    def _find_alike(self, module: str, definition: Definition) -> Iterator[Suggestion]:
        """Where nothing else is found: a new table of the same module with the same keys; names spelled nearly like it,
        or in the same package made of the same words, never a move.
        """
        keys = self._read_keys(self.pin, module, definition)
        package = module.rpartition(".")[0]
        for item, _ in self._new_definitions(definition.kind):
            if needs_more(definition, definition_of(item.row)):
                continue  # what needs an argument that our callers do not have takes no place of theirs
            if item.module != module:
                if item.module.rpartition(".")[0] == package and share_words(item.qualname, definition.name):
                    reason = "a name made of the same words, new in the same package since the pin; its body differs"
                    yield Suggestion(item.dotted, NEAR, reason)
                continue
            shared = compare_names(keys, self._read_keys(self.tip, module, definition_of(item.row))) if keys else 0.0
            if shared >= _SAME_TABLE:
                yield Suggestion(
                    item.dotted,
                    round(0.5 + 0.4 * shared, 2),
                    f"a table of the same module, new since the pin, with {shared:.0%} of the same keys",
                )
                continue
            ratio = SequenceMatcher(None, item.qualname, definition.name).ratio()
            if ratio >= _SPELLED_ALIKE:
                reason = "a name like it, new in the same module since the pin; its body differs"
                yield Suggestion(item.dotted, round(ratio / 2, 2), reason)

    @staticmethod
    def _read_keys(index: Index, module: str, definition: Definition) -> frozenset[str]:
        """The literal keys of an assigned dictionary, where there are at least two."""
        node = index.read_node(module, definition) if definition.kind is DefinitionKind.ASSIGNMENT else None
        table = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if not isinstance(table, ast.Dict):
            return frozenset()
        keys = {str(key.value) for key in table.keys if isinstance(key, ast.Constant)}
        return frozenset(keys) if len(keys) > 1 else frozenset()

    def find_members(self, module: str, definition: Definition, owner: str) -> list[Suggestion]:
        """Members of the class `owner` (dotted, at the tip) that may be what `definition` was renamed to."""
        holder = max((name for name in self.tip.entries if owner.startswith(name + ".")), key=len, default=None)
        tip_module = self.tip.module(holder) if holder else None
        if holder is None or tip_module is None:
            return []
        prefix = owner[len(holder) + 1 :] + "."
        rows = [row for row in tip_module.rows if row[0].startswith(prefix) and "." not in row[0][len(prefix) :]]
        found = [self._judge(module, definition, _Candidate(holder, row)) for row in rows]
        kept = [item for item in found if item is not None and _is_worth_showing(item, definition)]
        asks = {row[ROW_QUALNAME]: needs_more(definition, definition_of(row)) for row in rows}
        clear = self._single_out(module, definition, kept)
        told = [self._doubt(item) if asks[item.target[len(holder) + 1 :]] else item for item in clear]
        return sorted(told, key=lambda item: (-item.score, item.target))[:5]

    @staticmethod
    def _doubt(item: Suggestion) -> Suggestion:
        """What needs an argument that our callers do not have is not what they should call instead."""
        return replace(item, score=min(item.score, MOVE - 0.1), reason=f"{item.reason}; but it needs more arguments")

    def find_module(self, module: str) -> Suggestion | None:
        """Where most of a module's definitions went, if most went one way."""
        source = self.pin.module(module)
        if source is None:
            return None
        votes: Counter[str] = Counter()
        rows = [row for row in source.rows if _KINDS[row[ROW_KIND]] in {DefinitionKind.FUNCTION, DefinitionKind.CLASS}]
        for row in rows:
            holders = set(self._places.by_print.get(row[ROW_FINGERPRINT], ()))
            holders |= {item.module for item in self._find_named(row[0]) if self._is_new(item)}
            votes.update(holder for holder in holders if holder != module)
        if not votes:
            return None
        best = max(votes, key=lambda name: (votes[name], compare_names(name.split("."), module.split(".")), name))
        share = votes[best] / len(rows)
        return (
            Suggestion(best, round(share, 2), f"{votes[best]} of {len(rows)} definitions are there")
            if share >= 0.6
            else None
        )

    def similarity(self, module: str, definition: Definition, dotted: str, other: Definition) -> float:
        """How alike a definition of the pin and one of the tip (in module `dotted`) are, by their trees."""
        if definition.fingerprint == other.fingerprint:
            return 1.0
        one, two = self._read(self.pin, module, definition), self._read(self.tip, dotted, other)
        return compare_shingles(one, two)

    def _candidates(self, module: str, definition: Definition) -> Iterator[_Candidate]:
        """By name and by fingerprint, then the new definitions whose signature or members are most alike."""
        seen: set[str] = {f"{module}.{definition.qualname}"}
        same_print = self._find_printed(definition.fingerprint) if definition.fingerprint else ()
        for item in (*self._find_named(definition.name), *islice(same_print, _CLOSER_LOOK)):
            if item.dotted not in seen and self._is_comparable(module, definition, item):
                seen.add(item.dotted)
                yield item
        traits = self._traits(self.pin, module, definition)
        ranked = [
            (compare_names(traits, theirs), item)
            for item, theirs in self._new_definitions(definition.kind)
            if item.dotted not in seen and self._is_comparable(module, definition, item)
        ]
        close = [pair for pair in ranked if (pair[0] >= 0.5 and len(traits) >= 2) or pair[1].module == module]
        close.sort(key=lambda pair: (-pair[0], pair[1].dotted))
        yield from (item for _, item in close[:_CLOSER_LOOK])

    def _is_comparable(self, module: str, definition: Definition, item: _Candidate) -> bool:
        same_kind = _KINDS[item.row[ROW_KIND]] is definition.kind
        same_level = ("." in item.qualname) == bool(definition.owner)
        return same_kind and same_level and (is_test_module(module) or not is_test_module(item.module))

    def _judge(self, module: str, definition: Definition, item: _Candidate) -> Suggestion | None:
        other = definition_of(item.row)
        if other.kind is not definition.kind:
            return None
        one, two = self._read(self.pin, module, definition), self._read(self.tip, item.module, other)
        body, kept = compare_shingles(one, two), share_kept(one, two)
        same_name = other.name == definition.name
        # a short text is no evidence against another short one; beside a long body its name alone says nothing
        is_small = min(one.total(), two.total()) < SMALL and max(one.total(), two.total()) < 4 * SMALL
        if not self._is_new(item):
            return self._merged(item, body) if not is_small and same_name else None
        if is_small and same_name and self._is_common(module, definition, item) and not self._came_along(module, item):
            return None
        traits = compare_names(self._traits(self.pin, module, definition), self._traits(self.tip, item.module, other))
        near = compare_names(module.split("."), item.module.split("."))
        score = (
            _score_small(same_name, body, traits, near)
            if is_small
            else _score(same_name, _alike(same_name, body, kept), traits, near)
        )
        reason = _reason(same_name, body, traits)
        rival = self._rival(f"{module}.{definition.qualname}", item, two, body) if score >= MOVE else None
        if rival is not None:
            return Suggestion(item.dotted, min(score, MOVE - 0.1), f"{reason}; but {rival} is closer to it")
        if score >= MOVE and not same_name and self._has_as_alike(module, definition, _alike(same_name, body, kept)):
            return None
        return Suggestion(item.dotted, score, reason)

    def _is_common(self, module: str, definition: Definition, item: _Candidate) -> bool:
        """Whether a third module has written the same short thing under the same name all along (a logger, an empty
        registry): that one more does proves no move.
        """
        texts = {definition.fingerprint, item.row[ROW_FINGERPRINT]} - {""}
        others = self._before.get(definition.qualname, ()) if not definition.owner else ()
        return any(other.module != module and other.row[ROW_FINGERPRINT] in texts for other in others)

    def _came_along(self, module: str, item: _Candidate) -> bool:
        """Whether something else that is gone from the module is new, as it was, beside the candidate."""
        here, there = self.pin.module(module), self.tip.module(module)
        beside = self.tip.module(item.module)
        for row in here.rows if here is not None else ():
            name = str(row[ROW_QUALNAME])
            if name == item.qualname or "." in name or (there is not None and there.has(name)):
                continue
            if beside is None or not beside.has(name) or not self._is_new(_Candidate(item.module, row)):
                continue
            if len(self._before.get(name, ())) <= 1:
                return True
        return False

    @cached_property
    def _before(self) -> dict[str, list[_Candidate]]:
        """What stood at module level at the pin, by name."""
        found: dict[str, list[_Candidate]] = defaultdict(list)
        for entry, module in self.pin.modules():
            for row in module.rows:
                if "." not in row[ROW_QUALNAME]:
                    found[row[ROW_QUALNAME]].append(_Candidate(entry.name, row))
        return found

    def _has_as_alike(self, module: str, definition: Definition, alike: float) -> bool:
        """Whether a definition that stood in the same package at the pin, and is still there, is as much like ours as
        what came under another name: near copies prove no move.
        """
        package, one = module.rpartition(".")[0], self._read(self.pin, module, definition)
        traits = self._traits(self.pin, module, definition)
        beside = sorted(name for name in self.pin.entries if name.rpartition(".")[0] == package)
        for name in beside if alike < 1.0 else ():
            holder, there = self.pin.module(name), self.tip.module(name)
            if holder is None or there is None:
                continue
            for row in holder.rows:
                item = _Candidate(name, row)
                if item.dotted == f"{module}.{definition.qualname}" or not there.has(item.qualname):
                    continue
                other = definition_of(row) if self._is_comparable(module, definition, item) else None
                if other is None or compare_names(traits, self._traits(self.pin, name, other)) < 0.5:
                    continue
                two = self._read(self.pin, name, other)
                if _alike(False, compare_shingles(one, two), share_kept(one, two)) >= alike:
                    return True
        return False

    def _rival(self, name: str, item: _Candidate, shingles: Shingles, body: float) -> str | None:
        """Another definition of the pin, gone too, that is more like the candidate than ours."""
        for other in self._gone.get(item.qualname.rpartition(".")[2], ()):
            if other.dotted == name or _KINDS[other.row[ROW_KIND]] is not _KINDS[item.row[ROW_KIND]]:
                continue
            theirs = compare_shingles(self._read(self.pin, other.module, definition_of(other.row)), shingles)
            if theirs > body + 0.02:
                return other.dotted
        return None

    @cached_property
    def _gone(self) -> dict[str, list[_Candidate]]:
        """Definitions of the pin that are not where they were, by name."""
        found: dict[str, list[_Candidate]] = defaultdict(list)
        for name, module in _find_other(self.pin, self.tip):
            there = self.tip.module(name)
            for row in module.rows:
                if there is None or not there.has(row[ROW_QUALNAME]):
                    found[row[ROW_QUALNAME].rpartition(".")[2]].append(_Candidate(name, row))
        return found

    def _merged(self, item: _Candidate, body: float) -> Suggestion | None:
        """A namesake that stood there already counts only where the two are copies of one another."""
        if body < 0.8:
            return None
        reason = f"a copy was there at the pin already; bodies {body:.0%} alike"
        return Suggestion(item.dotted, round(0.55 + 0.4 * body, 2), reason)

    def _is_new(self, item: _Candidate) -> bool:
        there = self.pin.module(item.module)
        return there is None or not there.has(item.qualname)

    def _read(self, index: Index, module: str, definition: Definition) -> Shingles:
        key = (index is self.pin, module, definition.qualname, definition.line)
        if key not in self._shingles:
            node = index.read_node(module, definition)
            self._shingles[key] = read_shingles(node) if node is not None else Counter()
        return self._shingles[key]

    @staticmethod
    def _traits(index: Index, module: str, definition: Definition) -> frozenset[str]:
        """What a definition is known by without its body: parameter names, or the members of a class."""
        if definition.kind is DefinitionKind.CLASS:
            holder = index.module(module)
            return frozenset(holder.members(definition.qualname)) - {"__init__", "forward"} if holder else frozenset()
        stars = {ParameterKind.VARIADIC, ParameterKind.KEYWORDS}
        return frozenset(item.name for item in definition.parameters or () if item.kind not in stars) - {"self", "cls"}

    @cached_property
    def _places(self) -> Places:
        return find_places(self.tip)

    def _find_named(self, name: str) -> Iterator[_Candidate]:
        """What the tip defines by this last name."""
        for item in self._find_in(self._places.by_name.get(name, ())):
            if item.qualname.rpartition(".")[2] == name:
                yield item

    def _find_printed(self, fingerprint: str) -> Iterator[_Candidate]:
        """What the tip defines with this body."""
        for item in self._find_in(self._places.by_print.get(fingerprint, ())):
            if item.row[ROW_FINGERPRINT] == fingerprint:
                yield item

    def _find_in(self, modules: Iterable[str]) -> Iterator[_Candidate]:
        for name in modules:
            module = self.tip.module(name)
            yield from (_Candidate(name, row) for row in (module.rows if module is not None else ()))

    def _new_definitions(self, kind: DefinitionKind) -> list[tuple[_Candidate, frozenset[str]]]:
        """What the tip has at module level and the pin had not, with its traits; read once a kind."""
        if kind not in self._new:
            items = (_Candidate(name, row) for name, module in _find_other(self.tip, self.pin) for row in module.rows)
            self._new[kind] = [
                (item, self._traits(self.tip, item.module, definition_of(item.row)))
                for item in items
                if _KINDS[item.row[ROW_KIND]] is kind and "." not in item.qualname and self._is_new(item)
            ]
        return self._new[kind]


def _find_other(index: Index, beside: Index) -> Iterator[tuple[str, Module]]:
    """The modules of an index that the other does not have, or has with another text, in order of name."""
    for name in sorted(index.entries):
        there = beside.every.get(name)
        module = index.module(name) if there is None or there.blob != index.every[name].blob else None
        if module is not None:
            yield name, module


def _near(module: str, target: str) -> float:
    """How much of its address a definition kept: of two that are equal the one in the same file is the heir."""
    return compare_names(module.split("."), target.split("."))


def _alike(same_name: bool, body: float, kept: float) -> float:
    """What grew keeps its old body: evidence beside a kept name; under another name a short body is found in anything
    much larger, so the two must be alike as well.
    """
    return max(body, 0.85 * kept) if same_name or body >= _GROWN else body


def _score(same_name: bool, alike: float, traits: float, near: float) -> float:
    """Bodies weigh most; a kept name, alike signatures or members, and a path that kept its words add to them."""
    body = min(1.0, alike * 1.25)
    if same_name:
        return round(min(1.0, 0.25 + 0.1 * traits + 0.15 * near + 0.5 * body), 2)
    return round(min(1.0, 0.1 * traits + 0.1 * near + 0.9 * body), 2) if alike >= 0.5 else round(0.8 * body, 2)


def _score_small(same_name: bool, body: float, traits: float, near: float) -> float:
    """Short bodies are alike by chance: the name must be kept, or all else be equal."""
    if same_name:
        return round(0.4 + 0.15 * traits + 0.25 * near + 0.2 * body, 2)
    return round(0.3 + 0.3 * near, 2) if body == traits == 1.0 else 0.2


def _reason(same_name: bool, body: float, traits: float) -> str:
    name = "same name" if same_name else "another name"
    return f"{name}, new there since the pin; bodies {body:.0%} alike, signature or members {traits:.0%}"


def _is_worth_showing(item: Suggestion, definition: Definition) -> bool:
    """A body that is a little alike is no trace by itself: below a move the name has to speak for it, too."""
    last = item.target.rpartition(".")[2]
    named = last == definition.name or share_words(last, definition.name)
    return item.score >= (_WORTH_SHOWING if named else MOVE)


def may_replace(item: Suggestion, name: str) -> bool:
    """Whether it is worth naming as what may take the place of a lost name: a private one is for upstream alone."""
    is_private = item.target.rpartition(".")[2].startswith("_") and not name.rpartition(".")[2].startswith("_")
    return item.score >= NEAR and not is_private


def share_words(one: str, two: str) -> bool:
    """Whether one name is the other with some words more: two words at least, and half of the longer."""
    first, second = (_WORD.findall(name) for name in (one, two))
    shared = set(first) & set(second)
    return len(shared) >= max(2, min(len(first), len(second))) and 2 * len(shared) >= max(len(first), len(second))


def needs_more(before: Definition, after: Definition) -> bool:
    """True if a call that satisfied the old signature cannot satisfy the new one."""
    old, new = (sum(item.required for item in one.parameters or ()) for one in (before, after))
    return before.kind is DefinitionKind.FUNCTION and new > old
