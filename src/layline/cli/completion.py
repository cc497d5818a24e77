"""`layline completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from layline.cli.group import Choice, command

_VARIABLE = "_LAYLINE_COMPLETE"


@command()
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the script that lets a shell complete commands and names.

    Put `eval "$(layline completion bash)"` into ~/.bashrc, the same with zsh into ~/.zshrc, or run `layline completion
    fish > ~/.config/fish/completions/layline.fish`.
    """
    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(ctx.find_root().command, {}, "layline", _VARIABLE).source())
    return 0
