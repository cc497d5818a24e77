"""Where a name of ours went, and whether that is sure enough to write it down without asking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from layline.change.compare import Comparer, Comparison
from layline.change.signatures import takes_same
from layline.change.similarity import SMALL, compare_names, read_shingles
from layline.core.drift import DriftKind
from layline.source import DefinitionKind, Symbol, SymbolKind
from layline.source.resolve import Resolver
from layline.upgrade.followers import are_alike, can_follow

_ALIKE = 0.4
"""Bodies of one name, gone from one place and new in one other, this alike: the same thing."""
_RENAMED = 0.8
"""Under another name it takes more."""
_KIN = 0.9
"""So high a score of the history, in one module, and under a name that says the same: it took another name there."""
_SURE = 0.85
"""A score of the history: a commit took it from there and put it here."""
_RIVAL = 0.05


@dataclass(frozen=True, slots=True)
class NameMove:
    """One upstream name, as it was and as it is."""

    old: str
    new: str
    sure: bool
    why: str
    importable: bool = True
    """What holds the new name is a module, or is what held the old one."""
    followed: bool = False
    """Only upstream's own importers say so: whatever of ours does not fit the new one refutes it."""

    @property
    def is_renamed(self) -> bool:
        return self.old.rpartition(".")[2] != self.new.rpartition(".")[2]

    def respell(self, name: str) -> str | None:
        """Another name with what this one got in front and behind; None where it got neither."""
        old, new = self.old.rpartition(".")[2], self.new.rpartition(".")[2]
        front, found, back = new.partition(old)
        return f"{front}{name}{back}" if found and (front or back) else None


def find_move(target: str, comparer: Comparer) -> NameMove | None:
    """The new home of a name that its old address no longer has; None where nothing is known."""
    found = comparer.compare(target)
    home = found.new_home
    if home is None or found.after.exists or not comparer.tip.resolve(home).exists:
        return None
    holder = home.rpartition(".")[0]
    importable = holder == target.rpartition(".")[0] or holder in comparer.tip.index.entries
    return NameMove(target, home, _is_sure(found, home, comparer), _say(found, home, comparer), importable)


def follow_siblings(lost: Iterable[str], moves: Mapping[str, NameMove], comparer: Comparer) -> Iterator[NameMove]:
    """Names that went when others of their module did, and whose module has a name made of them in the same way."""
    for target in lost:
        found = comparer.compare(target)
        holder, _, name = target.rpartition(".")
        gone = found.before.definition
        commit = comparer.find_loss(found) if gone is not None and not found.after.exists else None
        for sibling in moves.values() if commit is not None else ():
            spelled = sibling.respell(name) if sibling.sure and sibling.is_renamed else None
            if spelled is None or sibling.old.rpartition(".")[0] != holder or sibling.old == target:
                continue
            new = f"{sibling.new.rpartition('.')[0]}.{spelled}"
            there, before = comparer.tip.resolve(new).definition, comparer.pin.resolve(new)
            if gone is None or there is None or before.exists or not can_follow(gone, there):
                continue
            if comparer.find_loss(comparer.compare(sibling.old)) == commit:
                old, now = (one.rpartition(".")[2] for one in (sibling.old, sibling.new))
                why = f"in the same commit, {(commit or '')[:9]}, {old} became {now}"
                yield NameMove(target, new, sure=True, why=why, followed=True)
                break


def _say(found: Comparison, home: str, comparer: Comparer) -> str:
    """Why it is the same thing, in plain words."""
    there = comparer.tip.resolve(home)
    if found.kind is DriftKind.BINDING_LOST and there.home == found.before.home:
        stays = comparer.tip.resolve(found.name.rpartition(".")[0]).exists
        left = "does not import it any more" if stays else "is gone"
        return f"it is defined there as before; the module it was imported from {left}"
    if found.before.kind is SymbolKind.SUBMODULE:
        return "the file moved"
    moved = f"{found.commits[0][:9]} moved it" if found.commits else ""
    who = f"{moved}; " if moved else ""
    one, two = found.before.definition, there.definition
    if one is None or two is None or found.before.module is None or there.module is None:
        return moved or "the name is the same"
    if one.kind in {DefinitionKind.ASSIGNMENT, DefinitionKind.FIELD}:
        return f"{who}the values are {'the same' if one.value == two.value else 'different'}"
    alike = comparer.homes.similarity(found.before.module, one, there.module, two)
    if alike == 1:
        return f"{moved} with the same body" if moved else "the body is the same"
    return (
        f"{who}its body changed since"
        if who and alike < _ALIKE
        else f"{who}its bodies at pin and tip are {alike:.0%} alike"
    )


def _is_sure(found: Comparison, home: str, comparer: Comparer) -> bool:
    there = comparer.tip.resolve(home)
    if found.kind is DriftKind.BINDING_LOST:
        return _is_same_object(found, home, comparer)
    if found.before.kind is SymbolKind.SUBMODULE:
        return there.kind is SymbolKind.SUBMODULE
    best = found.suggestions[0].score
    if any(one.score >= best - _RIVAL for one in found.suggestions[1:]):
        return False
    return _is_alike(found.before, there, best, comparer)


def _is_same_object(found: Comparison, home: str, comparer: Comparer) -> bool:
    """A module stopped importing it: the object is where it always was, or has itself surely moved there."""
    origin = found.before.home
    if origin is None or origin == found.name:
        return False
    if comparer.tip.resolve(home).home == origin:
        return True
    inner = comparer.compare(origin)
    return (
        inner.new_home is not None
        and comparer.tip.resolve(home).home == comparer.tip.resolve(inner.new_home).home
        and _is_sure(inner, inner.new_home, comparer)
    )


def _is_alike(before: Symbol, there: Symbol, score: float, comparer: Comparer) -> bool:
    one, two = before.definition, there.definition
    if one is None or two is None or one.kind is not two.kind or before.module is None or there.module is None:
        return False
    same_name = one.name == two.name
    if one.kind in {DefinitionKind.ASSIGNMENT, DefinitionKind.FIELD}:
        return same_name and one.value is not None and one.value == two.value  # two values are alike by chance
    if not same_name and min(_size(comparer.pin, before), _size(comparer.tip, there)) < SMALL:
        return False  # so are two short bodies
    if not same_name and not takes_same(one, two):
        return False  # a call by position would hand over something else
    alike = comparer.homes.similarity(before.module, one, there.module, two)
    is_kin = score >= _KIN and before.module == there.module and are_alike(one.name, two.name)
    enough = (alike >= _ALIKE or score >= _SURE) if same_name else (alike >= _RENAMED or is_kin)
    return enough and not _has_rival(before, there, alike, comparer)


def _size(side: Resolver, symbol: Symbol) -> int:
    definition, module = symbol.definition, symbol.module
    node = side.index.read_node(module, definition) if definition is not None and module is not None else None
    return read_shingles(node).total() if node is not None else 0


def _has_rival(before: Symbol, there: Symbol, alike: float, comparer: Comparer) -> bool:
    """Another place that is as alike, and whose address is as near to the old one."""
    one, module = before.definition, before.module
    if one is None or module is None or there.module is None or one.owner:
        return False
    near = compare_names(module.split("."), there.module.split("."))
    for other in comparer.homes.find(module, one):
        symbol = comparer.tip.resolve(other.target)
        if symbol.home == there.home or symbol.definition is None or symbol.module is None:
            continue
        as_near = compare_names(module.split("."), symbol.module.split(".")) >= near
        as_alike = comparer.homes.similarity(module, one, symbol.module, symbol.definition) >= alike - _RIVAL
        if as_near and as_alike:
            return True
    return False
