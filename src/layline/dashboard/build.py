"""Content → every file of the site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from layline.core.evidence import Skipped
from layline.core.progress import Progress, silent
from layline.core.records import GapRecord, RecordStatus
from layline.core.report import Section
from layline.dashboard import search
from layline.dashboard.archive import Entry, view_archive, view_filters
from layline.dashboard.articles import set_article
from layline.dashboard.backend_status import Standing, find_standings, newest_date
from layline.dashboard.breakage import Breakage, find_breakage, find_mismatch
from layline.dashboard.cache import Rendered
from layline.dashboard.content import Content
from layline.dashboard.data import badge_words, build_badges, build_data
from layline.dashboard.data_pages import Board, find_boards
from layline.dashboard.evidence import find_sections
from layline.dashboard.feed import render_feed
from layline.dashboard.pages import ASSETS, NavItem, Pages, Site, asset
from layline.dashboard.pdfs import build_pdfs
from layline.dashboard.prose import Addresses, count_words, join_words
from layline.dashboard.rows import find_rows, view_row
from layline.dashboard.unshown import find_unshown
from layline.dashboard.views import (
    Dive,
    PeriodicView,
    article_page,
    artifact_words,
    current_gaps,
    find_addresses,
    newer_note,
    view_dive,
    view_facts,
    view_periodic,
)
from layline.render.pdf import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What all pages of one build share."""

    content: Content
    standings: tuple[Standing, ...]
    addresses: Addresses
    periodic: tuple[PeriodicView, ...]
    """Newest first."""
    dives: tuple[Dive, ...]
    boards: tuple[Board, ...]
    breakages: Mapping[str, Breakage]
    """By backend, what its newest gap report with evidence says."""
    skipped: tuple[Skipped, ...]
    """What is not on the pages, and why."""
    with_pdf: bool

    def standing(self, key: str) -> Standing | None:
        return next((item for item in self.standings if item.key == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """All files of a site by path, and what could not be shown."""

    files: Mapping[str, bytes]
    skipped: tuple[Skipped, ...]


def build_site(
    content: Content, cached: Rendered, *, engine: Engine | None = None, progress: Progress = silent
) -> Built:
    """Every file of the site; without an engine there are no PDFs."""
    plan = _plan(content, with_pdf=engine is not None)
    pages = Pages(_describe(plan), cached)
    files: dict[str, bytes] = {f"assets/{name}": asset(name) for name in ASSETS}
    files[".nojekyll"] = b""
    skipped = list(plan.skipped)
    for path, page, dead in _build_pages(plan, pages, progress):
        files[path] = page
        skipped += [
            Skipped(f"a link in {path}", f"{address} leads nowhere on the site; the link was removed and its text kept")
            for address in dead
        ]
    files |= dict(build_badges(plan.standings))
    entries = [entry for group in view_archive(plan.periodic, content.gaps) for entry in group.entries]
    files["feed.xml"] = render_feed(content.title, content.project, entries)
    files[search.PAGE] = _search(plan, pages, entries)
    listed = []
    for path, data, what in build_data(content, plan.standings):
        files[path] = data
        listed.append({"href": path, "what": what, "size": len(data)})
    files["data/index.html"] = pages.render("data/index.html", "data", title="Data", files=listed, badges=_badges(plan))
    if engine is not None:
        for job, made in build_pdfs(content, engine, cached, progress):
            files[job.path] = made.data
            skipped += [Skipped(job.source, f"its PDF: {made.note}")] if made.note else []
    return Built(files=files, skipped=tuple(skipped))


def _plan(content: Content, *, with_pdf: bool) -> Plan:
    told = dict(_find_breakages(content))
    standings = find_standings(content.gaps, content.periodic, content.labels, told)
    labels = {item.key: item.label for item in standings}
    content = replace(content, labels={**content.labels, **labels})
    addresses = find_addresses(standings, content.repository)
    by_key = {item.key: item for item in standings}
    order = {key: number for number, key in enumerate(by_key)}
    return Plan(
        content=content,
        standings=standings,
        addresses=addresses,
        periodic=tuple(view_periodic(item, labels, addresses, by_key) for item in content.records.periodic),
        dives=tuple(
            view_dive(
                item,
                by_key.get(item.record.backend.key),
                addresses,
                with_pdf=with_pdf,
                proved=item.record.id in content.evidence,
            )
            for item in sorted(
                current_gaps(content.records.gap), key=lambda item: order.get(item.record.backend.key, 0)
            )
        ),
        boards=tuple(find_boards(content)),
        breakages=_newest_breakages(content, told),
        skipped=(*content.skipped, *content.sections.skipped, *find_unshown(content)),
        with_pdf=with_pdf,
    )


def _find_breakages(content: Content) -> Iterator[tuple[str, Breakage]]:
    for record in content.gaps:
        plain = content.evidence.get(record.id)
        breakage = find_breakage(record, plain) if plain is not None else None
        if breakage is not None:
            yield record.id, breakage


def _newest_breakages(content: Content, told: Mapping[str, Breakage]) -> dict[str, Breakage]:
    """The records stand newest first: of each backend the first that tells."""
    found: dict[str, Breakage] = {}
    for record in content.gaps:
        if record.id in told and record.status is not RecordStatus.SUPERSEDED:
            found.setdefault(record.backend.key, told[record.id])
    return found


def _describe(plan: Plan) -> Site:
    content = plan.content
    kinds = Counter(view.kind for view in plan.periodic)
    told = [f"{kinds[kind]} {kind}" for kind in ("weekly", "monthly") if kinds[kind]]
    told += [count_words(len(content.gaps), "gap report")] if content.gaps else []
    return Site(
        project=content.project,
        name=content.title,
        date=newest_date(content.gaps, content.periodic),
        counts=f"Reports: {join_words(told)}" if told else "No reports",
        nav=tuple(_navigate(plan)),
    )


def _navigate(plan: Plan) -> Iterator[NavItem]:
    if plan.standings:
        yield NavItem(title="Backends", href="index.html#standings-title", folder="backends/")
    for title, template, folder in (("Patches", "patches", "patches/"), ("Campaigns", "campaign", "campaigns/")):
        found = [board for board in plan.boards if board.template == template]
        if found:
            href = found[0].href if len(found) == 1 else "index.html#boards-title"
            yield NavItem(title=title, href=href, folder=folder)
    if plan.periodic or plan.content.gaps:
        yield NavItem(title="Archive", href="index.html#archive")
    yield NavItem(title="Search", href=search.PAGE)
    yield NavItem(title="Data", href="data/index.html")
    for section in plan.content.sections.sections:
        yield NavItem(title=section.title, href=f"{section.name}/index.html")
    for link in plan.content.sections.links:
        external = link.path.startswith("https://")
        yield NavItem(
            title=link.title,
            href=link.path if external else link.path.removeprefix("./"),
            external=external,
            probe=link.probe,
            hint=link.hint,
        )


Page = tuple[str, bytes, tuple[str, ...]]
"""Path, content, and links of its text that lead nowhere."""


def _build_pages(plan: Plan, pages: Pages, progress: Progress) -> Iterator[Page]:
    yield "index.html", _home(plan, pages), ()
    yield from ((f"backends/{item.key}.html", _backend(plan, pages, item), ()) for item in plan.standings)
    for number, view in enumerate(plan.periodic):
        progress("reports", number + 1, len(plan.periodic))
        yield _periodic(plan, pages, number, view)
    yield from _articles(plan, pages)
    for board in (page for listed in plan.boards for page in (listed, *listed.more)):
        yield board.href, pages.render(board.href, board.template, title=board.title, **board.context), ()


def _home(plan: Plan, pages: Pages) -> bytes:
    archive = view_archive(plan.periodic, plan.content.gaps)
    total = sum(len(group.entries) for group in archive)
    return pages.render(
        "index.html",
        "home",
        title=pages.site.name,
        lead=_lead(plan),
        rows=find_rows(plan.standings, plan.breakages),
        skipped=plan.skipped,
        dives=plan.dives,
        boards=plan.boards,
        archive=archive,
        archive_count=count_words(total, "report"),
        filters=view_filters(archive),
        description=f"{plan.content.project}: latest report, distance of every backend from upstream, and what an "
        "upgrade requires.",
    )


def _lead(plan: Plan) -> PeriodicView | None:
    """The newest report that is not dated in the future; where all are, the newest."""
    dated = zip(plan.periodic, plan.content.periodic, strict=True)
    past = [view for view, record in dated if not plan.content.is_future(record.generated_at)]
    return next(iter((*past, *plan.periodic)), None)


def _notes(plan: Plan, standing: Standing) -> tuple[str, ...]:
    """What is wrong with the records and the evidence of one backend, told on its own page too."""
    ids = {record.id for record in plan.content.gaps if record.backend.key == standing.key}
    own = [f"{item.what} {item.why}." for item in plan.skipped if item.what in ids]
    return (*own, *(item.why for item in plan.skipped if item.what == f"evidence of {standing.label}"))


def _backend(plan: Plan, pages: Pages, standing: Standing) -> bytes:
    breakage = plan.breakages.get(standing.key)
    dives = [dive for dive in plan.dives if dive.record.backend.key == standing.key]
    return pages.render(
        f"backends/{standing.key}.html",
        "backend",
        title=standing.label,
        standing=standing,
        row=view_row(standing, breakage),
        breakage=breakage,
        facts=view_facts(standing),
        reports=tuple(link for dive in dives for link in (*dive.pdfs, *dive.pages)),
        evidence_sections=_evidence(plan, standing.key),
        boards=tuple(board for board in plan.boards if board.backend == standing.key),
        notes=_notes(plan, standing),
        badge_words=" ".join(badge_words(standing)[:2]),
    )


def _periodic(plan: Plan, pages: Pages, number: int, view: PeriodicView) -> Page:
    record = plan.content.periodic[number]
    statuses = tuple(
        (plan.content.labels.get(key, key), key, item)
        for key in record.statuses
        for item in (plan.standing(key) or _no_standing(key)).measurements
        if item.source == record.report_id and item.kind == view.kind
    )
    markdown = plan.content.periodic_articles.get(record.report_id)
    article = (
        set_article(markdown, view.page, plan.content, plan.addresses, pages.cache, folder=None) if markdown else None
    )
    page = pages.render(
        view.page,
        "periodic",
        title=view.title,
        report=view,
        statuses=statuses,
        article=article.markup if article else None,
        newer=plan.periodic[number - 1] if number else None,
        older=plan.periodic[number + 1] if number + 1 < len(plan.periodic) else None,
    )
    return view.page, page, article.dead_links if article else ()


def _search(plan: Plan, pages: Pages, entries: list[Entry]) -> bytes:
    rows = find_rows(plan.standings, plan.breakages)
    hits = tuple(search.find_hits(rows, plan.boards, plan.breakages, entries))
    kinds = tuple(dict.fromkeys(hit.kind for hit in hits))
    return pages.render(search.PAGE, "search", title="Search", hits=hits, kinds=kinds)


def _evidence(plan: Plan, key: str) -> tuple[Section, ...]:
    """What the evidence of the newest gap report tells."""
    dive = next((dive for dive in plan.dives if dive.record.backend.key == key), None)
    plain = plan.content.evidence.get(dive.record.id) if dive else None
    if dive is None or plain is None or find_mismatch(dive.record, plain) is not None:
        return ()
    return tuple(find_sections(plain))


def _no_standing(key: str) -> Standing:
    raise KeyError(key)  # every status key of a report has a standing: find_standings saw the same reports


def _articles(plan: Plan, pages: Pages) -> Iterator[Page]:
    seen: set[str] = set()
    for record in plan.content.gaps:
        for artifact in record.artifacts:
            if artifact.path not in seen:
                seen.add(artifact.path)
                yield _article(plan, pages, record, artifact)


def _article(plan: Plan, pages: Pages, record: GapRecord, artifact: Any) -> Page:
    path = article_page(artifact.path)
    article = set_article(
        plan.content.articles[artifact.source], path, plan.content, plan.addresses, pages.cache, folder=artifact.source
    )
    links = [
        {
            "label": f"The {artifact_words(other.kind, other.language)}",
            "href": article_page(other.path),
            "here": other is artifact,
            "button": False,
        }
        for other in record.artifacts
    ]
    if plan.with_pdf:
        links.insert(
            0, {"label": artifact.label, "href": artifact.path.removeprefix("./"), "here": False, "button": True}
        )
    page = pages.render(
        path,
        "report",
        title=article.title or record.title,
        record=record,
        links=links,
        lang=artifact.language,
        repo=record.upstream.repo if record.upstream.repo.startswith("https://") else None,
        headings=tuple(heading for heading in article.headings if heading.level <= 3),
        article=article.markup,
        note=newer_note(record, plan.standing(record.backend.key)),
    )
    return path, page, article.dead_links


def _badges(plan: Plan) -> list[dict[str, str]]:
    return [
        {
            "label": item.label,
            "svg": f"badges/{item.key}.svg",
            "json": f"badges/{item.key}.json",
            "words": " ".join(badge_words(item)[:2]),
        }
        for item in plan.standings
    ]
