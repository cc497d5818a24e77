"""Names that our code reads of a module and that upstream has at neither commit: such a line fails today."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from layline.change.compare import Comparer
from layline.core.why import Reason
from layline.coupling.callee import is_rebound
from layline.coupling.model import Coupling, Touch
from layline.coupling.past_modules import stood_once
from layline.coupling.place import Place
from layline.errors import GitError
from layline.interpreter.modules import read_texts
from layline.source import SymbolKind, Tree
from layline.source.names import is_within, parents
from layline.source.usage import sets_attribute
from layline.workspace.past import Past


def find_missing(comparer: Comparer, place: Place, patched: Iterable[str]) -> str | None:
    """What a place reads of a module that is one file, and that this file has neither at the pin nor at the tip."""
    asked = place.guarded or place.type_checking or place.touch is Touch.PATCH
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


LOST_BEFORE: tuple[Callable[[Comparer, str], bool], ...] = (is_unheard, is_taken_away, is_module_lost)
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
