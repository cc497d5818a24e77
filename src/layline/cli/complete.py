"""What the shell completes: backends of layline.toml, and patches that an earlier answer has read already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from layline.errors import Error


def complete_backends(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of the configured backends."""
    from layline.config import find_settings_file, load_settings

    with suppress(Error):
        backends = load_settings(find_settings_file(Path.cwd())).settings.backends
        return [CompletionItem(key, help=one.label) for key, one in backends.items() if key.startswith(incomplete)]
    return []


def complete_patches(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids and targets; only those that are kept, because a shell does not wait."""
    with suppress(Error):
        return [CompletionItem(name) for name in dict.fromkeys(_find_names()) if name.startswith(incomplete)]
    return []


def _find_names() -> Iterator[str]:
    from layline.patches.kept import load_kept
    from layline.patches.named import find_names
    from layline.workspace.open import open_workspace

    yield from find_names(load_kept(open_workspace()))


backend_argument = click.argument("backend", required=False, shell_complete=complete_backends)
patch_argument = click.argument("patch_id", metavar="PATCH", shell_complete=complete_patches)
backend_option = click.option(
    "--backend", default=None, shell_complete=complete_backends, help="Only look in this backend."
)
