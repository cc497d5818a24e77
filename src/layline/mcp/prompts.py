"""Prompts: the questions users ask most, spelled out for an agent."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer


def inventory_for_a_customer(backend: str) -> str:
    """A complete table of the patches of one backend."""
    return (
        f"Call patches with ask=list and backend={backend!r}, and follow page.next_offset to the end. Give one "
        "table: "
        "Patch | What it does | Upstream symbol | Code location | How to enable. Drop no row; mark uncertain rows "
        "with "
        "their reason. Close with what was skipped."
    )


def how_do_i_use(feature: str) -> str:
    """Where a feature is and how it is switched on."""
    return (
        f"Call patches with ask=find and word={feature!r}, then ask=show for each patch it names. Say which flags, "
        "packages, environment variables and versions must hold, where the code is, and which other patches touch "
        "the "
        "same target. Only claim what the answers show."
    )


def upgrade_a_backend(backend: str) -> str:
    """What breaks at the newest upstream, why, and the edits."""
    return (
        f"Call upgrade with ask=plan and backend={backend!r} and list its steps. After the user agrees, call "
        "write with ask=upgrade. On its branch make each mend that is not mechanical, in the order of the steps, "
        "following its `why` and `example` (full=true adds upstream's `diff`); after each call upgrade with "
        "ask=check: the place must fit and nothing may be new. "
        "Report what is left."
    )


def port_this_patch(patch: str) -> str:
    """A plan to bring one patch into another framework."""
    return (
        f"Call patches with ask=show and ask=port for patch={patch!r}. Give the ordered plan: files to copy, "
        "symbol to "
        "rebind and when, importers to rebind too, dependencies, new config keys, and the condition word for word."
    )


def write_this_weeks_report(week: str) -> str:
    """The weekly engineering report from git history."""
    return (
        f"Call write with ask=weekly and period={week!r}, then write with ask=index. Summarise the key findings in "
        "order, quote the recommendation of each backend with its inputs, and name what was skipped."
    )


def next_hypothesis(campaign: str) -> str:
    """One hypothesis for the next round of a campaign."""
    return (
        f"Call campaign with ask=status, ask=log (campaign={campaign!r}) and ask=lessons. Propose one hypothesis "
        "with "
        "one change, its bucket, the expected gain and how it could fail; do not repeat what did not help."
    )


PROMPTS = (
    ("Patch inventory for a customer", inventory_for_a_customer),
    ("How do I use feature X?", how_do_i_use),
    ("Upgrade a backend", upgrade_a_backend),
    ("Port this patch", port_this_patch),
    ("Write this week's report", write_this_weeks_report),
    ("Next hypothesis", next_hypothesis),
)
"""Title, and the function whose parameters a user fills in."""


def register(server: MCPServer[Any]) -> None:
    """Add the prompts to a server."""
    for title, prompt in PROMPTS:
        server.prompt(title=title)(prompt)
