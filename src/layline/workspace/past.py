"""What the history up to a commit says, kept by commit and question: neither ever changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from layline.errors import GitError
from layline.history.commits import count_commits
from layline.history.searches import FoundCommit, find_binding_changes, find_definitions, find_deletions
from layline.source import open_cache

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.source.cache import Cache

_ANALYSER = "past-3"
"""Part of every key: raise the number whenever a question is answered in another way."""
_ASKED = hashlib.sha256(b"the commits that were asked about last").hexdigest()
_MOST_ASKED = 8
Answer: TypeAlias = "list[str] | None"
Search: TypeAlias = "Callable[[str | None, list[list[str]]], dict[str, Answer]]"
"""Answers questions from the history since a commit, or from all of it."""


class Past:
    """Answers about one repository up to one commit; each walk over the history answers all that is not known yet."""

    def __init__(self, repository: Repository, commit: str) -> None:
        self._repository = repository
        self._commit = commit

    def find_deletions(self, groups: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], FoundCommit]:
        """Files → the last commit that deleted one of them."""
        known = self._ask("deleted", [list(group) for group in groups], self._search_deletions)
        return {tuple(json.loads(question)): FoundCommit(*answer) for question, answer in known.items() if answer}

    def has_deleted(self, folder: str) -> bool:
        """Whether a file below a folder was deleted."""

        def find(base: str | None, asked: list[list[str]]) -> dict[str, Answer]:
            how = ("log", "-1", "--diff-filter=D", "--no-renames", "--format=%H", self._span(base), "--")
            found = {json.dumps(one): self._repository.git(*how, *one).decode("ascii").split() for one in asked}
            return {question: commits for question, commits in found.items() if commits}

        return any(self._ask("deleted below", [[folder]], find).values())

    def find_binding_changes(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], FoundCommit]:
        """(path, name) → the last commit that changed a line which binds the name."""
        known = self._ask("changed", [list(place) for place in places], self._search_changes)
        found = {tuple(json.loads(question)): FoundCommit(*answer) for question, answer in known.items() if answer}
        return {(place[0], place[1]): commit for place, commit in found.items()}

    def find_definitions(self, names: Iterable[str]) -> dict[str, str]:
        """Name → where the tree of the commit defines it."""
        known = self._ask("definitions", [[name] for name in names], self._search_definitions, grows=False)
        return {json.loads(question)[0]: answer[0] for question, answer in known.items() if answer}

    def find_orders(
        self, questions: Iterable[tuple[str, ...]], search: Callable[[str, tuple[str, ...]], str | None]
    ) -> dict[tuple[str, ...], str]:
        """Path, function and what its parameters were at some places → the commit that put others there."""

        def find(base: str | None, asked: list[list[str]]) -> dict[str, Answer]:
            found = {json.dumps(one): search(self._span(base), tuple(one)) for one in asked}
            return {question: [commit] for question, commit in found.items() if commit is not None}

        known = self._ask("order of parameters", [list(one) for one in questions], find)
        return {tuple(json.loads(question)): answer[0] for question, answer in known.items() if answer}

    def find_losses(
        self,
        questions: Iterable[tuple[tuple[str, str], ...]],
        search: Callable[[str | None, list[tuple[tuple[str, str], ...]]], dict[tuple[tuple[str, str], ...], str]],
    ) -> dict[tuple[tuple[str, str], ...], str]:
        """Places (path, name) of one definition → the commit that took it out of the last of them."""

        def find(base: str | None, asked: list[list[str]]) -> dict[str, Answer]:
            places = {_pair(flat): json.dumps(flat) for flat in asked}
            return {places[place]: [commit] for place, commit in search(base, list(places)).items()}

        known = self._ask("lost", [[part for pair in place for part in pair] for place in questions], find)
        return {_pair(json.loads(question)): answer[0] for question, answer in known.items() if answer}

    def _ask(self, kind: str, questions: list[list[str]], search: Search, *, grows: bool = True) -> dict[str, Answer]:
        """Question → answer, None where there is nothing; asked of git where nobody has asked before.

        `grows`: what an ancestor answered holds unless a commit since then says otherwise, so only these are walked.
        """
        asked = [json.dumps(question) for question in questions]
        cache = open_cache(analyser=_ANALYSER)
        known = _load(cache, kind, self._commit, asked)
        missing = [question for question in asked if question not in known]
        if not missing:
            return known
        base = self._find_base(cache) if grows else None
        before = _load(cache, kind, base, missing) if base is not None else {}
        try:
            since = _search_all(search, base, [question for question in missing if question in before])
            fresh = _search_all(search, None, [question for question in missing if question not in before])
        except GitError:  # an object is missing: the rest of the history may come
            return known
        fresh |= {question: since.get(question) or answer for question, answer in before.items()}
        if not self._repository.is_shallow:
            rows = [(_key(self._commit, kind, one), json.dumps({"answer": fresh.get(one)})) for one in missing]
            cache.store((*rows, (_ASKED, json.dumps({"answer": self._remember(cache)}))))
        cache.close()
        return known | {question: answer for question, answer in fresh.items() if answer}

    def _remember(self, cache: Cache) -> list[str]:
        """The commits that were asked about last, this one first."""
        return [self._commit, *(one for one in _load_asked(cache) if one != self._commit)][:_MOST_ASKED]

    def _find_base(self, cache: Cache) -> str | None:
        """The nearest ancestor that was asked about."""
        if self._repository.is_shallow:
            return None
        known = [one for one in _load_asked(cache) if one != self._commit and self._repository.has(f"{one}^{{commit}}")]
        distances = {one: count_commits(self._repository, one, self._commit) for one in known}
        older = {one: behind for one, (ahead, behind) in distances.items() if not ahead}
        return min(older, key=lambda one: older[one], default=None)

    def _search_deletions(self, base: str | None, questions: list[list[str]]) -> dict[str, Answer]:
        found = find_deletions(self._repository, self._span(base), [tuple(question) for question in questions])
        return {json.dumps(list(group)): _plain(commit) for group, commit in found.items()}

    def _span(self, base: str | None) -> str:
        return self._commit if base is None else f"{base}..{self._commit}"

    def _search_changes(self, base: str | None, questions: list[list[str]]) -> dict[str, Answer]:
        names: dict[str, set[str]] = {}
        for path, name in questions:
            names.setdefault(path, set()).add(name)
        found = find_binding_changes(self._repository, self._span(base), names)
        return {json.dumps(list(place)): _plain(commit) for place, commit in found.items()}

    def _search_definitions(self, _base: str | None, questions: list[list[str]]) -> dict[str, Answer]:
        found = find_definitions(self._repository, self._commit, [name for (name,) in questions])
        return {json.dumps([name]): [place] for name, place in found.items()}


def _search_all(search: Search, base: str | None, asked: list[str]) -> dict[str, Answer]:
    return search(base, [json.loads(question) for question in asked]) if asked else {}


def _key(commit: str, kind: str, question: str) -> str:
    return hashlib.sha256(json.dumps([commit, kind, json.loads(question)]).encode()).hexdigest()


def _load(cache: Cache, kind: str, commit: str, asked: list[str]) -> dict[str, Answer]:
    """The questions that were answered for a commit, None where there was nothing."""
    keys = {question: _key(commit, kind, question) for question in asked}
    kept = cache.load(keys.values())
    return {question: json.loads(kept[key])["answer"] for question, key in keys.items() if key in kept}


def _load_asked(cache: Cache) -> list[str]:
    kept = cache.load([_ASKED])
    return json.loads(kept[_ASKED])["answer"] if _ASKED in kept else []


def _plain(found: FoundCommit) -> list[str]:
    return [found.commit, found.date, found.subject]


def _pair(flat: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))
