"""Templates → pages. Everything is escaped unless a renderer of ours made it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from markupsafe import Markup

from layline import __version__
from layline.dashboard.backend_status import Standing, web_address
from layline.dashboard.cache import Rendered, code_digest, digest
from layline.dashboard.campaigns import draw_gains, draw_lineage, draw_roof, draw_shapes, list_kernels, percent
from layline.dashboard.prose import Addresses, count_words, day_words, set_reason, set_words, signed
from layline.render.charts import Mark, trend
from layline.render.html import breakable, render_sections

if TYPE_CHECKING:
    from jinja2.runtime import Context

_PRE = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
_BLANK = re.compile(r"[ \t]*\n\s*")
ASSETS = ("layline.css", "layline.js", "mark.svg")


@dataclass(frozen=True, slots=True, kw_only=True)
class NavItem:
    title: str
    href: str
    external: bool = False
    probe: bool = False
    hint: str = ""
    folder: str = ""
    """Pages below it belong to this item."""

    def leads_to(self, page: str) -> bool:
        return page == self.href or bool(self.folder and page.startswith(self.folder))


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What every page says."""

    project: str
    name: str
    date: str | None
    counts: str
    nav: tuple[NavItem, ...]
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Pages:
    """Renders pages of one site; what would come out the same is taken from the cache."""

    site: Site
    cache: Rendered

    def render(self, path: str, template: str, /, **context: Any) -> bytes:
        key = digest("page", code_digest(), self.site, path, template, sorted(context.items()))
        return self.cache.render(key, lambda: self._render(path, template, context))

    def _render(self, path: str, template: str, context: dict[str, Any]) -> bytes:
        page = _environment().get_template(f"{template}.html")
        given = {
            "site": self.site,
            "page": path,
            "root": "../" * path.count("/"),
            "trail": (),
            "page_class": "",
            "description": "",
            **context,
        }
        return tidy(page.render(given)).encode("utf-8")


def tidy(html: str) -> str:
    """No blank lines, no spaces at line ends: what templates leave behind weighs nothing."""
    parts = _PRE.split(html)  # every second part is a block whose lines matter
    parts[::2] = [_BLANK.sub("\n", part) for part in parts[::2]]
    return "".join(parts).strip() + "\n"


def asset(name: str) -> bytes:
    return resources.files("layline.dashboard").joinpath("assets", name).read_bytes()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("layline.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )

    @pass_context
    def from_root(context: Context, path: str) -> str:
        return f"{context['root']}{path}"

    environment.filters |= {
        "from_root": from_root,
        "day": day_words,
        "signed": signed,
        "thousands": lambda value: f"{value:,}",
        "web": web_address,
        "short_address": lambda address: web_address(address).removeprefix("https://").removeprefix("github.com/"),
        "reason": set_reason,
        "words": lambda text: set_words(text, Addresses()),
        "breakable": lambda text: _markup(breakable(text)),
        "gains": lambda view, width: _markup(draw_gains(view, width)),
        "lineage": lambda view, width: _markup(draw_lineage(view, width)),
        "roof": lambda view, width: _markup(draw_roof(view, width)),
        "percent": percent,
        "shapes": lambda view, most: _markup(draw_shapes(view, most)),
        "kernels": list_kernels,
        "sections": lambda sections: _markup(render_sections(sections)),
        "trend": lambda standing, width: _markup(_trend(standing, width)),
    }
    return environment


def _markup(html: str) -> Markup:
    return Markup(html)  # noqa: S704  made by our renderers, which escape


def _trend(standing: Standing, width: int) -> str:
    points = standing.points
    first, last = points[0], points[-1]
    said = (
        f"{standing.label}: {count_words(int(first[1]), 'commit')} behind on {first[0]}, {last[1]:g} on {last[0]}, {len(points)} "
        f"measurements"
    )
    marks = tuple(Mark(at=at, label=f"pin {pin[:8]}") for at, pin in standing.moves)
    series = [("behind", run) for run in standing.runs]
    if len(standing.broken) > 1:
        said += f"; places that break: {', '.join(f'{point.count} on {point.date}' for point in standing.broken[-6:])}"
        series += [("break", run) for run in standing.break_runs]
    return trend(tuple(series), said, unit="commits", marks=marks, width=width, height=280 if width > 500 else 220)
