"""The newest reports as an Atom feed; addresses are relative, because a site does not know where it will stand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from layline.dashboard.archive import Entry

MOST = 40


def render_feed(title: str, project: str, entries: Sequence[Entry]) -> bytes:
    """A feed of the newest entries; its date is the newest report's."""
    newest = entries[0].date if entries else "1970-01-01"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{escape(title)}</title>",
        f"<id>{_identify(project, newest[:4], 'feed')}</id>",
        f"<updated>{newest}T00:00:00Z</updated>",
        f"<author><name>{escape(project)}</name></author>",
        '<link rel="self" type="application/atom+xml" href="feed.xml"/>',
        '<link href="index.html"/>',
    ]
    for entry in entries[:MOST]:
        lines += [
            "<entry>",
            f"<title>{escape(entry.title)}</title>",
            f"<id>{_identify(project, entry.date, entry.page)}</id>",
            f"<updated>{entry.date}T00:00:00Z</updated>",
            f'<link href="{escape(entry.page)}"/>',
            f'<category term="{escape(entry.kind)}"/>',
            f"<summary>{escape('; '.join([entry.note, *(item.short for item in entry.advice)]))}</summary>",
            "</entry>",
        ]
    return ("\n".join([*lines, "</feed>"]) + "\n").encode()


def _identify(project: str, date: str, page: str) -> str:
    """A tag URI (RFC 4151): the same for the same report wherever the site stands."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in project.lower()).strip("-")
    return escape(f"tag:{name or 'project'}.invalid,{date}:{page}")
