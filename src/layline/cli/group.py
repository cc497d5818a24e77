"""Groups and commands as all of Layline's are: whole summaries, examples, hints for typing errors, -q and -v."""

from __future__ import annotations

import difflib
import importlib
import inspect
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from layline.cli.complete import complete_backends
from layline.cli.examples import EXAMPLES

_MOST_MEANT = 3
TALK = "layline.talk"
"""In the context's `meta`: `quiet`, `verbose`, or nothing."""


def _remember(word: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def remember(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if given:
            ctx.find_root().meta[TALK] = word

    return remember


def find_talk() -> str | None:
    """`quiet` or `verbose`, where the user asked for it."""
    context = click.get_current_context(silent=True)
    return context.find_root().meta.get(TALK) if context is not None else None


QUIET = click.Option(
    ["-q", "--quiet"], is_flag=True, expose_value=False, callback=_remember("quiet"), help="Show no progress."
)
VERBOSE = click.Option(
    ["-v", "--verbose"],
    is_flag=True,
    expose_value=False,
    callback=_remember("verbose"),
    help="Show what is being read, even in pipes, and all that was skipped.",
)


class Choice(click.Choice[str]):
    """One of a few words; a near one is asked about."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        near = difflib.get_close_matches(str(value), self.choices, n=1)
        said = super().get_invalid_choice_message(value, ctx)
        return f"{said} Did you mean {near[0]!r}?" if near else said


class Command(click.Command):
    """A command with examples below its options."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, last = super().get_params(ctx)
        return [*own, QUIET, VERBOSE, last]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        extra = super().parse_args(ctx, args)
        if extra and not ctx.resilient_parsing:
            raise ExtraArgument(extra, ctx)
        return extra

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(ctx, formatter)


class ExtraArgument(click.UsageError):
    """More words than a command takes, and how the same is said with options or quotes."""

    def __init__(self, extra: list[str], ctx: click.Context) -> None:
        several = "s" if len(extra) > 1 else ""
        super().__init__(f"Got unexpected extra argument{several} ({' '.join(extra)})", ctx)
        self.meant = _find_call(extra, ctx)
        """The whole command that was probably meant; None where nothing suggests one."""


def _find_call(extra: list[str], ctx: click.Context) -> str | None:
    arguments = [one.name for one in ctx.command.params if isinstance(one, click.Argument)]
    given = [str(ctx.params[name]) for name in arguments if name and ctx.params[name] is not None]
    takes = any(one.name == "backend" and isinstance(one, click.Option) for one in ctx.command.params)
    if takes and given and len(extra) == 1:
        keys = {item.value for item in complete_backends(ctx, ctx.command.params[0], "")}
        for backend, rest in ((extra[0], given), (given[0], extra)):
            if backend in keys:
                return shlex.join([*ctx.command_path.split(), *rest, "--backend", backend])
    if arguments[-1:] == ["word"]:
        return shlex.join([*ctx.command_path.split(), *given[:-1], " ".join([given[-1], *extra])])
    return None


class Group(click.Group):
    """A group that prints whole summaries, and names the nearest command where one is not known."""

    command_class = Command

    def __init__(self, *arguments: Any, **given: Any) -> None:
        super().__init__(*arguments, **given)
        self.late: dict[str, str] = {}
        """Commands of other files (`module:attribute`), imported when they are run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self.late})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.late:
            module, _, attribute = self.late[cmd_name].partition(":")
            self.add_command(getattr(importlib.import_module(module), attribute), cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise click.UsageError(_say_unknown(self, args[0], ctx), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        found = [(name, command) for name in names if (command := self.get_command(ctx, name)) is not None]
        with formatter.section("Commands"):
            formatter.write_dl([(name, summarise(command)) for name, command in found if not command.hidden])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(ctx, formatter)


def summarise(command: click.Command) -> str:
    """The first line of the help."""
    return inspect.cleandoc(command.help or "").partition("\n")[0]


def _say_unknown(group: click.Group, name: str, ctx: click.Context) -> str:
    known, path = group.list_commands(ctx), ctx.command_path
    said = f"There is no command `{path} {name}`."
    near = find_meant(name, known, _find_inner(group, ctx))
    meant = " or ".join(f"`{path} {one}`" for one in near)
    return f"{said} Did you mean {meant}?" if near else f"{said} Commands: {', '.join(known)}."


def find_meant(name: str, known: list[str], inner: Iterable[str]) -> list[str]:
    """What a word that is no command may mean: the command of a group that is called so, else the nearest one."""
    inside = list(inner)
    exact = [one for one in inside if one.rpartition(" ")[2] == name]
    if exact:
        return exact[:_MOST_MEANT]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6) or [one for one in known if one.startswith(name)][:1]
    if near:
        return near
    words = {one.rpartition(" ")[2]: one for one in reversed(inside)}
    within = [words[one] for one in difflib.get_close_matches(name, words, n=1, cutoff=0.75)]
    return within or difflib.get_close_matches(name, known, n=1, cutoff=0.5)


def _find_inner(group: click.Group, ctx: click.Context) -> Iterator[str]:
    """`patches drift` of every group below this one."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from (f"{name} {inner}" for inner in command.list_commands(ctx))


def _write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    examples = EXAMPLES.get(ctx.command_path.partition(" ")[2], ())
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"  layline {line}\n")


def command(name: str | None = None) -> Callable[[Callable[..., Any]], Command]:
    """A command outside a group's own decorator."""
    return click.command(name, cls=Command)


def group(name: str | None = None) -> Callable[[Callable[..., Any]], Group]:
    return click.group(name, cls=Group)
