"""Report → str | bytes. Pure: no git, no files, no clock."""

from layline.render.markdown import render_markdown
from layline.render.text import render_text

__all__ = ["render_markdown", "render_text"]
