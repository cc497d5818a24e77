"""The few SVG elements the charts are made of. Every text is escaped; numbers are rounded, so bytes never vary."""

from __future__ import annotations

from html import escape

INK = "#5b6472"
"""Fallbacks for a drawing that stands alone or in a PDF; on the site the classes take the theme's colours."""
FAINT = "#c3c8d0"
SERIES = ("#1f7a78", "#b4592a", "#5a5fb0", "#8a6d1f", "#7a3f6e", "#3f6e4b")
TONES = {"good": "#2f7d4f", "plan": "#a06a12", "bad": "#b23a3a", "none": "#7b8494"}

Attribute = str | int | float | None


def number(value: float) -> str:
    """At most two decimals, no trailing zeros, no negative zero."""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def element(name: str, content: str = "", /, **attributes: Attribute) -> str:
    """One element; `class_` and `stroke_width` become `class` and `stroke-width`; None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value if isinstance(value, str) else number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def title(text: str) -> str:
    """What a pointer that rests on the shape is told."""
    return f"<title>{escape(text)}</title>"


def text(x: float, y: float, words: str, **attributes: Attribute) -> str:
    given: dict[str, Attribute] = {"class_": "label", "fill": INK, "font_size": 12, **attributes}
    return element("text", escape(words), x=x, y=y, **given)


def drawing(width: float, height: float, label: str, *shapes: str, class_: str = "drawing") -> str:
    """A whole drawing that says in words what it shows."""
    return element(
        "svg",
        title(label) + "".join(shapes),
        xmlns="http://www.w3.org/2000/svg",
        class_=class_,
        role="img",
        aria_label=label,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        font_family="ui-sans-serif, system-ui, sans-serif",
    )


def path(points: list[tuple[float, float]]) -> str:
    """The `d` of a line through points."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) if points else ""
