"""Names that our code reads of a module and that upstream has at neither commit: such a line fails today."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator

from layline.change.compare import Comparer
from layline.core.why import Reason
from layline.coupling.callee import is_rebound
from layline.coupling.compiled import is_compiled
from layline.coupling.model import Coupling, Touch
from layline.coupling.past_modules import is_imported, stood_once
from layline.coupling.place import Place
from layline.errors import GitError
from layline.interpreter.modules import read_texts
from layline.source import Symbol, SymbolKind, Tree
from layline.source.names import is_within, parents
from layline.source.usage import sets_attribute
from layline.workspace.past import Past

_ENUMS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}


def is_no_member(target: str, owner: Symbol) -> bool:
    """Whether an enumeration lacks the name: what it holds stands in its body, whatever its outside base is."""
    definition, name = owner.definition, target.rpartition(".")[2]
    bases = {base.rpartition(".")[2] for base in definition.bases} if definition is not None else set[str]()
    return bool(bases) and bases <= _ENUMS and not any(hasattr(getattr(enum, base), name) for base in bases)


def find_missing(comparer: Comparer, place: Place, patched: Iterable[str]) -> str | None:
    """What a place reads of a module that is one file, or of an enumeration, and that this has neither at the pin nor
    at the tip.
    """
    asked = place.guarded or place.type_checking or place.touch is Touch.PATCH
    if not asked and place.touch is Touch.ATTRIBUTE and _lack_member(comparer, place):
        return place.target
    entry = comparer.pin.index.entries.get(place.imported)
    word = place.target.removeprefix(f"{place.imported}.").partition(".")[0]
    name = f"{place.imported}.{word}"
    if asked or entry is None or entry.is_package or name == place.imported or not is_within(place.target, name):
        return None
    names = (name, f"{place.imported}.__getattr__")
    if any(comparer.pin.resolve(one).kind is not SymbolKind.ABSENT for one in names):
        return None
    there = comparer.tip.resolve(place.imported).exists and not comparer.tip.resolve(name).exists
    return name if there and not is_rebound(name, patched) else None


def _lack_member(comparer: Comparer, place: Place) -> bool:
    """Whether it is read of an enumeration that lacks it at both refs."""
    if place.target.rpartition(".")[0] != place.imported:
        return False
    sides = (comparer.pin, comparer.tip)
    absent = not any(side.resolve(place.target).exists for side in sides)
    return absent and all(is_no_member(place.target, side.resolve(place.imported)) for side in sides)


def is_unheard(comparer: Comparer, name: str) -> bool:
    """Whether a name is taken from a package within a package that lacks it, and no code of upstream has that word, at
    pin and tip: a module alone may be compiled, and what is generated upstream's own code names.
    """
    index = comparer.pin.index
    holder = next((one for one in parents(name) if one in index.entries), None)
    if holder is None or not index.entries[holder].is_package:
        return False
    word, *rest = name[len(holder) + 1 :].split(".")
    sides = (index, comparer.tip.index)
    return len(rest) > 1 and not any(side.mentions(module, word) for side in sides for module in side.every)


def is_taken_away(comparer: Comparer, name: str) -> bool:
    """Whether the file of a package lost the name before the pin, and no code of upstream has that word any more: what
    is compiled or generated never stood there.
    """
    holder, _, word = name.rpartition(".")
    entry = comparer.pin.index.entries.get(holder)
    names = (name, f"{holder}.__getattr__")
    if entry is None or any(comparer.pin.resolve(one).kind is not SymbolKind.ABSENT for one in names):
        return False
    sides = (comparer.pin.index, comparer.tip.index)
    if any(side.mentions(module, word) for side in sides for module in side.every):
        return False
    tree = comparer.pin.index.parts[entry.part].tree
    try:
        return bool(tree.repository.git("log", "-1", "--format=%H", f"-S{word}", tree.commit, "--", entry.path).strip())
    except GitError:  # a history without all of its objects
        return False


def is_module_lost(comparer: Comparer, name: str) -> bool:
    """Whether it is, or is taken from, a module that upstream deleted before the pin."""
    return stood_once(comparer.pin, name) and not comparer.tip.resolve(name).exists


def is_misplaced(comparer: Comparer, name: str) -> bool:
    """Whether it is taken from a module that is not there, while the pin defines it elsewhere: what is compiled or
    generated has no other definition, a build file names it, or upstream's own code imports it.
    """
    module, _, word = name.rpartition(".")
    index = comparer.pin.index
    if module in index.entries or word.startswith("_") or comparer.tip.resolve(name).exists:
        return False
    if find_definition(comparer, name) is None:
        return False
    return not is_compiled(comparer.pin, module) and not is_imported(index, module)


LOST_BEFORE: tuple[Callable[[Comparer, str], bool], ...] = (is_unheard, is_taken_away, is_module_lost, is_misplaced)
"""Why a name below a package is missing and not compiled."""


def find_definition(comparer: Comparer, name: str) -> str | None:
    """The one place where the pin defines a missing name, under another module; None where it is none or several."""
    tree = comparer.pin.index.parts[0].tree
    word = name.rpartition(".")[2]
    found = Past(tree.repository, tree.commit).find_definitions([word]).get(word)
    return found if found is not None and "," not in found else None


def drop_written(couplings: Iterable[Coupling], ours: Tree) -> Iterator[Coupling]:
    """All but reads of missing names that our own code puts somewhere: such a name is there when it is read."""
    listed = list(couplings)
    words = {one.target.rpartition(".")[2] for one in listed if _fails_already(one)}
    texts = [data for _, data in read_texts(ours)] if words else []
    written = {word for word in words if any(_writes(data, word) for data in texts)}
    yield from (one for one in listed if not (_fails_already(one) and one.target.rpartition(".")[2] in written))


def _fails_already(coupling: Coupling) -> bool:
    return any(why.reason is Reason.READ_FAILS_ALREADY for why in coupling.why)


def _writes(data: bytes, word: str) -> bool:
    """Whether code sets it as an attribute, by its name or by a text."""
    if word.encode() not in data:
        return False
    quoted = any(f"{mark}{word}{mark}".encode() in data for mark in "\"'")
    return sets_attribute(data, word) or (quoted and b"setattr" in data)
