"""Markdown of a report, set into a page of the site."""

from __future__ import annotations

import json
import posixpath
from dataclasses import asdict, dataclass

from markupsafe import Markup

from layline.core.evidence import quote_path
from layline.dashboard.cache import Rendered, code_digest, digest
from layline.dashboard.content import Content
from layline.dashboard.prose import Addresses
from layline.render.html import Article, Links, render_article
from layline.render.markup import Heading


@dataclass(frozen=True, slots=True, kw_only=True)
class SetArticle:
    title: str | None
    markup: Markup
    headings: tuple[Heading, ...]
    dead_links: tuple[str, ...]


def set_article(
    markdown: str, page: str, content: Content, addresses: Addresses, cached: Rendered, *, folder: str | None
) -> SetArticle:
    """The document on `page`; relative links lead to the sister pages of the site where those exist."""
    published = {source.removesuffix(".md") + ".html": source for source in content.articles}

    def resolve(address: str) -> str | None:
        path = address.partition("#")[0]
        if folder is None or not path.endswith((".md", ".html", ".pdf")):
            return None
        target = posixpath.normpath(posixpath.join(posixpath.dirname(folder), path))
        wanted = posixpath.splitext(target)[0] + ".html"
        if wanted not in published:
            return None
        return quote_path(posixpath.relpath(wanted, posixpath.dirname(page)))

    key = digest("article", code_digest(), markdown, page, folder, sorted(published), addresses.commits)
    kept = cached.load(key)
    if kept is None:
        article = render_article(markdown, Links(resolve=resolve, commits=addresses.commits))
        cached.save(key, json.dumps(asdict(article)).encode())
    else:
        plain = json.loads(kept)
        headings = tuple(Heading(**heading) for heading in plain.pop("headings"))
        article = Article(**{**plain, "headings": headings, "dead_links": tuple(plain["dead_links"])})
    return SetArticle(
        title=article.title,
        markup=Markup(article.html),  # noqa: S704  our renderer escapes every word
        headings=article.headings,
        dead_links=article.dead_links,
    )
