"""`layline init` and `layline doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.group import command
from layline.cli.show import at_option, config_option, format_option, show


@command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path), default=".")
@click.option(
    "--git",
    type=click.Path(exists=True, path_type=Path),
    default=None,
    help="The downstream's clone or bare mirror; default: FOLDER.",
)
@at_option
@click.option(
    "--upstream",
    "upstreams",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A clone or bare mirror of an upstream that you have. Can be repeated.",
)
@click.option("--force", is_flag=True, help="Replace an existing layline.toml; your edits are lost.")
@format_option("text", "json", "md")
def init(
    folder: Path,
    git: Path | None,
    at: str,
    upstreams: tuple[Path, ...],
    force: bool,
    format_: str,
    output: Path | None,
) -> int:
    """Write layline.toml by looking at the project.

    It looks for submodules, written pins, required versions, clones beside the project, and folders of patches. What is
    ambiguous becomes a comment with the alternatives.
    """
    from layline.app import init as app_init

    return show(app_init.init(folder, git=git, at=at, force=force, upstreams=upstreams), format_, output)


@command()
@at_option
@click.option("--pins", is_flag=True, help="Only check that each pin can be read; needs no upstream objects.")
@click.option(
    "--executor", default=None, metavar="WHERE", help="Also check the machines of local:N, ray://HOST:PORT or auto."
)
@format_option("text", "json", "md")
@config_option
def doctor(at: str, pins: bool, executor: str | None, format_: str, output: Path | None, config: Path | None) -> int:
    """Say what is configured, found and missing.

    Exit 1 if something is missing; each line says how to get it. Without a layline.toml, only the machine is checked.
    """
    from layline.app import doctor as app_doctor
    from layline.app.doctor_executor import doctor_executor
    from layline.config import has_settings_file
    from layline.workspace.open import open_workspace

    if executor is not None:
        return show(doctor_executor(executor), format_, output)
    if config is None and not pins and not has_settings_file(Path.cwd()):
        return show(app_doctor.doctor_machine(), format_, output)
    return show(app_doctor.doctor(open_workspace(config, at=at), pins=pins), format_, output)


@command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Show the help of a command."""
    inner = ctx.find_root()
    for word in words:
        if not isinstance(inner.command, click.Group):
            raise click.UsageError(f"`{inner.command_path}` has no commands of its own.", inner)
        name, found, _ = inner.command.resolve_command(inner, [word])
        if found is not None:
            inner = click.Context(found, info_name=name, parent=inner)
    click.echo(inner.get_help())
    return 0


@command()
@click.argument("name", default="config")
@format_option("json", "md", "text")
def schema(name: str, format_: str, output: Path | None) -> int:
    """Print a JSON Schema: of layline.toml (`config`), or of an answer.

    Editors complete and check with it; `--format text` lists every key. `drift` stands for `layline.drift/1`.
    """
    from layline.app import schema as app_schema

    return show(app_schema.schema(name), format_, output)
