"""`layline campaign operators`: what ships for trusted measuring, and its starting kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.operators import NAMES
from layline.campaign.operators.find import find_operator
from layline.core.report import Answer, Bullets, Code, Report, Section, Table
from layline.errors import ConfigError

if TYPE_CHECKING:
    from layline.campaign import answers


def campaign_operators(name: str | None = None, start: str | None = None) -> Answer:
    """All operators; or one with its shapes; or the text of one of its starting kernels."""
    if name is None:
        found = [find_operator(each).operator for each in NAMES]
        rows = tuple(
            (item.name, item.title, item.metric, ", ".join(start for start, _ in item.starts)) for item in found
        )
        table = Table(columns=("operator", "what", "metric", "starting kernels"), rows=rows)
        report = Report(title="Operators", sections=(Section(title="", blocks=(table,)),))
        names: answers.Operators = {"schema": "layline.operators/1", "operators": [item.name for item in found]}
        return Answer(report=report, data=names)
    operator = find_operator(name).operator
    shapes = tuple(
        f"{shape.label}: " + ", ".join(f"{key}={value}" for key, value in shape.sizes) for shape in operator.shapes
    )
    sections = [Section(title="Shapes", blocks=(Bullets(shapes),))]
    data: answers.Operator = {
        "schema": "layline.operators/1",
        "operator": operator.name,
        "shapes": [shape.label for shape in operator.shapes],
    }
    if start is not None:
        text = find_start(name, start)
        sections = [Section(title=f"Starting kernel {start}", blocks=(Code(text, "c"),))]
        data["kernel"] = text
    return Answer(report=Report(title=operator.title, sections=tuple(sections)), data=data)


def find_start(name: str, start: str) -> str:
    """The text of a starting kernel."""
    operator = find_operator(name).operator
    if start not in dict(operator.starts):
        raise ConfigError(
            f"{name} has no starting kernel {start!r}.",
            hint=f"It has: {', '.join(each for each, _ in operator.starts)}.",
        )
    return operator.start(start)
