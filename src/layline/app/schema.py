"""`schema`: the JSON Schema of what Layline reads and answers, and the same as a table for people."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache, reduce
from operator import or_
from typing import Any

from typing_extensions import get_type_hints

from layline import codec
from layline.campaign import answers as campaign_answers
from layline.config import Settings
from layline.core.report import Answer, Paragraph, Report, Section, Table
from layline.core.schema_tables import find_answer_tables, find_tables
from layline.dashboard import answers as dashboard_answers
from layline.errors import ConfigError
from layline.gap import answers as gap_answers
from layline.patches import answers as patches_answers
from layline.periodic import answers as periodic_answers
from layline.project import answers as project_answers
from layline.upgrade import answers as upgrade_answers

_DECLARED = (
    patches_answers,
    gap_answers,
    upgrade_answers,
    periodic_answers,
    campaign_answers,
    dashboard_answers,
    project_answers,
)
CONFIG = "config"


@cache
def find_answers() -> dict[str, tuple[Any, ...]]:
    """`layline.<thing>/1` → how it is declared; an answer about one backend may look other than one about all."""
    found: dict[str, tuple[Any, ...]] = {}
    for module in _DECLARED:
        for kind in vars(module).values():
            if getattr(kind, "__module__", "") == module.__name__ and "schema" in getattr(kind, "__annotations__", {}):
                (name,) = get_type_hints(kind)["schema"].__args__
                found[name] = (*found.get(name, ()), kind)
    return found


def schema(name: str) -> Answer:
    """The JSON Schema called `name`; the report lists every key with its meaning."""
    answers = {full.removeprefix("layline.").partition("/")[0]: full for full in find_answers()}
    if name == CONFIG:
        title, built = "layline.toml", codec.schema(Settings, name="layline.toml")
    elif (short := name.removeprefix("layline.").partition("/")[0]) in answers:
        title, built = answers[short], build_answer_schema(answers[short])
    else:
        near = get_close_matches(name, (CONFIG, *answers), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join((CONFIG, *answers))}."
        raise ConfigError(f"There is no schema called {name!r}.", hint=hint)
    sections = tuple(
        Section(
            title=place, blocks=(Paragraph(meaning), Table(columns=("key", "type", "default", "meaning"), rows=rows))
        )
        for place, meaning, rows in (find_tables(built, built, "") if name == CONFIG else find_answer_tables(built))
    )
    return Answer(report=Report(title=title, sections=sections), data=built)


def build_answer_schema(name: str) -> dict[str, Any]:
    """What an answer has; fields may be added to it, so unknown ones are no mistake."""
    return codec.schema(reduce(or_, find_answers()[name]), name=name, written=True)
