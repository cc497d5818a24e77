"""One HTML page, read strictly: its form, what it links to, what it asks the browser to fetch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from html.parser import HTMLParser
from typing import Any

_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905
_BLOCKS = frozenset(
    {
        "address",
        "article",
        "aside",
        "blockquote",
        "details",
        "div",
        "dl",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "ul",
    }
)
_INTERACTIVE = frozenset({"a", "button", "select", "input", "label", "summary"})
_FORBIDDEN = frozenset(
    {"applet", "base", "embed", "frame", "frameset", "iframe", "marquee", "object", "portal", "style", "template"}
)
_PARENTS = {
    "li": {"ul", "ol"},
    "tr": {"thead", "tbody", "tfoot"},
    "td": {"tr"},
    "th": {"tr"},
    "option": {"select"},
    "summary": {"details"},
    "dt": {"dl", "div"},
    "dd": {"dl", "div"},
}
_FETCHING = {"src", "srcset", "poster", "data", "background", "action", "formaction", "ping", "xlink:href"}
_CSS_FETCH = re.compile(r"url\s*\(|@import", re.IGNORECASE)


@dataclass(slots=True)
class Page:
    """What one page says, and what is wrong with it."""

    ids: set[str] = field(default_factory=set)
    links: list[tuple[str, bool]] = field(default_factory=list)
    """Addresses of `a`, and whether their target may be missing (probed)."""
    fetches: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    policy: str | None = None
    lang: str | None = None
    title: str = ""


def read_page(text: str) -> Page:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.finish()


def encode_page(page: Page) -> dict[str, Any]:
    """Plain data that `decode_page` turns back into the same page."""
    return {**asdict(page), "ids": sorted(page.ids), "seen": sorted(page.seen)}


def decode_page(plain: dict[str, Any]) -> Page:
    links = [(address, probed) for address, probed in plain["links"]]
    return Page(**{**plain, "ids": set(plain["ids"]), "seen": set(plain["seen"]), "links": links})


def find_page_problems(page: Page) -> Iterator[str]:
    """Yields what the page lacks as a whole."""
    for name in ("html", "head", "title", "body", "main", "h1"):
        if name not in page.seen:
            yield f"has no <{name}>"
    if not page.lang:
        yield "has no lang attribute"
    if not page.title.strip():
        yield "has an empty title"
    policy = page.policy or ""
    if "default-src 'none'" not in policy or "unsafe" in policy or "http" in policy:
        yield "does not forbid external requests (Content-Security-Policy)"
    yield from page.problems


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self.stack: list[str] = []
        self.doctype = False

    def problem(self, reason: str) -> None:
        if len(self.page.problems) < 20:
            self.page.problems.append(f"line {self.getpos()[0]}: {reason}")

    def handle_decl(self, decl: str) -> None:
        self.doctype = decl.lower() == "doctype html"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.seen.add(tag)
        self.judge_place(tag)
        self.judge_attributes(tag, attrs)
        given = {name: value or "" for name, value in attrs}
        if tag == "html":
            self.page.lang = given.get("lang")
        if tag == "meta" and given.get("http-equiv", "").lower() == "content-security-policy":
            self.page.policy = given.get("content")
        if tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self.problem("refreshes itself")
        if tag == "script" and not given.get("src"):
            self.problem("has a script inside the page")
        if tag == "a" and "href" in given:
            self.page.links.append((given["href"], "data-probe" in given))
        if tag == "link":
            self.page.fetches.append(given.get("href", ""))
        if tag not in _VOID:
            self.stack.append(tag)

    def judge_place(self, tag: str) -> None:
        if tag in _FORBIDDEN:
            self.problem(f"<{tag}> does not belong on a page of this site")
        parent = self.stack[-1] if self.stack else ""
        if tag in _PARENTS and parent not in _PARENTS[tag]:
            self.problem(f"<{tag}> inside <{parent or 'nothing'}>")
        if tag in _BLOCKS and "p" in self.stack and "svg" not in self.stack:
            self.problem(f"<{tag}> inside <p>")
        if tag in _INTERACTIVE - {"summary", "select", "input"} and "a" in self.stack:
            self.problem(f"<{tag}> inside <a>")

    def judge_attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        for name in {name for name in names if names.count(name) > 1}:
            self.problem(f"<{tag}> has the attribute {name} twice")
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.problem(f"<{tag}> has the attribute {name}, which the policy forbids")
            if name == "id":
                if not value or any(character.isspace() for character in value):
                    self.problem(f"id {value!r} is not a name")
                elif value in self.page.ids:
                    self.problem(f"the id {value!r} appears twice")
                self.page.ids.add(value or "")
            if name in _FETCHING and value:
                self.page.fetches.append(value)
        if tag == "img" and "alt" not in names:
            self.problem("an <img> has no alt")

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if not self.stack or self.stack[-1] != tag:
            self.problem(f"</{tag}> closes <{self.stack[-1] if self.stack else 'nothing'}>")
            if tag in self.stack:
                while self.stack.pop() != tag:
                    pass
            return
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] == "title" and "svg" not in self.stack:
            self.page.title += data
        if self.stack and self.stack[-1] in {"script", "style"} and data.strip():
            self.problem(f"<{self.stack[-1]}> has content of its own")

    def finish(self) -> Page:
        if not self.doctype:
            self.problem("does not begin with <!DOCTYPE html>")
        if self.stack:
            self.problem(f"<{self.stack[-1]}> is never closed")
        return self.page


def find_style_fetches(css: str) -> Iterator[str]:
    """Yields what a stylesheet would ask the browser to fetch."""
    yield from (found[0] for found in _CSS_FETCH.finditer(re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)))
