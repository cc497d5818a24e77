"""What a search over our files found at one commit, believed at another whose changed files say nothing to its questions.

A search goes through many files and reads few. Kept with what it found are the names that it looked for among our modules,
which are also the files that it read, and the questions by which it chose them (`callers.files`). It would find the same
where no such file has changed, no such name leads elsewhere, and no changed file answers a question with yes: one that did
before was read.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from layline.interpreter.callers.files import Ask
from layline.interpreter.modules import BUILD_FILES, name_module
from layline.source.names import parents

if TYPE_CHECKING:
    from layline.interpreter.callers.files import Files, Question
    from layline.interpreter.modules import Modules
    from layline.source.memos import Memos

Plain: TypeAlias = "dict[str, Any]"
_BUILD = BUILD_FILES | {"setup.py"}
_VARIANTS = 3
"""So many trees are kept of each: a branch or two, and the commit before."""


@dataclass(slots=True)
class Noted:
    """What was asked for one answer."""

    names: set[str] = field(default_factory=set)
    """Of modules."""
    questions: set[Question] = field(default_factory=set)

    def add(self, other: Noted) -> None:
        self.names |= other.names
        self.questions |= other.questions


@dataclass(eq=False)
class SearchMemos:
    """Recalls what searches found over one tree of ours, and keeps what they find now."""

    memos: Memos
    modules: Modules
    files: Files
    _since: dict[str, Since | None] = field(default_factory=dict)

    @contextmanager
    def note(self) -> Iterator[Noted]:
        """What is asked meanwhile; whoever asks around it has asked it, too."""
        noted, before = Noted(), Noted(self.modules.asked, self.files.asked)
        self.modules.asked, self.files.asked = noted.names, noted.questions
        try:
            yield noted
        finally:
            self.modules.asked, self.files.asked = before.names, before.questions
            self.take(noted)

    def take(self, noted: Noted) -> None:
        """What was asked for an answer that is used again."""
        self.modules.asked |= noted.names
        self.files.asked |= noted.questions

    def recall(self, keys: Iterable[str], accepts: Callable[[Plain], bool] = lambda _: True) -> dict[str, Plain]:
        """Key → the value that holds for this tree."""
        found: dict[str, Plain] = {}
        for key, row in self.memos.recall(keys).items():
            for one in _list_trees(row):
                if self._holds(one) and accepts(one["value"]):
                    found[key] = one["value"]
                    if one["tree"] != self.tree:
                        self._put(key, row, {**one, "tree": self.tree})
                    self._read_unreadable(one["unreadable"])
                    break
        return found

    def keep(self, key: str, value: Plain, noted: Noted, before: Plain | None, told: str) -> None:
        """Hold a value found now for `save`; and, where that is asked for, against what was kept `before`."""
        if self.memos.compare is not None and before is not None:
            self.memos.compare(told, before, value)
        states = {self.modules.state_of(name) for name in noted.names}
        unreadable = sorted({one.path for one in self.modules.skipped if one.path is not None and one.path in states})
        fresh = {
            "tree": self.tree,
            "names": sorted(noted.names),
            "questions": sorted(noted.questions),
            "unreadable": unreadable,
            "value": value,
        }
        self._put(key, self.memos.recall([key]).get(key, {}), fresh)

    def _put(self, key: str, row: Plain, fresh: Plain) -> None:
        others = [one for one in _list_trees(row) if one["tree"] != self.tree and one["value"] != fresh["value"]]
        self.memos.keep(key, {"trees": [fresh, *others][:_VARIANTS]})
        self.memos.keep(self._tree_key(self.tree), {"paths": self._paths})

    def _read_unreadable(self, paths: Iterable[str]) -> None:
        """A file that is no Python is part of the answer, whoever comes upon it."""
        known = {one.path for one in self.modules.skipped}
        for path in (path for path in paths if path not in known):
            self.modules.parse(path)

    def _holds(self, one: Plain) -> bool:
        if one["tree"] == self.tree:
            return True
        if one["tree"] not in self._since:
            row = self.memos.recall([self._tree_key(one["tree"])]).get(self._tree_key(one["tree"]))
            before = row["paths"] if row is not None else None
            since = Since(before, self._paths, self.modules, self.files) if before is not None else None
            self._since[one["tree"]] = since
        found = self._since[one["tree"]]
        return found is not None and found.keeps(one["names"], (tuple(asked) for asked in one["questions"]))

    @cached_property
    def tree(self) -> str:
        """Stands for all files that can be read or lead somewhere."""
        return hashlib.sha256(json.dumps(self._paths).encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def _paths(self) -> dict[str, str]:
        tree = self.modules.tree
        listed = [path for path in tree.entries if path.endswith(".py") or posixpath.basename(path) in _BUILD]
        return {path: (tree.find(path) or tree.entries[path]).oid for path in sorted(listed)}

    def _tree_key(self, tree: str) -> str:
        return self.memos.key("own tree", tree)


def _list_trees(row: Plain) -> list[Plain]:
    listed = row.get("trees")
    names = {"tree", "names", "questions", "unreadable", "value"}
    return [one for one in listed if isinstance(one, dict) and one.keys() >= names] if isinstance(listed, list) else []


class Since:
    """What our files say differently since another tree."""

    def __init__(self, before: dict[str, str], after: dict[str, str], modules: Modules, files: Files) -> None:
        self._modules = modules
        self._files = files
        self._changed = frozenset(path for path in {*before, *after} if before.get(path) != after.get(path))
        self._is_rebuilt = any(posixpath.basename(path) in _BUILD for path in self._changed)
        moved = [path for path in self._changed if path not in before or path not in after]
        self._moved = {
            name_module(path.removeprefix(prefix))
            for path in moved
            for prefix in (f"{root}/" if root else "" for root in modules.roots)
            if path.startswith(prefix)
        }
        self._around = {above for name in self._moved for above in parents(name)}
        self._met: dict[Question, bool] = {}

    def keeps(self, names: Iterable[str], questions: Iterable[Question]) -> bool:
        """Whether all of them lead to what they led to."""
        if self._is_rebuilt:
            return False
        return all(map(self._stays, names)) and not any(map(self._meets, questions))

    def _stays(self, name: str) -> bool:
        state = self._modules.state_of(name)
        if state is None or state == "/":
            return name not in self._moved and name not in self._around
        return name not in self._moved and state not in self._changed

    def _meets(self, question: Question) -> bool:
        if question not in self._met:
            ask, *words = question
            self._met[question] = (
                any(name.startswith(f"{words[0]}.") for name in self._moved)
                if ask == Ask.BELOW
                else self._files.answers(question, self._changed)
            )
        return self._met[question]
