"""Which category a merged pull request belongs to: a pure decision with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from layline.config import Category
from layline.core.patterns import Classes

# fix(scope)!: …   ·   Fix/scope: …   ·   [Fix] …   ·   [Backend][Fix] …   ·   fix: …   ·   Fix the …
_CONVENTIONAL = re.compile(r"\s*([A-Za-z]+)(?:\(([^)]*)\))?!?\s*(?::|/)")
_FEW_FILES = 10
"""A pull request of more files that moves a pin does so by the way: its title says what it is about."""
_NEEDS = ("**/*requirements*.txt", "**/*requirements*.in", "**/requirements/**", "**/constraints*.txt", "**/*.lock")
_BRACKETS = re.compile(r"\s*\[([^\]]+)\]")


def judge_category(
    title: str,
    paths: tuple[str, ...],
    categories: tuple[Category, ...],
    *,
    moves_pins: bool,
    changes_comments: Callable[[], bool] = lambda: False,
) -> tuple[str, str]:
    """The category's name and why; the last category takes what no criterion meets. Whether nothing but comments
    changed is asked where nothing else decides: then it is what a change of `README.md` would be.
    """
    found = next(_find_matches(title, paths, categories, moves_pins), None)
    if found is not None:
        return found
    docs = next((one.name for one in categories if one.paths and _all_match(("README.md",), one.paths)), None)
    if docs is not None and changes_comments():
        return docs, "it only changes comments"
    return (categories[-1].name, "no rule applies") if categories else ("Other", "no categories are configured")


def _find_matches(
    title: str, paths: tuple[str, ...], categories: tuple[Category, ...], moves_pins: bool
) -> Iterator[tuple[str, str]]:
    words = re.findall(r"[a-z0-9_]+", title.lower())
    needs = [category for category in categories if category.moves_pins]
    yield from ((one.name, "it only changes requirements") for one in needs if paths and _all_match(paths, _NEEDS))
    movers = needs if moves_pins and len(paths) <= _FEW_FILES else []
    yield from ((one.name, "it moves a pin and says so") for one in movers if set(words) & set(one.words))
    for prefix in find_prefixes(title):
        yield from (
            (category.name, f"its title begins with {prefix!r}")
            for category in categories
            if prefix in category.prefixes
        )
    for category in categories:
        yield from ((category.name, f"its title says {word!r}") for word in words if word in category.words)
    yield from ((one.name, "it moves a pin and little else") for one in movers)
    for category in categories:
        if paths and category.paths and _all_match(paths, category.paths):
            yield category.name, f"all its files match {', '.join(category.paths)}"


def find_prefixes(title: str) -> Iterator[str]:
    """What a title begins with, lower-case, most telling first: brackets, scope, type; without a type its first
    word.
    """
    rest = title
    while found := _BRACKETS.match(rest):
        yield from re.findall(r"[a-z0-9]+", found[1].lower())
        rest = rest[found.end() :]
    conventional = _CONVENTIONAL.match(rest)
    if conventional:
        kind, scope = conventional.groups()  # `build(deps)` is about dependencies, `fix(ci)` about CI
        yield from (part.strip().lower() for part in (scope, kind) if part)
    else:
        yield from re.findall(r"[a-z0-9]+", rest.lower())[:1]


def _all_match(paths: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    classes = Classes({"yes": patterns}, rest="no")
    return all(classes.of(path) == "yes" for path in paths)
