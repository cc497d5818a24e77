"""Every tool an agent can call, in one table: few, each about one subject."""

from __future__ import annotations

from layline.errors import Error
from layline.mcp import campaign_tools, gap_tools, patch_tools, upgrade_tools
from layline.mcp.tool import Tool

TOOLS = (*gap_tools.TOOLS, *patch_tools.TOOLS, *upgrade_tools.TOOLS, *campaign_tools.TOOLS)


def find_tool(name: str) -> Tool:
    for tool in TOOLS:
        if tool.name == name:
            return tool
    raise Error(f"There is no tool called {name!r}.", hint=f"Tools: {', '.join(tool.name for tool in TOOLS)}.")
