"""`layline lessons …`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from layline.cli.group import group
from layline.cli.show import format_option, show


@group()
def lessons() -> None:
    """What earlier campaigns learned."""


@lessons.command("list")
@click.option("--withdrawn", is_flag=True, help="Show withdrawn lessons too.")
@format_option("text", "json", "md")
def list_(withdrawn: bool, format_: str, output: Path | None) -> int:
    """List every lesson of this repository."""
    from layline.app.lessons import lessons_list

    return show(lessons_list(withdrawn=withdrawn), format_, output)


@lessons.command("show")
@click.argument("lesson")
@format_option("text", "json", "md")
def show_(lesson: str, format_: str, output: Path | None) -> int:
    """Show one lesson, by its id."""
    from layline.app.lessons import lessons_show

    return show(lessons_show(lesson), format_, output)


@lessons.command()
@click.argument("gpu")
@click.argument("operator")
@click.argument("language")
@click.option("--takeaway", required=True, help="The reusable lesson, in one sentence.")
@click.option("--context", default="", help="Shape family, kernel path, hardware scope.")
@click.option("--signal", default="", help="What was observed.")
@click.option("--applicability", default="", help="When to reuse it, and when not.")
@click.option("--anti-pattern", is_flag=True, help="Record it as something not to retry.")
@format_option("text", "json", "md")
def add(
    gpu: str, operator: str, language: str, anti_pattern: bool, format_: str, output: Path | None, **fields: Any
) -> int:
    """Add a lesson for GPU, OPERATOR and LANGUAGE."""
    from layline.app.lessons import lessons_add

    named = {name.capitalize(): text for name, text in fields.items() if text}
    return show(lessons_add((gpu, operator, language), named, anti_pattern=anti_pattern), format_, output)


@lessons.command()
@click.argument("lesson")
@click.option("--reason", required=True, help="Why it does not hold.")
@click.option("--takeaway", default=None, help="What holds instead.")
@format_option("text", "json", "md")
def correct(lesson: str, reason: str, takeaway: str | None, format_: str, output: Path | None) -> int:
    """Withdraw a lesson and say why; nothing is deleted."""
    from layline.app.lessons import lessons_correct

    return show(lessons_correct(lesson, reason, takeaway), format_, output)
