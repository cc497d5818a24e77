"""Our files as they are, and as the steps of an upgrade leave them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from layline.coupling.drift_model import Drift
from layline.source import Tree
from layline.source.names import parents
from layline.upgrade.changes import carry_out, map_line
from layline.upgrade.imports import follow_names
from layline.upgrade.judging import edit_to
from layline.upgrade.plan import PATCHES, Job, is_generated
from layline.upgrade.question import Question
from layline.upgrade.retarget import build_retarget
from layline.upgrade.spelled import follow_spelled
from layline.upgrade.values import Break


class Workshop:
    """Our files as they are, and as the steps leave them."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._tree = Tree(question.workspace.downstream, question.workspace.commit)
        self._rows = {(row.location.path, row.location.line, row.target): row for row in question.between.rows}

    def find_row(self, broken: Break) -> Drift | None:
        return self._rows.get((broken.location.path, broken.location.line, broken.target))

    def read(self, path: str) -> str | None:
        """The text of a file that may be edited; None of a link, of what cannot be read, of what a program writes."""
        entry = self._tree.entries.get(path)
        text = self._tree.read_text(path) if entry is not None and entry.is_file and not entry.is_symlink else None
        return text if isinstance(text, str) and not is_generated(text) else None

    def carry_out(self, jobs: list[Job], steps: int) -> list[dict[str, str]]:
        """The files that each step changes, as it leaves them."""
        done: list[dict[str, str]] = []
        texts: dict[str, str] = {}
        for number in range(steps):
            by_path: dict[str, list[Job]] = defaultdict(list)
            for job in jobs:
                if job.step == number:
                    by_path[job.path].append(job)
            changed = {path: text for path, mine in by_path.items() if (text := self._edit(path, mine, texts))}
            texts |= changed
            done.append(changed)
        return done

    def has_edit(self, job: Job) -> bool:
        """Whether a change leaves its file otherwise than it is: by position nothing is called by its new name."""
        text = self.read(job.path)
        return text is not None and any(carry_out(change, text, text) != text for change in job.changes)

    def _edit(self, path: str, jobs: list[Job], texts: dict[str, str]) -> str | None:
        original = self.read(path)
        if original is None:
            return None
        current = texts.get(path, original)
        spelled = follow_spelled(
            current, {job.move.old: job.move.new for job in jobs if not job.changes}, self._find_module
        )
        edited = spelled.text if spelled is not None else current
        following = [job for job in jobs if not job.changes and (spelled is None or job.move.old not in spelled.done)]
        rows = [
            row for job in following if job.broken.way == PATCHES and (row := self.find_row(job.broken)) is not None
        ]
        edited = self._retarget(path, (original, edited), rows, texts) if rows else edited
        names = {job.move.old: job.move.new for job in following if job.broken.way != PATCHES}
        followed = follow_names(edited, names) if names else None
        edited = followed.text if followed is not None else edited
        for change in dict.fromkeys(change for job in jobs for change in job.changes):
            edited = carry_out(change, original, edited)
        return edited if edited != current else None

    def _find_module(self, name: str) -> str | None:
        entries = self._question.between.opened.sides.tip.index.entries
        return next((one for one in parents(f"{name}.") if one in entries), None)

    def _retarget(self, path: str, versions: tuple[str, str], rows: list[Drift], texts: dict[str, str]) -> str:
        original, current = versions
        moved = [
            replace(row, location=replace(row.location, line=map_line(original, current, row.location.line)))
            for row in rows
        ]
        sides = self._question.between.opened.sides
        over = edit_to(self._question.workspace, {**texts, path: current})
        found = build_retarget(moved, Tree(over.downstream, over.commit), sides.pin, sides.tip)
        return next((one.after for one in found.files if one.path == path), current)
