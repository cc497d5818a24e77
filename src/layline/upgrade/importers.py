"""The importers of a lost name in the upstream commit that took it away, read for `upgrade.followers`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.change.compare import Comparer
from layline.core.evidence import Skipped
from layline.core.ours import is_packaged
from layline.core.prose import count
from layline.source import Tree, module_name, parse_module
from layline.upgrade.followers import Importer, can_follow, find_followed
from layline.upgrade.moves import NameMove

if TYPE_CHECKING:
    from layline.git import Repository

_MOST = 80
"""Files of one commit that are read."""


def follow_importers(target: str, comparer: Comparer, upstream: Repository) -> NameMove | None:
    """Where upstream's own files went with a name that is gone: sure, because they all went there in one commit."""
    found = comparer.compare(target)
    before, last = found.before, target.rpartition(".")[2]
    if found.after.exists or before.definition is None or before.home is None or before.definition.owner:
        return None
    commit = comparer.find_loss(found)
    if commit is None or not last.isidentifier():
        return None
    home, gone = before.home, before.definition

    def is_old(name: str) -> bool:
        return name == target or comparer.pin.resolve(name).home == home

    def find_home(name: str) -> str | None:
        there = comparer.tip.resolve(name)
        if there.definition is None or there.home is None or comparer.pin.resolve(there.home).exists:
            return None
        return there.home if can_follow(gone, there.definition) else None

    roots = comparer.pin.index.parts[0].source_roots
    followed = find_followed(last, _read_importers(upstream, commit, last, roots), is_old, find_home)
    if followed is None:
        return None
    files = count(followed.files, "file")
    why = f"{files} of upstream {'imports' if followed.files == 1 else 'import'} it instead since {commit[:9]}"
    return NameMove(target, followed.new, sure=True, why=why, followed=True)


def _read_importers(upstream: Repository, commit: str, name: str, roots: tuple[str, ...]) -> Iterator[Importer]:
    out = upstream.git(
        "diff-tree",
        "-r",
        "-m",
        "--first-parent",
        "--no-commit-id",
        "--name-only",
        "-z",
        "--no-renames",
        "--diff-filter=M",
        f"-G\\b{re.escape(name)}\\b",
        commit,
        "--",
        "*.py",
    )
    paths = [path for path in out.decode("utf-8", "surrogateescape").split("\0") if path][:_MOST]
    if not paths:
        return
    old, new = Tree(upstream, upstream.resolve(f"{commit}^1")), Tree(upstream, commit)
    for path in paths:
        module = module_name(path, roots)
        if module is None or not is_packaged(path):
            continue  # tests and examples turn to what is new, whether or not that does what the old one did
        texts = [tree.read_text(path) for tree in (old, new)]
        parsed = [
            parse_module(path, text.encode("utf-8", "surrogatepass")) for text in texts if not isinstance(text, Skipped)
        ]
        sides = [one for one in parsed if not isinstance(one, Skipped)]
        if len(sides) == len(texts):
            yield Importer(module, path.endswith("/__init__.py"), sides[0], sides[1])
