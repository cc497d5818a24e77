"""`layline campaign handoff`: every prerequisite, what is missing, and a draft manifest."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.campaign.environment import check_environment
from layline.campaign.handoff import Project, Request, find_disagreements, find_prerequisites
from layline.campaign.project_docs import find_documents
from layline.campaign.session.places import clock
from layline.campaign.told.handoff import build_handoff, find_metric, read_document, render_draft
from layline.core.report import Answer
from layline.git.write import open_work_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def campaign_handoff(
    request: Request,
    *,
    python: str = sys.executable,
    earlier: Mapping[str, Any] | None = None,
    now: Callable[[], str] = clock,
) -> Answer:
    """Collect and check; what is missing is named, nothing is guessed."""
    tree = open_work_tree(Path.cwd())
    request = replace(request, trusted_metric=find_metric(request))
    listed = tree.git("ls-files", "-z").decode("utf-8", "surrogateescape").split("\0")
    files = [file for file in listed if file]
    texts = {file: text for file in find_documents(files) if (text := read_document(tree.root / file))}
    sources = {
        file: read_document(tree.root / file) for file in files if file.startswith("bench") and file.endswith(".py")
    }
    rows = tuple(find_prerequisites(request, Project(files=files, texts=texts, sources=sources)))
    environment, machine = check_environment(tree.root, request, python)
    draft = render_draft(request, rows, now(), earlier or {})
    return build_handoff(request, rows, tuple(environment), tuple(find_disagreements(request, machine)), draft)
