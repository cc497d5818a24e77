"""The documentation says what the program does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_generated_documents_are_current() -> None:
    """If this fails: `make docs`."""
    generated = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))["generate"]()
    stale = [
        str(path.relative_to(ROOT)) for path, text in generated.items() if not path.exists() or path.read_text() != text
    ]
    assert stale == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(<?([^)#>\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_docs_stay_short() -> None:
    """README and everything below docs, generated pages and code blocks included; bars and rules of tables are no words."""
    pages = [page for page in PAGES if page.parent != ROOT or page.name == "README.md"]
    words = {str(page.relative_to(ROOT)): len(re.findall(r"\S*\w\S*", page.read_text())) for page in pages}
    longest = sorted(words.items(), key=lambda item: -item[1])[:5]
    assert sum(words.values()) <= 21_500, longest


SHOWN = re.compile(r"!\[|^```|^    \S", re.MULTILINE)
PLAIN = [page for page in PAGES if page.parent != ROOT and "decisions" not in page.parts]


@pytest.mark.parametrize("page", PLAIN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_page_shows_something(page: Path) -> None:
    """A picture, a terminal or a piece of code: a page of prose alone is not read."""
    assert SHOWN.search(page.read_text()), page.name
