"""`layline lsp`: the door for editors, started from the door for people."""

from __future__ import annotations

from pathlib import Path

from layline.cli.group import command
from layline.cli.show import config_option


@command()
@config_option
def lsp(config: Path | None) -> int:
    """Show dead and breaking patches in an editor (language server).

    Needs the extra `layline[lsp]`; speaks over stdin and stdout.
    """
    from layline.editor.server import build_server

    build_server(config).start_io()
    return 0
