"""What must hold before a round may begin."""

from __future__ import annotations

from layline.campaign.ledger.rules import find_duties
from layline.campaign.ledger.state import Phase
from layline.campaign.loop.begin import (
    find_dirt,
)
from layline.campaign.proposers import Proposal
from layline.campaign.proposers.duplicates import find_near_duplicates
from layline.campaign.rounds import (
    Campaign,
    check_frozen,
    check_machine,
    find_duplicates,
)
from layline.campaign.values.manifest import Measuring
from layline.campaign.values.measurement import Bucket
from layline.campaign.workspace import is_workspace
from layline.errors import ConfigError
from layline.git.write import find_foreign


def check_ready(campaign: Campaign) -> None:
    """A new round may begin: nothing is open, nothing is owed, the limit is not reached, the harness is the same."""
    check_frozen(campaign)
    check_machine(campaign)
    state = campaign.state
    if state.phase is not Phase.ANALYZE:
        hints = {
            Phase.BASELINE: "Run `layline campaign baseline` first.",
            Phase.VALIDATE: "Run `layline campaign resume`: a round is open.",
        }
        raise ConfigError(f"No round can begin: the campaign is in {state.phase}.", hint=hints.get(state.phase))
    duties = list(find_duties(state))
    if duties:
        first = duties[0]
        raise ConfigError(
            f"Not yet: {first.why}.", hint=f'`layline campaign note {state.rounds[-1].number} --{first.note} "…"`.'
        )
    limit = state.manifest.max_iterations
    if limit is not None and len(state.rounds) - 1 >= limit:
        raise ConfigError(
            f"max_iterations ({limit}) is reached.", hint="`layline campaign stop` writes the termination check."
        )


def check_proposal(campaign: Campaign, proposal: Proposal, *, again: bool) -> None:
    """One stated hypothesis, an eligible bucket, a change that is new and touches the kernel alone."""
    if not proposal.hypothesis.strip() or not proposal.change.strip():
        raise ConfigError("A round needs a hypothesis and one change before it is measured.")
    if proposal.bucket is None or proposal.bucket.is_refused:
        named = proposal.bucket or "no bucket"
        raise ConfigError(
            f"{named} is not eligible: such a gain never reaches real training.", hint="K1–K4, or W1 with its bound."
        )
    if proposal.bucket is Bucket.W1 and campaign.state.manifest.weight_share is None:
        raise ConfigError(
            "W1 needs its bound.", hint="Set `weight_share` (quant_time(weight) / step_time) in the manifest."
        )
    check_changes(campaign)
    kernel = campaign.read_kernel()
    same = [item.number for item in find_duplicates(campaign.state, kernel)]
    if campaign.state.best.number in same:
        raise ConfigError(
            "The kernel equals the best one byte for byte: there is nothing to judge.", hint="Edit it first."
        )
    if same and not again:
        raise ConfigError(
            f"Round {same[-1]} measured exactly these bytes.", hint="Change something, or measure again with --again."
        )
    near = [
        item.number for item in find_near_duplicates(campaign.state, {file.path: file.data for file in kernel.files})
    ]
    if near and not again:
        raise ConfigError(
            f"This is round {near[-1]}'s kernel except for comments and spacing: there is nothing to judge.",
            hint="Change something, or measure it anyway with --again.",
        )


def check_changes(campaign: Campaign) -> None:
    """Only kernel files may differ; new files are no part of a candidate, but a command would see them."""
    changes = campaign.tree.find_changes()
    allowed = () if is_workspace(campaign.state.manifest) else campaign.state.manifest.kernel_files
    foreign = find_dirt(find_foreign(changes, allowed), campaign.state.origin.get("draft"))
    if campaign.state.manifest.measuring is Measuring.TRUSTED:
        foreign = [item for item in foreign if not item.is_untracked]
    if foreign:
        listed = ", ".join(item.path for item in foreign[:5])
        raise ConfigError(
            f"More than the kernel changed: {listed}.",
            hint=f"A round changes {', '.join(campaign.state.manifest.kernel_files)} and nothing else.",
        )
