"""What a campaign begins with: a clean tree, frozen hashes, lessons of earlier ones."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline import __version__, codec
from layline.campaign.ledger.ledger import LOCK_NAME, Ledger
from layline.campaign.rounds import (
    Campaign,
    hash_text,
)
from layline.campaign.session.lessons import read_lessons
from layline.campaign.session.places import LESSONS, WORKSPACE
from layline.campaign.values.manifest import Manifest, render_manifest
from layline.core.report import Answer, Bullets, Paragraph, Section
from layline.errors import ConfigError, Error
from layline.git.write import WorkTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.git.write import Change


OURS = (f"{WORKSPACE}/", f"{LESSONS}/")
"""What Layline itself writes into the tree; never part of a candidate, never in the way."""


def with_lessons(answer: Answer, campaign: Campaign) -> Answer:
    """READ_HISTORICAL_TIPS: what earlier campaigns on the same hardware, operator and language learned."""
    found = [lesson for lesson in read_lessons(campaign) if not lesson.withdrawn]
    block = Bullets(tuple(f"{lesson.id}: {lesson.takeaway}" for lesson in found)) if found else Paragraph("None yet.")
    report = replace(
        answer.report,
        sections=(*answer.report.sections, Section(title="Lessons of earlier campaigns", blocks=(block,))),
    )
    listed = [{"id": lesson.id, "takeaway": lesson.takeaway} for lesson in found]
    return replace(answer, report=report, data={**answer.data, "lessons": listed})


def find_inside(tree: WorkTree, draft: Path | None) -> str | None:
    """The draft as the repository names it; None where it lies elsewhere."""
    place = (Path.cwd() / draft).resolve() if draft is not None else None
    return place.relative_to(tree.root).as_posix() if place is not None and place.is_relative_to(tree.root) else None


@contextmanager
def without_traces(ledger: Ledger, root: Path) -> Iterator[None]:
    """A campaign that is refused before its first entry leaves no folder behind. Call with the lock held."""
    try:
        yield
    except Error:
        if [entry.name for entry in ledger.folder.iterdir()] == [LOCK_NAME]:
            (ledger.folder / LOCK_NAME).unlink()
            for folder in (ledger.folder, *ledger.folder.parents):
                if folder == root or any(folder.iterdir()):
                    break
                folder.rmdir()
        raise


def describe_origin(campaign: Campaign, manifest: Manifest, draft: str | None) -> dict[str, object]:
    tree = campaign.tree
    identity = tree.identity() if manifest.git_commit else None
    origin = {
        "commit": tree.head(),
        "branch": tree.branch(),
        "layline": __version__,
        "frozen": campaign.bench.frozen(),
        "identity": {"name": identity.name, "email": identity.email} if identity else None,
        "labels": list(campaign.bench.labels),
    }
    sources = getattr(campaign.bench, "sources", {})
    if sources:
        origin["operator_files"] = sources  # what was judged by, whatever becomes of the files
    if draft is not None:
        origin["draft"] = draft  # it may go on lying there, in no round's way
    return {
        "manifest": codec.encode(manifest),
        "manifest_sha256": hash_text(render_manifest(manifest)),
        "origin": origin,
    }


def find_dirt(changes: Iterable[Change], draft: str | None) -> list[Change]:
    """Changes that are neither Layline's own files nor the manifest the campaign began from."""
    return [change for change in changes if not change.path.startswith(OURS) and change.path != draft]


def check_tree(tree: WorkTree, manifest: Manifest, draft: str | None) -> None:
    """A clean tree whose kernel files are committed as the bytes that lie there."""
    changes = find_dirt(tree.find_changes(), draft)
    if changes:
        listed = ", ".join(change.path for change in changes[:5])
        raise ConfigError(
            f"The work tree is not clean: {listed}.",
            hint="Commit, stash or ignore these first: a rollback must be exact.",
        )
    head = tree.head()
    for path in manifest.kernel_files:
        committed, place = tree.read_blob(head, path), tree.root / path
        if committed is None or not place.is_file():
            raise ConfigError(
                f"{path} is not a committed file of this repository.",
                hint="Commit the starting kernel: a rollback returns to it.",
            )
        if committed[1] != place.read_bytes():
            raise ConfigError(
                f"git changes {path} on checkout (a filter or line endings).",
                hint="Campaigns need the bytes as committed: switch off the filter for this file.",
            )
