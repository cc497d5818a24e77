"""Calls of ours that bind and whose variables land in other parameters than those of their names: upstream gave its
parameters another order before the commit that is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.change.binding import find_mixed
from layline.core.prose import listed
from layline.core.why import Reason, Why
from layline.coupling.callee import find_callee
from layline.errors import GitError
from layline.history.commits import read_commits
from layline.source.definitions import DefinitionKind, ParameterKind
from layline.source.slices import read_signature
from layline.workspace.past import Past

if TYPE_CHECKING:
    from layline.change.binding import CallShape
    from layline.git import Repository
    from layline.source.definitions import Definition
    from layline.source.resolve import Resolver
    from layline.source.symbols import Symbol

_MOST = 40
"""So many versions of a file are read."""
_MOVES = 4
"""So often a file is followed to where it was before."""
_BY_POSITION = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL)


@dataclass(frozen=True, slots=True)
class Crossed:
    """A call that gives its variables to other parameters than upstream's function once had there."""

    pairs: tuple[tuple[str, str], ...]
    """Each variable, and the parameter that takes it."""
    upstream: Repository
    commit: str
    """Since when."""

    def tell(self, reason: Reason) -> Why:
        found = next(read_commits(self.upstream, [self.commit]))
        places = listed([place for _, place in self.pairs], most=len(self.pairs))
        named = f"{found.hash[:10]} ({found.date}, {found.subject})"
        return Why(reason, names=tuple(name for name, _ in self.pairs), other=places, text=named)


def find_crossed(side: Resolver, callee: Symbol, call: CallShape, *, bound: bool) -> Crossed | None:
    """Of a call that binds there: what lands in another parameter than the one of its name, where an older version of
    the function had the parameters in the order of our call. Who only calls his variables otherwise wrote no such call.
    """
    found = find_callee(side, callee)
    if found is None or not any(call.names):
        return None
    is_bound = bound or found[1]
    pairs = find_mixed(call, found[0].parameters or (), bound=is_bound)
    entry = _find_entry(side, callee, found[0]) if pairs else None
    if entry is None:
        return None
    path, repository, tree = entry
    first = int(is_bound)
    asked = (f"{call.names.index(name) + first} {name} {other}" for name, other in pairs)
    question = (path, found[0].qualname, *asked)
    past = Past(repository, tree)
    commit = past.find_orders([question], lambda span, one: _search(repository, span, one)).get(question)
    return Crossed(pairs, repository, commit) if commit is not None else None


def find_ordered(callee: tuple[Definition, bool], call: CallShape, crossed: Crossed, *, bound: bool) -> bool:
    """Whether a function takes what crosses elsewhere under the names of our variables."""
    names = [one.name for one in callee[0].parameters or () if one.kind in _BY_POSITION][int(bound or callee[1]) :]
    landed = dict(zip(call.names, names, strict=False))
    return all(landed.get(name) == name for name, _ in crossed.pairs)


def _find_entry(side: Resolver, callee: Symbol, written: Definition) -> tuple[str, Repository, str] | None:
    """The file that holds the function, its repository and the commit."""
    made = callee
    if callee.definition is not None and callee.definition.kind is DefinitionKind.CLASS:
        made = side.resolve(f"{callee.home}.__init__")
    if made.module is None or made.definition != written:
        return None
    entry = side.index.entries[made.module]
    tree = side.index.parts[entry.part].tree
    return entry.path, tree.repository, tree.commit


def _search(repository: Repository, span: str, question: tuple[str, ...]) -> str | None:
    """The last commit that gave places of the parameters to others than these names."""
    path, qualname, *wanted = question
    places = [(int(place), name, other) for place, name, other in map(str.split, wanted)]
    words = "|".join(sorted({word for _, *both in places for word in both}))
    how = ("log", f"-{_MOST}", "--format=%H", f"-G{words}", span, "--")

    def has_order(commit: str, at: str | None) -> bool:
        data = repository.read_file(commit, at) if at is not None else None
        found = read_signature(data.decode("utf-8", "replace"), qualname) if data is not None else None
        names = [one.name for one in (found.parameters if found is not None else None) or ()]
        return all(names[place : place + 1] == [name] for place, name, _ in places)

    for _ in range(_MOVES):
        for commit in repository.git(*how, path).decode("ascii").split():
            before = _find_before(repository, commit, path)
            if has_order(f"{commit}^", before) and not has_order(commit, path):
                return commit
            if before not in {None, path}:
                path = before or path
                break
        else:
            return None
    return None


def _find_before(repository: Repository, commit: str, path: str) -> str | None:
    """Where a file was before a commit; None where it was not."""
    try:
        if repository.read_file(f"{commit}^", path) is not None:
            return path
        out = repository.git("diff-tree", "-r", "-M", "-z", "--diff-filter=R", "--name-status", f"{commit}^", commit)
    except GitError:  # the first commit has none before it
        return None
    words = out.decode("utf-8", "surrogateescape").split("\0")
    return next((old for old, new in zip(words[1::3], words[2::3], strict=False) if new == path), None)
