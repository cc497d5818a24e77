"""`layline mcp`: the door for agents, started from the door for people."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.show import config_option


@click.command()
@config_option
def mcp(config: Path | None) -> int:
    """Serve Layline's answers to an AI agent over stdio (Model Context Protocol). Needs the extra `[mcp]`."""
    from layline.mcp.server import build_server

    build_server(config).run("stdio")
    return 0
