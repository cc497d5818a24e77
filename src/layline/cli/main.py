"""The command tree, imported late, and the error boundary of the CLI."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import click

from layline import __version__
from layline.cli.group import QUIET, VERBOSE, ExtraArgument, Group
from layline.core.bugs import say_bug
from layline.core.environment import explain
from layline.core.memory import collect_seldom
from layline.errors import Error

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module:attribute, one line for --help); kept here so that --help imports nothing else
    "init": ("layline.cli.project:init", "Write layline.toml by looking at the project."),
    "doctor": ("layline.cli.project:doctor", "Say what is configured, found and missing."),
    "schema": ("layline.cli.project:schema", "Print a JSON Schema: of layline.toml (`config`), or of an answer."),
    "gap": ("layline.cli.gap:gap", "Show how far each pinned backend is behind its upstream."),
    "patches": (
        "layline.cli.patches:patches",
        "List monkey patches: what they replace, when they are on.",
    ),
    "upgrade": ("layline.cli.upgrade:upgrade", "Plan a move of the pin, make the mechanical edits, check the result."),
    "watch": ("layline.cli.upgrade_watch:watch", "Show only what is new since the last answer."),
    "impact": ("layline.cli.upgrade_watch:impact", "Say which downstreams an upstream commit breaks, and where."),
    "fleet": ("layline.cli.upgrade_watch:fleet", "Show every project of FILE and what breaks in it: one page."),
    "campaign": ("layline.cli.campaign_run:campaign", "Make a kernel faster in rounds that are measured and judged."),
    "lessons": ("layline.cli.lessons:lessons", "What earlier campaigns learned."),
    "bench": ("layline.cli.bench:bench", "Read benchmark files of kernel campaigns."),
    "periodic": ("layline.cli.periodic:periodic", "Weekly and monthly engineering reports from git history alone."),
    "dashboard": ("layline.cli.dashboard:dashboard", "One static site from the records, with their PDFs."),
    "mcp": ("layline.cli.mcp:mcp", "Serve the same answers to an AI agent (Model Context Protocol)."),
    "lsp": ("layline.cli.lsp:lsp", "Show dead and breaking patches in an editor (language server)."),
    "skills": ("layline.cli.skills:skills", "Skills that tell an AI agent how to use Layline."),
    "pdf": ("layline.cli.pdf:pdf", "Convert one Markdown FILE to a PDF."),
    "cache": ("layline.cli.cache:cache", "What is kept on disk between runs (LAYLINE_CACHE moves it)."),
    "completion": (
        "layline.cli.completion:completion",
        "Print the script that lets a shell complete commands and names.",
    ),
    "help": ("layline.cli.project:help_", "Show the help of a command."),
    "demo": ("layline.cli.demo:demo", "Write the embedded sample and walk through the commands."),
}


class LateGroup(Group):
    """A group whose commands are imported when they are run, so that start-up stays short."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, last = super().get_params(ctx)
        return [*own, QUIET, VERBOSE, last]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in COMMANDS.items()])


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="layline")
def layline() -> None:
    """How far are pinned upstreams behind, which patches still fit, which kernels are really faster?

    Begin with `layline init` in your project, or with `layline demo` on a sample.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """The error boundary: what a user or the machine got wrong is one sentence and a hint (2), a bug of ours says so
    (3), ^C is 130.
    """
    collect_seldom()
    try:
        code = layline.main(args=arguments, prog_name="layline", standalone_mode=False)
    except click.exceptions.Abort:
        _leave_interrupted()
    except click.ClickException as error:
        _say_usage(error)
        sys.exit(2)
    except Error as error:
        _say(error)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our pipe has gone; nothing more to say
        sys.exit(0)
    except KeyboardInterrupt:
        _leave_interrupted()
    except Exception as error:  # noqa: BLE001  the boundary: what reaches it is the machine's fault, or our bug
        if fault := explain(error):
            _say(fault)
            sys.exit(2)
        _report_bug(error)
        sys.exit(3)
    sys.exit(code if isinstance(code, int) else 0)


def _say(error: Error) -> None:
    click.echo(f"error: {error.message}", err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)


def _say_usage(error: click.ClickException) -> None:
    """How the command is called, then what is wrong with this call; the error stands last."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        click.echo(context.get_usage(), err=True)
    click.echo(f"error: {error.format_message()}", err=True)
    if context is not None:
        click.echo(f"hint: {_hint_usage(error, context)}", err=True)


def _hint_usage(error: click.ClickException, context: click.Context) -> str:
    """An option that stands before its command is the usual mistake of those who know git."""
    if isinstance(error, ExtraArgument) and error.meant is not None:
        return f"Did you mean `{error.meant}`?"
    if isinstance(error, click.NoSuchOption) and context.parent is None:
        return f"Options come after the command, as in `layline gap show {error.option_name} …`; `layline --help` lists the commands."
    return f"`{context.command_path} --help` explains it."


def _leave_interrupted() -> NoReturn:
    """At once: threads that read ahead, and the worker processes they feed, end with this process."""
    import os

    click.echo("interrupted", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130)


def _report_bug(error: Exception) -> None:
    import os
    import traceback

    click.echo(say_bug(error), err=True)
    if os.environ.get("LAYLINE_DEBUG"):
        click.echo("".join(traceback.format_exception(error)), err=True)
    else:
        click.echo(
            "hint: run again with LAYLINE_DEBUG=1 and report what it prints, with the version of Layline (`layline -V`).",
            err=True,
        )
