"""The MCP server as its clients meet it: in memory, and as a real child process over stdio."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from commands import _SOURCE
from layline.cli.main import COMMANDS
from layline.mcp.server import build_server
from layline.sample import write_sample


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mcp") / "demo"
    write_sample(root)
    return root / "harbor"


def _call(harbor: Path, tool: str, arguments: dict[str, Any]) -> Any:
    async def run() -> Any:
        async with Client(build_server(harbor / "layline.toml")) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(run)


def test_every_tool_has_schemas_and_honest_annotations(harbor: Path) -> None:
    async def run() -> Any:
        async with Client(build_server(harbor / "layline.toml")) as client:
            return (await client.list_tools()).tools, (await client.list_prompts()).prompts

    tools, prompts = anyio.run(run)
    acting = {tool.name for tool in tools if not tool.annotations.read_only_hint}
    assert acting == {"gap_report", "dashboard_index", "periodic_weekly", "periodic_monthly", "campaign_round", "campaign_note", "campaign_report", "patches_port"} & {tool.name for tool in tools}  # fmt: skip
    for tool in tools:
        assert tool.output_schema is not None, tool.name
        assert tool.description, tool.name
        assert not tool.annotations.open_world_hint
        family = tool.name.split("_")[0]
        assert family in COMMANDS or tool.name == "parse_bench_csv", tool.name
    assert len(prompts) == 5


def test_an_answer_is_structured(harbor: Path) -> None:
    result = _call(harbor, "gap_show", {"backend": "keel"})
    assert not result.is_error
    assert result.structured_content["data"]["behind"] == 30
    assert result.structured_content["data"]["evidence"]["behind"].startswith("git rev-list --count ")
    assert "30 commits behind" in result.structured_content["summary"]


def test_errors_carry_the_sentence_and_the_hint(harbor: Path) -> None:
    result = _call(harbor, "gap_show", {"backend": "keal"})
    assert result.is_error
    assert "There is no backend called 'keal'. Hint: Did you mean 'keel'?" in result.content[0].text


BAD = [
    ("gap_show", {}),
    ("gap_show", {"backend": 7}),
    ("gap_show", {"backend": "keel", "to": "--upload-pack=x"}),
    ("parse_bench_csv", {"file": "/nowhere/x.csv"}),
    ("no_such_tool", {}),
    ("campaign_status", {"campaign": "../../etc"}),
]


@pytest.mark.parametrize(("tool", "arguments"), BAD)
def test_bad_requests_are_errors_not_crashes(harbor: Path, tool: str, arguments: dict[str, Any]) -> None:
    result = _call(harbor, tool, arguments)
    assert result.is_error
    assert "bug" not in result.content[0].text
    assert "Traceback" not in result.content[0].text


def test_over_stdio_as_a_child_process(harbor: Path) -> None:
    async def run() -> Any:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "layline", "mcp"], cwd=str(harbor), env={"PYTHONPATH": _SOURCE}
        )
        async with Client(parameters) as client:
            return await client.call_tool("doctor", {})

    result = anyio.run(run)
    assert not result.is_error
    assert any(row["subject"] == "keel" for row in result.structured_content["data"]["findings"])


@pytest.fixture
def server(harbor: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "layline", "mcp"], cwd=harbor, env={"PYTHONPATH": _SOURCE}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


def test_garbage_on_stdin_does_not_end_the_server(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    for line in (b"not json\n", b'{"jsonrpc": "2.0"}\n', b"[]\n"):
        server.stdin.write(line)
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
    )
    server.stdin.flush()
    for _ in range(5):
        reply = json.loads(server.stdout.readline())
        if reply.get("id") == 1:
            break
    assert reply["result"]["serverInfo"]["name"] == "layline"
