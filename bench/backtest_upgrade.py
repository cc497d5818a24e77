"""Back-test of upgrades: the edits that a plan makes against those the maintainers made when they moved the pin.

    python -m bench backtest_upgrade DOWNSTREAM UPSTREAM --packages a,b --folder FOLDER
        (--move COMMIT:OLD:NEW … | --pin-file PATH [--sample N --seed S]) [--json FILE]

For each move: the downstream just before it, a plan from the old pin to the new one, and the maintainers' own diff of
the files that they kept, hunk by hunk. A hunk is one of *names* when its old lines hold a name of upstream that the new
pin no longer has, and the file takes up one that is new there or the same object elsewhere: in the hunk's own new lines,
or anywhere in the file under the same last word (*rewritten*: the file takes up new names, but none in the place of this
one; *replaced*: only names that the old pin had beside it; *removed*: none); one of *words* when only words of it were
exchanged. *Rewritten* ones are judged as those of names are. It is reproduced
when our edited file lets go of the same names and every name that we took up is one of theirs (the same object at the
new pin, however it is imported); proposed when the plan asks a person at that place; else missed. *Gated*: the
maintainers kept the old name for another release.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import random
import re
import subprocess
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.backtest import find_moves as find_pin_moves
from layline.source.resolve import Resolver
from layline.upgrade.planning import make_plan
from layline.upgrade.question import ask
from layline.upgrade.values import Mend, Plan
from layline.workspace.open import open_workspace

CONFIG = """\
[project]
name = "downstream"
git = "{downstream}"
[backends.up]
upstream = "https://example.org/up"
objects = "{upstream}"
packages = [{packages}]
integration = ["{folder}"]
patches = [{patches}]
pin = {{ revision = "{old}" }}
"""
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of the maintainers' diff: lines before and after, counted from 1, the end not among them."""

    path: str
    old: range
    new: range


@dataclass(slots=True)
class Score:
    """What became of the hunks of one move."""

    commit: str
    counts: Counter[str] = field(default_factory=Counter)
    rows: list[dict[str, Any]] = field(default_factory=list)
    extra: list[dict[str, Any]] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench backtest_upgrade")
    parser.add_argument("downstream", type=Path)
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--packages", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--patches", default="")
    parser.add_argument("--move", action="append", default=[])
    parser.add_argument("--pin-file")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    scores = []
    for commit, old, new in find_moves(chosen):
        scores.append(score(chosen, commit, old, new))
        show(scores[-1])
        if chosen.json:
            chosen.json.write_text(json.dumps([encode(one) for one in scores], indent=1))
    total = sum((one.counts for one in scores), Counter[str]())
    print("all:", dict(sorted(total.items())))
    return 0


def encode(one: Score) -> dict[str, Any]:
    return {"commit": one.commit, "counts": dict(one.counts), "rows": one.rows, "extra": one.extra, "diffs": one.diffs}


def git(repository: Path, *words: str) -> str:
    out = subprocess.run(["git", "-C", str(repository), *words], check=True, capture_output=True).stdout
    return out.decode("utf-8", "replace")


def find_moves(chosen: argparse.Namespace) -> list[tuple[str, str, str]]:
    if chosen.move:
        return [tuple(one.split(":")) for one in chosen.move]
    moves = find_pin_moves(chosen)
    if chosen.sample is None:
        return moves
    kept = random.Random(chosen.seed).sample(range(len(moves)), chosen.sample)
    return [moves[at] for at in sorted(kept)]


def score(chosen: argparse.Namespace, commit: str, old: str, new: str) -> Score:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "layline.toml"
        words = {
            "downstream": chosen.downstream,
            "upstream": chosen.upstream,
            "folder": chosen.folder,
            "old": old,
            "packages": ", ".join(f'"{one}"' for one in chosen.packages.split(",")),
            "patches": ", ".join(f'"{one}"' for one in chosen.patches.split(",") if one),
        }
        config.write_text(CONFIG.format(**words))
        question = ask(open_workspace(config, at=f"{commit}^"), "up", new)
        plan = make_plan(question)
    sides = question.between.opened.sides
    return compare(chosen, commit, plan, (sides.pin, sides.tip))


