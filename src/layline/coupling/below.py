"""What classes of upstream's below one have: a value that is said to be of a class may be of one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import islice

from layline.change.call_sites import read_modules
from layline.change.compare import Comparer
from layline.core.ours import is_test_module
from layline.source.instances import Instances
from layline.source.lineage import find_below
from layline.source.parsing import parse_tree
from layline.source.resolve import Resolver
from layline.source.usage import sets_attribute
from layline.source.walking import walk

_MOST = 200
"""Of more classes nobody asks which has what."""


def may_have(comparer: Comparer, instances: Instances, home: str, word: str) -> bool:
    """Whether objects of a class of the tip may have an attribute that the class has not: one below gives it, or code
    that knows them sets it from outside.
    """
    tip = comparer.tip
    family = list(islice(dict.fromkeys(find_below(home, tip)), _MOST + 1))
    if len(family) > _MOST or any(_gives(tip, instances, one, word) for one in family):
        return True
    return is_set_outside(comparer, (home, *family), word)


def is_overridden(side: Resolver, home: str | None, target: str) -> bool:
    """Whether some class below one has a method of its own in the place of `target`."""
    theirs, word = side.resolve(target).home, target.rpartition(".")[2]
    family = list(islice(dict.fromkeys(find_below(home, side)), _MOST + 1)) if home is not None else []
    found = [side.resolve(f"{one}.{word}") for one in family[:_MOST]]
    return len(family) > _MOST or any(one.exists and one.home != theirs for one in found)


def _gives(tip: Resolver, instances: Instances, home: str, word: str) -> bool:
    if word in instances.find(home) or any(tip.resolve(f"{home}.{one}").exists for one in (word, "__getattr__")):
        return True
    symbol = tip.resolve(home)
    node = tip.index.read_node(symbol.module, symbol.definition) if symbol.module and symbol.definition else None
    return node is None or _may_set(node, word)


def _may_set(node: ast.AST, word: str) -> bool:
    """Whether code sets the attribute on something, or has the word as a text beside what sets by text."""
    said = by_text = False
    for item in walk(node):
        match item:
            case ast.Attribute(attr=name, ctx=ast.Store()) if name == word:
                return True
            case ast.Constant(value=text) if text == word:
                said = True
            case ast.Name(id="setattr" | "vars") | ast.Attribute(attr="__dict__" | "__setattr__"):
                by_text = True
    return said and by_text


def is_set_outside(comparer: Comparer, homes: Iterable[str], word: str) -> bool:
    """True if code of the tip that knows one of the classes, or stands beside it, sets it on an object from outside
    (`trainer.metrics.word = …`), and did not at the pin.
    """
    then, listed = comparer.pin.index, list(homes)
    packages = {(comparer.tip.resolve(one).module or "").rpartition(".")[0] for one in listed}
    lasts = sorted({one.rpartition(".")[2] for one in listed})
    plain = [one.encode() for one in lasts]
    return any(
        not is_test_module(module)
        and (module.rpartition(".")[0] in packages or any(one in data for one in plain))
        and sets_attribute(data, word)
        and not (module in then.entries and sets_attribute(then.read_blob(module), word))
        for module, data in read_modules(comparer.tip, [word, *lasts])
    )


def is_given(side: Resolver, word: str) -> bool:
    """True if any code of upstream's sets the attribute on something, or has the word as a text by which it may."""
    return any(
        may_give(data, word)
        for module, data in read_modules(side, [word])
        if word.encode() in data and not is_test_module(module)
    )


def may_give(data: bytes, word: str) -> bool:
    """True if code of a file sets the attribute on something, or has the word as a text."""
    tree = parse_tree("", data)
    for item in walk(tree) if isinstance(tree, ast.Module) else ():
        match item:
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Constant(value=name) if name == word:
                return True
    return False
