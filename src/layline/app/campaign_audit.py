"""`layline campaign audit`: a foreign campaign folder against the rules."""

from __future__ import annotations

from pathlib import Path

from layline.campaign.audit import find_violations, read_directory, read_revision
from layline.campaign.told.audited import build_report, check_is_campaign, encode_audit
from layline.core.report import Answer
from layline.git import open_repository


def campaign_audit(folder: str, *, repo: Path | None = None, at: str = "HEAD") -> Answer:
    """Every violation with where it was read; with `repo`, the folder is read at a commit and its history too."""
    if repo is None:
        found, place = read_directory(Path(folder)), folder
    else:
        repository = open_repository(repo)
        commit = repository.resolve(at)
        found, place = read_revision(repository, commit, folder), f"{folder} at {commit}"
    check_is_campaign(found, folder)
    violations = tuple(find_violations(found))
    return Answer(
        report=build_report(found, place, violations),
        data=encode_audit(found, place, violations),
        needs_person=bool(violations),
    )
