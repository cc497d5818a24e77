"""Objects that a write may reach: which class is told, and at which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.patches.guards.show import show_condition
from snippets import read_files

HEAD = """
import torch
from types import MethodType
from up.a import Attention, Loader, Parallel


def mine(self, x):
    return x

"""
Row = tuple[int, str | None, str]
REACHED: list[tuple[str, str, list[Row]]] = [
    # what, what stands below HEAD, (line below HEAD, target, when) of each row
    (
        "of several kinds of arguments, the one asked for last",
        """
class Runner:
    def one(self, obj):
        return obj if hasattr(obj, 'ready') else load(obj)
    def go(self, *args):
        model = None
        every = [self.one(obj) if isinstance(obj, Loader) else obj for obj in args]
        for obj in every:
            if isinstance(obj, torch.nn.Module):
                model = obj
        if model is not None:
            model.forward = MethodType(mine, model)
""",
        [(12, None, "model is not None")],
    ),
    (
        "an annotation by a module that may be missing",
        """
if torch.cuda.is_available():
    import up.a as models
else:
    import up.b as models
class Holder:
    part: models.Attention
def go(holder: Holder):
    holder.part.forward = MethodType(mine, holder.part)
""",
        [(9, None, "")],
    ),
    (
        "a narrower class asked for inside a wider one",
        """
def go(model):
    for part in model.modules():
        if isinstance(part, torch.nn.Module):
            if isinstance(part, Attention):
                part.forward = MethodType(mine, part)
""",
        [(6, "up.a.Attention.forward", "isinstance(part, torch.nn.Module) and isinstance(part, Attention)")],
    ),
    (
        "made in the function that hands it to a helper",
        """
def wrap(model):
    model.forward = MethodType(mine, model)
    return model
class Runner:
    def one(self, obj, many):
        if isinstance(obj, torch.nn.Module):
            return self.prepare(obj, many)
    def prepare(self, model, many):
        if many:
            model = Parallel(model)
        model.name = many
        return wrap(model)
""",
        [(13, "up.a.Parallel.forward", "many; and in the caller one: isinstance(obj, torch.nn.Module)")],
    ),
    (
        "a class that a function called by the helper knows",
        """
def find(model):
    return model if isinstance(model, Attention) else None
def give(model):
    model = find(model)
    if model is not None:
        model.forward = MethodType(mine, model)
def go(model):
    give(model)
""",
        [(7, "up.a.Attention.forward", "model is not None")],
    ),
    (
        "a class that one of several callers knows",
        """
def hook(module, hooks, append=False):
    if append and getattr(module, "_hook", None) is not None:
        hooks = Chain(hooks)
    module = hooks.init(module)
    print(str(type(module)))
    module.forward = MethodType(mine, module)
class Chain:
    def __init__(self, hooks):
        self.hooks = hooks
    def init(self, module):
        for one in self.hooks:
            module = one.init(module)
        return module
class Hook:
    def init(self, module):
        return module
def some(model):
    for part in model.modules():
        if isinstance(part, Attention):
            hook(part, Hook(), append=True)
def all_of(model):
    hook(model, Hook())
""",
        [(7, None, ""), (21, "up.a.Attention.forward", "isinstance(part, Attention)")],
    ),
]


@pytest.mark.parametrize(("what", "source", "expected"), REACHED, ids=[row[0] for row in REACHED])
def test_which_object_is_told_where(tmp_path: Path, what: str, source: str, expected: list[Row]) -> None:
    above = HEAD.count("\n")
    found = read_files(tmp_path, {"own/boot.py": HEAD + source}).unregistered
    rows = [(item.effect.location.line - above, item.effect.target, show_condition(item.effect.when)) for item in found]
    assert rows == expected