def compare(chosen: argparse.Namespace, commit: str, plan: Plan, sides: tuple[Resolver, Resolver]) -> Score:
    found = Score(commit)
    ours = {edit.path: edit.after for step in plan.steps for edit in step.edits}
    found.diffs = [mend.diff for step in plan.steps for mend in step.mends if mend.mechanical and mend.diff]
    asked = [mend for step in plan.steps for mend in step.mends if not mend.mechanical]
    roots = tuple(chosen.packages.split(","))
    words = ("diff", "-U0", "--no-renames", "--diff-filter=M", f"{commit}^", commit, "--", chosen.folder)
    by_path: dict[str, list[Hunk]] = defaultdict(list)
    for hunk in find_hunks(git(chosen.downstream, *words)):
        by_path[hunk.path].append(hunk)
    for path, hunks in by_path.items():
        texts = [git(chosen.downstream, "show", f"{at}:{path}") for at in (f"{commit}^", commit)]
        texts.append(ours.get(path, texts[0]))
        names = [Names.read(text, roots) for text in texts]
        if any(one is None for one in names):
            found.counts["not Python"] += len(hunks)
            continue
        file = File(texts, names, [one for one in asked if one.file == path], sides)  # type: ignore[arg-type]
        for hunk in hunks:
            row = file.judge(hunk)
            found.counts[f"{row['kind']} {row['state']}{' (gated)' if row['gated'] else ''}"] += 1
            found.rows += [row] if row["kind"] != "other" else []
    for path, text in ours.items():
        found.extra += find_extra(chosen, commit, path, text, roots, sides[1])
    found.counts["ours they did not make"] = len(found.extra)
    return found


@dataclass(slots=True)
class File:
    """One file of the downstream: before the move, as the maintainers left it, as the plan leaves it."""

    texts: list[str]
    names: list[Names]
    asked: list[Mend]
    sides: tuple[Resolver, Resolver]

    def judge(self, hunk: Hunk) -> dict[str, Any]:
        (pin, there), (old, then, mine) = self.sides, self.names
        gained = homes(then.all - old.all, there)
        lost = {name for name in old.at(hunk.old) if pin.resolve(name).exists and not there.resolve(name).exists}
        same = {pin.resolve(name).home for name in lost}
        fresh = {one for one in gained if one in same or not pin.resolve(one).exists}
        here = homes(then.at(hunk.new), there) | same
        words = {name.rpartition(".")[2] for name in lost}
        is_renamed = any(one in here or one.rpartition(".")[2] in words for one in fresh)
        kind = ("names" if is_renamed else "rewritten") if lost and fresh else self._name_rest(lost, gained)
        places = [one for one in self.asked if touches(one.lines, hunk, old) or one.target in lost]
        state = "proposed" if places else "missed"
        if kind in {"names", "rewritten"}:
            state = self._judge_names(lost, gained) or state
        elif kind == "other" and is_renaming(self.texts[0], self.texts[1], hunk):
            kind = "words"
            part = spell(lines_of(self.texts[1], hunk.new))
            texts = [spell(self.texts[at]) for at in (0, 2)]
            state = "reproduced" if holds(texts[1], part) and not holds(texts[0], part) else state
        return {
            "path": hunk.path,
            "lines": [hunk.old.start, hunk.old.stop - 1],
            "kind": kind,
            "state": state,
            "gated": bool(lost & then.all),
            "lost": sorted(lost),
            "theirs": sorted(then.all - old.all),
            "ours": sorted(mine.all - old.all),
            "told": [one.why for one in places][:4],
            "text": lines_of(self.texts[0], hunk.old)[:400] if kind == "words" else "",
        }

    @staticmethod
    def _name_rest(lost: set[str], gained: set[str]) -> str:
        return "replaced" if lost and gained else "removed" if lost else "other"

    def _judge_names(self, lost: set[str], gained: set[str]) -> str | None:
        old, _, mine = self.names
        there = self.sides[1]
        made = homes(mine.all - old.all, there)
        others = old.all - mine.all - lost  # what we let go of elsewhere in the file
        if not lost & mine.all and made & gained and (others or made <= gained | homes(old.all, there)):
            return "reproduced"
        return "partly" if lost - mine.all else None


