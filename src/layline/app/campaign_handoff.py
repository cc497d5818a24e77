"""`layline campaign handoff`: every prerequisite, what is missing, and a draft manifest."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.campaign.environment import check_environment
from layline.campaign.handoff import find_disagreements, find_prerequisites, name_harness
from layline.campaign.handoff_bench import find_benchmark
from layline.campaign.handoff_project import Project, list_some
from layline.campaign.handoff_request import Prerequisite, Request
from layline.campaign.loop.begin import find_dirt
from layline.campaign.project.benchmark import read_benchmark
from layline.campaign.project.leads import Leads
from layline.campaign.project.reach import Reach
from layline.campaign.project.variables import find_variables
from layline.campaign.project_docs import find_devices, find_documents
from layline.campaign.session.places import WORKSPACE, clock
from layline.campaign.told.handoff import (
    DRAFT_MARK,
    build_handoff,
    find_metric,
    read_document,
    render_draft,
    render_quick,
)
from layline.core.report import Answer
from layline.files import write_named
from layline.git.write import Change, open_work_tree

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
    # among the campaigns, where it is no change of the tree
    options = {**request.options, "harness": f"{WORKSPACE}/{name_harness(request)}"}
    request = replace(request, trusted_metric=find_metric(request), options=options)
    listed = tree.git("ls-files", "-z").decode("utf-8", "surrogateescape").split("\0")
    files = [file for file in listed if file]
    texts = {file: text for file in find_documents(files) if (text := read_document(tree.root / file))}
    known = frozenset(files)

    def read(path: str) -> str | None:
        """A file that the tree has, and nothing outside it."""
        place = tree.root / path
        is_inside = path in known and place.resolve().is_relative_to(tree.root.resolve())
        return read_document(place) or None if is_inside else None

    sources = {
        file: read(file) or "" for file in files if file.startswith("bench") and file.endswith((".py", ".yaml", ".yml"))
    }
    devices, _where = find_devices(request.gpu, texts)
    project = Project(
        files=files,
        texts=texts,
        sources=sources,
        read=read,
        variables=find_variables(files, read),
        leads=Leads(reach=Reach(files, read), read=read),
        follow=cache(lambda path, command: read_benchmark(path, command, read, devices)),
    )
    project = replace(project, benchmark=find_benchmark(request, project))
    rows = tuple(find_prerequisites(request, project))
    environment, machine = check_environment(tree.root, request, python)
    drafted = next((one.path for one in tree.find_changes() if _is_draft(tree.root / one.path)), None)
    environment.append(_tell_changes(find_dirt(tree.find_changes(), drafted)))
    drafts = render_draft(request, rows, now(), earlier or {}, project), render_quick(request, project)
    return build_handoff(
        request, rows, tuple(environment), tuple(find_disagreements(request, machine, project)), drafts
    )


def _is_draft(place: Path) -> bool:
    return place.is_file() and read_document(place).startswith(DRAFT_MARK)


def _tell_changes(changes: list[Change]) -> Prerequisite:
    """A campaign begins at a commit."""
    name, listed = "Work tree", list_some([change.path for change in changes])
    if not changes:
        return Prerequisite(name=name, value="clean", found="as the last commit has it")
    told = f"missing: not committed: {listed}; `campaign new` needs a clean work tree"
    return Prerequisite(name=name, value=None, found=told)


def write_harness(answer: Answer) -> None:
    """Where the draft names it; one that is there was perhaps edited, and is kept."""
    found = answer.data["harness"]
    place = open_work_tree(Path.cwd()).root / found["path"] if found is not None else None
    if found is not None and place is not None and not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        write_named(place, found["text"])
