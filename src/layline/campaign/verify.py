"""Hold a campaign's folder, commits and work tree against its ledger. Finders yield what does not fit."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from layline.campaign.folder.derive import APPEND_ONLY, derive_folder
from layline.campaign.folder.messages import build_commit_message
from layline.campaign.ledger.state import Phase, Settled
from layline.campaign.operators import NAMES
from layline.campaign.rounds import find_thawed
from layline.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.campaign.ledger.ledger import Entry
    from layline.campaign.rounds import Campaign


def find_deviations(campaign: Campaign) -> Iterator[str]:
    """Everything that is not as the ledger says; reading the ledger has already checked its chain."""
    chain = campaign.ledger.read()
    if chain.torn:
        yield (
            f"ledger.jsonl: an unfinished entry of {len(chain.torn)} bytes at the end; `layline campaign resume` "
            "removes it"
        )
    yield from _find_changed_files(campaign)
    yield from _find_changed_commits(campaign)
    yield from _find_other_verdicts(campaign)
    yield from find_other_draws(chain.entries)
    yield from _find_changed_kernel(campaign)
    yield from find_edited_operator(campaign)


def find_edited_operator(campaign: Campaign) -> Iterator[str]:
    """An operator file of the user's own that is another one now; those that ship change with Layline."""
    if campaign.state.manifest.operator in NAMES:
        return
    for name in find_thawed(campaign):
        if name.startswith("operator:"):
            yield f"{name} was edited since the campaign began: nothing more is measured; restore it, or begin a new one"


def _find_changed_files(campaign: Campaign) -> Iterator[str]:
    for name, content in derive_folder(campaign.ledger.read().entries, campaign.place).items():
        place = campaign.folder / name
        if not place.is_file():
            yield f"{name}: missing; `layline campaign resume` writes it again"
        elif place.read_bytes() != content:
            grown = name in APPEND_ONLY and place.read_bytes().startswith(content)
            yield f"{name}: {'has lines that the ledger does not have' if grown else 'differs from what the ledger says'}"


def _find_changed_commits(campaign: Campaign) -> Iterator[str]:
    state, tree = campaign.state, campaign.tree
    parent = state.origin["commit"]
    for item in state.rounds:
        if item.settled is not Settled.ACCEPTED or item.commit is None:
            continue
        try:
            raw = tree.git("cat-file", "commit", item.commit).decode("utf-8", "replace")
        except GitError:
            yield f"round {item.number}: its commit {item.commit} is not in the repository"
            continue
        head, _, message = raw.partition("\n\n")
        if f"parent {item.parent}" not in head.splitlines():
            yield f"round {item.number}: its commit does not follow {item.parent}"
        if message != build_commit_message(state, item, campaign.place):
            yield f"round {item.number}: the message of {item.commit} is not the one of this round"
        for file in state.kernel(item.kernel).files:
            if tree.read_blob(item.commit, file.path) != (file.mode, file.data):
                yield f"round {item.number}: {file.path} in {item.commit} is not the kernel that was judged"
        if item.parent != parent:
            yield f"round {item.number}: the chain of accepted commits is broken before it"
        parent = item.commit


def _find_other_verdicts(campaign: Campaign) -> Iterator[str]:
    """Judging the recorded measurements again gives the recorded verdicts."""
    for item in campaign.state.rounds:
        if item.verdict is None or item.last_run is None:
            continue
        again = campaign.bench.judge(item.last_run.measurement, item.bucket)
        if again.outcome is not item.verdict.outcome:
            yield (
                f"round {item.number}: judged again, the recorded measurement gives {again.outcome}, the ledger "
                f"says {item.verdict.outcome}"
            )


def find_other_draws(entries: Iterable[Entry]) -> Iterator[str]:
    """A measuring run has the seed that the ledger committed to before it began; older ledgers committed to none."""
    drawn: dict[int, str] = {}
    for entry in entries:
        if entry.kind == "attempted":
            drawn[entry.data["round"]] = entry.data.get("seed_commitment", "")
        elif entry.kind == "measured" and drawn.get(entry.data["round"]):
            number, measurement = entry.data["round"], entry.data["measurement"]
            promised = drawn.pop(number)
            if hashlib.sha256(bytes.fromhex(measurement["seed"])).hexdigest() != promised:
                yield f"round {number}: it was measured with a different seed from the one that the ledger committed to"


def _find_changed_kernel(campaign: Campaign) -> Iterator[str]:
    state = campaign.state
    if state.baseline is None or state.phase is Phase.VALIDATE:
        return
    if campaign.read_kernel().id != state.best.kernel:
        yield (
            f"the kernel in the work tree is not that of round {state.best.number} (is it an edit for the next round?)"
        )
