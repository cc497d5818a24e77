"""Prompts: the questions users ask most, spelled out for an agent."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer


def register(server: MCPServer[Any]) -> None:
    """Add the prompts to a server."""

    @server.prompt(title="Patch inventory for a customer")
    def inventory_for_a_customer(backend: str) -> str:
        """A complete table of the patches of one backend."""
        return (
            f"Call patches_list for the backend {backend!r} and follow page.next_offset to the end. Give one table "
            "with the columns "
            "Patch | What it does | Patch logic (upstream symbol replaced/wrapped) | Code location | How to "
            "enable, grouped by folder, no row "
            "dropped. Mark rows that are not certain with their reason. Close with the allow-list note and with "
            "what was skipped."
        )

    @server.prompt(title="How do I use feature X?")
    def how_do_i_use(feature: str) -> str:
        """Where a feature is and how it is switched on."""
        return (
            f"Call patches_find with {feature!r}, then patches_show for each patch it names. Say which flags, "
            "packages, environment "
            "variables and versions must hold, in which phase it applies, where the code is, and which other "
            "patches touch the same target. "
            "Only claim what the answers show."
        )

    @server.prompt(title="Port this patch")
    def port_this_patch(patch: str) -> str:
        """A plan to bring one patch into another framework."""
        return (
            f"Call patches_show and patches_port for {patch!r}. Give the ordered plan: files to copy, symbol to "
            "rebind and when, by-value "
            "importers to rebind too, dependencies, new config keys, and the constraints copied verbatim from the "
            "guard."
        )

    @server.prompt(title="Write this week's report")
    def write_this_weeks_report(week: str) -> str:
        """The weekly engineering report from git history."""
        return (
            f"Call periodic_weekly for {week!r}, then dashboard_index. Summarise the key findings in order, quote "
            "the recommendation of each "
            "backend with its inputs, and name what was skipped."
        )

    @server.prompt(title="Next hypothesis")
    def next_hypothesis(campaign: str) -> str:
        """One hypothesis for the next round of a campaign."""
        return (
            f"Call campaign_status and campaign_log for {campaign!r} and lessons_list. Propose exactly one "
            "hypothesis with one change, its bucket, "
            "the expected gain and how it could fail; do not repeat an ineffective direction. Correctness comes "
            "before performance."
        )
