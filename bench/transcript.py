"""An MCP client that asks what users ask, over stdio, and tells what came back: tool, arguments, size, seconds,
progress.

python -m bench transcript CLONE [--backend megatron] [--feature DeepEP] [--patch ID]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

import layline


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench transcript")
    parser.add_argument("clone", type=Path, help="a downstream with a layline.toml")
    parser.add_argument("--backend", default="megatron")
    parser.add_argument("--feature", default="DeepEP")
    parser.add_argument("--patch", default=None, help="what to port; default: the first patch that the feature names")
    options = parser.parse_args(arguments)
    anyio.run(_ask_all, options)
    return 0


async def _ask_all(options: argparse.Namespace) -> None:
    source = str(Path(layline.__file__).resolve().parent.parent)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "layline", "mcp"],
        cwd=str(options.clone),
        env={**os.environ, "PYTHONPATH": source},
    )
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        print(f"{len(tools)} tools, {sum(len(tool.model_dump_json()) for tool in tools)} characters to list them")
        print(f"\n## Which patches does {options.backend} have?")
        offset: int | None = 0
        while offset is not None:
            page = await _call(client, "patches", ask="list", backend=options.backend, offset=offset)
            offset = page["page"]["next_offset"] if page.get("page") else None
        print(f"\n## How do I enable {options.feature}?")
        found = await _call(client, "patches", ask="find", word=options.feature, backend=options.backend)
        patch = options.patch or _first_patch(found["data"])
        await _call(client, "patches", ask="show", patch=patch, backend=options.backend)
        print(f"\n## Port {patch}")
        await _call(client, "patches", ask="port", patch=patch)
        print("\n## What breaks at upstream main?")
        await _call(client, "gap", backend=options.backend)
        await _call(client, "patches", ask="drift", backend=options.backend, to="main", severity="breaks")
        print("\n## Resources")
        for address in ("layline://project", f"layline://inventory/{options.backend}", f"layline://patch/{patch}"):
            begun = time.monotonic()
            text = (await client.read_resource(address)).contents[0]
            print(f"{address}: {len(text.model_dump_json())} characters, {time.monotonic() - begun:.1f} s")
        print("\n## Turning away from a long answer")
        await _cancel(client, options.backend)


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001  the SDK's shape
        told.append(message or "")

    begun = time.monotonic()
    result = await client.call_tool(tool, arguments, progress_callback=hear, read_timeout_seconds=1800)
    text = "".join(getattr(block, "text", "") for block in result.content)
    said = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    print(f"\n{tool}({said})")
    print(
        f"  {len(text)} characters (about {len(text) // 4} tokens), {time.monotonic() - begun:.1f} s, {len(told)} "
        "progress notes" + (": error" if result.is_error else "")
    )
    plain: dict[str, Any] = result.structured_content or {}
    page = plain.get("page")
    if page:
        print(
            f"  {page['of']} {page['offset']}–{page['offset'] + page['shown']} of {page['total']}, next_offset "
            f"{page['next_offset']}"
        )
    print("  " + "\n  ".join((plain.get("summary") or text).splitlines()[:8]))
    return plain


def _first_patch(data: dict[str, Any]) -> str:
    """The patch that the answer to ask=find names first."""
    rows = next(value for value in data.values() if isinstance(value, list) and value)
    return str(rows[0].get("patch") or rows[0].get("id"))


async def _cancel(client: Client, backend: str) -> None:
    begun = time.monotonic()
    with anyio.move_on_after(5):
        await client.call_tool(
            "write", {"ask": "gap", "backend": backend, "date": "2026-08-23"}, read_timeout_seconds=1800
        )
    left = time.monotonic()
    await client.call_tool("gap", {"backend": backend})
    print(f"gap_report given up after {left - begun:.1f} s; the next answer came {time.monotonic() - left:.1f} s later")