def find_extra(
    chosen: argparse.Namespace, commit: str, path: str, text: str, roots: tuple[str, ...], there: Resolver
) -> Iterator[dict[str, Any]]:
    """Names of our edit that the maintainers' file does not have after theirs."""
    before = Names.read(git(chosen.downstream, "show", f"{commit}^:{path}"), roots)
    mine = Names.read(text, roots)
    try:
        theirs = Names.read(git(chosen.downstream, "show", f"{commit}:{path}"), roots)
    except subprocess.CalledProcessError:
        theirs = None
    if before is None or mine is None:
        return
    for name in sorted(mine.all - before.all):
        known = homes(theirs.all, there) if theirs is not None else set[str]()
        if not homes({name}, there) & known:
            state = (
                "their file is gone"
                if theirs is None
                else "their file keeps the old name"
                if (before.all - mine.all) & theirs.all
                else "theirs is another"
            )
            yield {"path": path, "ours": name, "gone": sorted(before.all - mine.all), "why": state}


def homes(names: set[str], there: Resolver) -> set[str]:
    """The objects that names stand for at the new pin; a name that is nothing there stands for itself."""
    return {there.resolve(name).home or name for name in names}


def lines_of(text: str, lines: range) -> str:
    return "\n".join(text.split("\n")[lines.start - 1 : lines.stop - 1])


def spell(text: str) -> list[str]:
    """The words and signs of Python text, without comments and layout."""
    kinds = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
    found: list[str] = []
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text.strip() + "\n").readline):
            found += [token.string] if token.type in kinds else []
    return found


def holds(text: list[str], part: list[str]) -> bool:
    return any(text[at : at + len(part)] == part for at in range(len(text) - len(part) + 1)) if part else False


def is_renaming(before: str, after: str, hunk: Hunk) -> bool:
    """The same signs in the same order, only some words of them exchanged, each for one other."""
    one, two = spell(lines_of(before, hunk.old)), spell(lines_of(after, hunk.new))
    pairs = {(old, new) for old, new in zip(one, two, strict=False) if old != new}
    plain = all(old.isidentifier() and new.isidentifier() for old, new in pairs)
    return bool(pairs) and len(one) == len(two) and plain and len({old for old, _ in pairs}) == len(pairs)


def touches(lines: tuple[int, int], hunk: Hunk, names: Names) -> bool:
    """The same lines, or the same function."""
    first, last = lines
    if first <= max(hunk.old.start, hunk.old.stop - 1) and hunk.old.start <= last:
        return True
    return any(first in body and hunk.old.start in body for body in names.bodies)


def find_hunks(diff: str) -> Iterator[Hunk]:
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line[6:]
        elif path.endswith(".py") and (head := _HUNK.match(line)):
            a, b, c, d = (int(one) if one is not None else 1 for one in head.groups())
            yield Hunk(path, range(a, a + b), range(c, c + d))


@dataclass(slots=True)
class Names:
    """Names of upstream that a file speaks of, by line: imports, what is read through them, dotted texts."""

    by_line: dict[int, set[str]]
    bodies: list[range]

    @property
    def all(self) -> set[str]:
        return {name for names in self.by_line.values() for name in names}

    def at(self, lines: range) -> set[str]:
        return {name for line in lines for name in self.by_line.get(line, ())}

    @classmethod
    def read(cls, text: str, roots: tuple[str, ...]) -> Names | None:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return None
        found: dict[int, set[str]] = defaultdict(set)
        aliases = dict(_find_aliases(tree))
        for line, name in _find_names(tree, aliases):
            if any(f"{name}.".startswith(f"{root}.") for root in roots):
                found[line].add(name)
        bodies = [
            range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        return cls(found, bodies)


def _find_aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for item in names:
                    yield (item.asname, item.name) if item.asname else (item.name.split(".")[0],) * 2
            case ast.ImportFrom(module=str(module), level=0, names=names):
                for item in names:
                    yield item.asname or item.name, f"{module}.{item.name}"


def _find_names(tree: ast.Module, aliases: dict[str, str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((item.lineno, item.name) for item in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield from ((item.lineno, f"{module}.{item.name}") for item in names)
            case ast.Attribute() | ast.Name():
                root, _, rest = ast.unparse(node).partition(".")
                if root in aliases and all(part.isidentifier() for part in rest.split(".") if rest):
                    yield node.lineno, f"{aliases[root]}.{rest}" if rest else aliases[root]
            case ast.Constant(value=str(value)) if "." in value and all(p.isidentifier() for p in value.split(".")):
                yield node.lineno, value


def show(one: Score) -> None:
    print(one.commit[:10], dict(sorted(one.counts.items())), flush=True)
