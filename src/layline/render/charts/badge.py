"""A badge as other pages embed it: self-contained, no font of its own, and the endpoint shields.io reads."""

from __future__ import annotations

from layline.render.charts import svg

_COLOURS = {"good": "#2c6e49", "plan": "#8a5a00", "bad": "#a32d2d", "none": "#5b6472"}
_NARROW = frozenset("ijlI.,:;'|!()[]{}ft1r -")


def badge(label: str, value: str, tone: str) -> str:
    """Two fields, 20 pixels high; white on dark enough grounds to be read (WCAG AA)."""
    left, right = _width(label), _width(value)
    half = svg.element("rect", width=left + right, height=20, fill=_COLOURS.get(tone, _COLOURS["none"]), rx=3)
    dark = svg.element("path", d=f"M3 0H{svg.number(left)}V20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z", fill="#3b414b")
    words: dict[str, svg.Attribute] = {"fill": "#ffffff", "font_size": 11, "text_anchor": "middle"}
    return svg.drawing(
        left + right,
        20,
        f"{label}: {value}",
        half,
        dark,
        svg.text(left / 2, 14, label, **words),
        svg.text(left + right / 2, 14, value, **words),
        class_="badge",
    )


def shields_endpoint(label: str, value: str, tone: str) -> dict[str, object]:
    """What https://shields.io/badges/endpoint-badge expects."""
    colour = _COLOURS.get(tone, _COLOURS["none"]).removeprefix("#")
    return {"schemaVersion": 1, "label": label, "message": value, "color": colour}


def _width(words: str) -> float:
    return 12 + sum(4.2 if character in _NARROW else 6.8 for character in words)
