"""What the history up to a commit says, kept by commit and question: neither ever changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from layline.errors import GitError
from layline.history.searches import FoundCommit, find_binding_changes, find_definitions, find_deletions
from layline.source import open_cache

if TYPE_CHECKING:
    from layline.git import Repository

_ANALYSER = "past-2"
"""Part of every key: raise the number whenever a question is answered in another way."""
Answer: TypeAlias = "list[str] | None"


class Past:
    """Answers about one repository up to one commit; each walk over the history answers all that is not known yet."""

    def __init__(self, repository: Repository, commit: str) -> None:
        self._repository = repository
        self._commit = commit

    def find_deletions(self, groups: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], FoundCommit]:
        """Files → the last commit that deleted one of them."""
        known = self._ask("deleted", [list(group) for group in groups], self._search_deletions)
        return {tuple(json.loads(question)): FoundCommit(*answer) for question, answer in known.items() if answer}

    def find_binding_changes(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], FoundCommit]:
        """(path, name) → the last commit that changed a line which binds the name."""
        known = self._ask("changed", [list(place) for place in places], self._search_changes)
        found = {tuple(json.loads(question)): FoundCommit(*answer) for question, answer in known.items() if answer}
        return {(place[0], place[1]): commit for place, commit in found.items()}

    def find_definitions(self, names: Iterable[str]) -> dict[str, str]:
        """Name → where the tree of the commit defines it."""
        known = self._ask("definitions", [[name] for name in names], self._search_definitions)
        return {json.loads(question)[0]: answer[0] for question, answer in known.items() if answer}

    def find_losses(
        self,
        questions: Iterable[tuple[tuple[str, str], ...]],
        search: Callable[[list[tuple[tuple[str, str], ...]]], dict[tuple[tuple[str, str], ...], str]],
    ) -> dict[tuple[tuple[str, str], ...], str]:
        """Places (path, name) of one definition → the commit that took it out of the last of them."""

        def find(asked: list[list[str]]) -> dict[str, Answer]:
            places = {_pair(flat): json.dumps(flat) for flat in asked}
            return {places[place]: [commit] for place, commit in search(list(places)).items()}

        known = self._ask("lost", [[part for pair in place for part in pair] for place in questions], find)
        return {_pair(json.loads(question)): answer[0] for question, answer in known.items() if answer}

    def _ask(
        self, kind: str, questions: list[list[str]], search: Callable[[list[list[str]]], dict[str, Answer]]
    ) -> dict[str, Answer]:
        """Question → answer, None where there is nothing; asked of git where nobody has asked before."""
        keys = {json.dumps(question): self._key(kind, question) for question in questions}
        cache = open_cache(analyser=_ANALYSER)
        kept = cache.load(keys.values())
        known: dict[str, Answer] = {
            question: json.loads(kept[key])["answer"] for question, key in keys.items() if key in kept
        }
        missing = [question for question in keys if question not in known]
        try:
            fresh = search([json.loads(question) for question in missing]) if missing else {}
        except GitError:  # an object is missing: the rest of the history may come
            return known
        if not self._repository.is_shallow:
            rows = ((keys[question], json.dumps({"answer": fresh.get(question)})) for question in missing)
            cache.store(rows)
        cache.close()
        return known | fresh

    def _key(self, kind: str, question: list[str]) -> str:
        return hashlib.sha256(json.dumps([self._commit, kind, question]).encode()).hexdigest()

    def _search_deletions(self, questions: list[list[str]]) -> dict[str, Answer]:
        found = find_deletions(self._repository, self._commit, [tuple(question) for question in questions])
        return {json.dumps(list(group)): _plain(commit) for group, commit in found.items()}

    def _search_changes(self, questions: list[list[str]]) -> dict[str, Answer]:
        names: dict[str, set[str]] = {}
        for path, name in questions:
            names.setdefault(path, set()).add(name)
        found = find_binding_changes(self._repository, self._commit, names)
        return {json.dumps(list(place)): _plain(commit) for place, commit in found.items()}

    def _search_definitions(self, questions: list[list[str]]) -> dict[str, Answer]:
        found = find_definitions(self._repository, self._commit, [name for (name,) in questions])
        return {json.dumps([name]): [place] for name, place in found.items()}


def _plain(found: FoundCommit) -> list[str]:
    return [found.commit, found.date, found.subject]


def _pair(flat: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))
