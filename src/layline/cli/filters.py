"""Options that choose which findings are shown; the same for `patches list` and `patches drift`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from layline.cli.group import Choice
from layline.core.evidence import SEVERITY_WORDS, Severity

if TYPE_CHECKING:
    from layline.patches.wanted import Wanted

Function = TypeVar("Function", bound="Callable[..., Any]")


def filter_options(*kinds: str) -> Callable[[Function], Function]:
    """`--severity --path --target --kind --certain --limit`; `kinds` are the words `--kind` takes here."""
    options = (
        click.option(
            "--severity",
            "severities",
            type=Choice(SEVERITY_WORDS),
            multiple=True,
            metavar="WORD",
            help="Only error, warning or note (JSON: breaks, look, ok). Can be repeated.",
        ),
        click.option(
            "--path", default=None, metavar="TEXT", help="Only our files whose path has TEXT, in any case; `*` matches."
        ),
        click.option(
            "--target",
            default=None,
            metavar="TEXT",
            help="Only targets with TEXT in their name, in any case; `*` matches.",
        ),
        click.option(
            "--kind",
            "kinds",
            type=Choice(kinds),
            multiple=True,
            metavar="KIND",
            help=f"Only this kind: {', '.join(kinds)}. Can be repeated.",
        ),
        click.option("--certain/--uncertain", default=None, help="Only what is certain, or only what is not."),
        click.option(
            "--limit", type=click.IntRange(min=1), default=None, metavar="N", help="Print N findings at most."
        ),
    )

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def read_filters(chosen: dict[str, Any]) -> Wanted:
    """What these options ask for, as a value."""
    from layline.patches.wanted import Wanted

    return Wanted(
        severities=tuple(Severity.named(text) for text in chosen["severities"]),
        path=chosen["path"],
        target=chosen["target"],
        kinds=chosen["kinds"],
        certain=chosen["certain"],
    )
