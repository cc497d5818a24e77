"""The MCP server as its clients meet it: in memory, and as a real child process over stdio."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from commands import _SOURCE
from late import Late
from layline.mcp.paging import BUDGET
from layline.sample import write_sample

if TYPE_CHECKING:
    import mcp
    from mcp import Client, StdioServerParameters

    from layline.mcp import server as ours
else:
    mcp, ours = Late("mcp"), Late("layline.mcp.server")


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mcp") / "demo"
    write_sample(root)
    return root / "harbor"


@dataclass(frozen=True)
class Agent:
    """One conversation with one server, as an agent holds it: questions from tests that know nothing of each other."""

    portal: BlockingPortal
    client: Client

    def ask(self, question: Callable[[Client], Awaitable[Any]]) -> Any:
        return self.portal.call(question, self.client)

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self.ask(lambda client: client.call_tool(tool, arguments))

    def read(self, address: str) -> str:
        """The text of a resource, or the sentence that says why there is none."""

        async def question(client: Client) -> str:
            try:
                found = (await client.read_resource(address)).contents[0]
            except mcp.MCPError as error:
                return error.message
            assert isinstance(found, mcp.types.TextResourceContents)
            return found.text

        text: str = self.ask(question)
        return text


@pytest.fixture(scope="module")
def agent(harbor: Path) -> Iterator[Agent]:
    server = ours.build_server(harbor / "layline.toml")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(mcp.Client(server)) as client:
        yield Agent(portal, client)


ASKED_FOR = {"doctor", "gap", "patches", "upgrade", "records", "write", "campaign", "campaign_round", "campaign_note"}
WRITING = {"write"}
ADDING = {"campaign_note"}
ACTING = {"campaign_round"}
CONTEXT = 10_500
"""Bytes that all tools together cost an agent before it has asked anything."""


def test_every_tool_has_described_inputs_and_honest_annotations(agent: Agent) -> None:
    tools = agent.ask(lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == ASKED_FOR
    for tool in tools:
        hints = tool.annotations
        assert hints.read_only_hint == (tool.name not in WRITING | ADDING | ACTING), tool.name
        assert hints.destructive_hint == (tool.name in ACTING), tool.name
        assert hints.idempotent_hint == (tool.name not in ADDING | ACTING), tool.name
        assert not hints.open_world_hint
        assert tool.description, tool.name
        assert all(item["description"] for item in tool.input_schema["properties"].values()), tool.name
    assert sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools) <= CONTEXT


def test_the_prompts_are_the_questions_users_ask(agent: Agent) -> None:
    prompts = agent.ask(lambda client: client.list_prompts()).prompts
    assert {item.name for item in prompts} == {
        "inventory_for_a_customer",
        "how_do_i_use",
        "upgrade_a_backend",
        "port_this_patch",
        "write_this_weeks_report",
        "next_hypothesis",
    }
    text = agent.ask(lambda client: client.get_prompt("how_do_i_use", {"feature": "DeepEP"}))
    assert "ask=find" in text.messages[0].content.text
    assert "DeepEP" in text.messages[0].content.text


def test_an_answer_is_structured(agent: Agent) -> None:
    result = agent.call("gap", {"backend": "keel"})
    assert not result.is_error
    assert result.structured_content["data"]["behind"] == 30
    assert result.structured_content["data"]["evidence"]["behind"].startswith("git rev-list --count ")
    assert "30 commits behind" in result.structured_content["summary"]


def test_errors_carry_the_sentence_and_the_hint(agent: Agent) -> None:
    result = agent.call("gap", {"backend": "keal"})
    assert result.is_error
    assert "There is no backend called 'keal'. Hint: Did you mean 'keel'?" in result.content[0].text


def test_news_and_impact_are_asked_and_nothing_is_remembered(agent: Agent, harbor: Path) -> None:
    first, again = (agent.call("upgrade", {"ask": "news"}).structured_content["summary"] for _ in range(2))
    assert first == again
    assert first.startswith("This is the first answer")
    (harbor / "fleet.toml").write_text('projects = ["layline.toml"]\n')
    found = agent.call("upgrade", {"ask": "impact", "to": "1aeefa38", "fleet": "fleet.toml"})
    assert not found.is_error
    data = found.structured_content["data"]
    assert (data["ref"], data["skipped"]) == ("1aeefa38", [])  # two other upstreams of the project do not have it


BAD = [
    ("gap", {}),
    ("upgrade", {"ask": "impact"}),
    ("upgrade", {"ask": "impact", "to": "main", "fleet": "nowhere.toml"}),
    ("gap", {"backend": 7}),
    ("gap", {"backend": "keel", "to": "--upload-pack=x"}),
    ("records", {"ask": "bench", "files": ["/nowhere/x.csv"]}),
    ("no_such_tool", {}),
    ("campaign", {"campaign": "../../etc"}),
    ("patches", {"backend": "keel", "kind": "no-such-kind"}),
    ("patches", {"ask": "no-such-question"}),
    ("patches", {"ask": "show", "patch": "keel.no.such"}),
    ("patches", {"ask": "show"}),
    ("patches", {"ask": "drift", "backend": "keel", "to": "no-such-ref"}),
    ("write", {"ask": "gap", "backend": "keel", "date": "yesterday"}),
    ("records", {"ask": "audit", "files": ["/nowhere.json"]}),
    ("records", {"ask": "audit", "files": "nowhere"}),
    ("campaign_round", {"hypothesis": "x", "change": "y", "bucket": "Z9"}),
    ("campaign", {"ask": "lessons", "lesson": "none"}),
    ("write", {"ask": "weekly", "period": "2026-W99"}),
    ("records", {"ask": "site", "files": ["/nowhere"]}),
]


@pytest.mark.parametrize(("tool", "arguments"), BAD)
def test_bad_requests_are_errors_not_crashes(agent: Agent, tool: str, arguments: dict[str, Any]) -> None:
    result = agent.call(tool, arguments)
    assert result.is_error
    assert "bug" not in result.content[0].text
    assert "Traceback" not in result.content[0].text
    assert "validation error" not in result.content[0].text


def test_what_upstream_did_about_a_word(agent: Agent) -> None:
    found = agent.call("gap", {"ask": "find", "word": "Check-Point", "backend": "keel"}).structured_content["data"]
    assert [(row["number"], row["new"], row["paths"]) for row in found["changes"]] == [
        (88, True, ["keel/training/checkpointing.py"])
    ]


def test_an_argument_error_says_what_to_write_instead(agent: Agent) -> None:
    said = agent.call("patches", {"backend": "keel", "severity": "bad"}).content[0].text
    assert "`severity` is 'bad'. Hint: It is one of error, warning, note, breaks, look, ok." in said
    said = agent.call("gap", {"ask": "find", "wrd": "checkpoint"}).content[0].text
    assert "there is no input `wrd`. Hint: Inputs: ask, at, backend, limit, offset, to, word." in said
    said = agent.call("patches", {"ask": "show"}).content[0].text
    assert "`patch` is needed for this question. Hint: Its id, the upstream name it replaces, or file:line" in said


def test_effects_without_a_registration_are_in_the_list(agent: Agent, harbor: Path) -> None:
    rows = agent.call("patches", {"backend": "keel", "target": "print_rank_last"}).structured_content["data"]["effects"]
    assert [row["code"] for row in rows] == ["harbor/backends/keel/quiet.py:7"]
    shown = agent.call("patches", {"ask": "show", "patch": rows[0]["id"]})
    assert not shown.is_error


def test_doctor_says_what_is_missing_first_and_what_is_in_order_once(agent: Agent) -> None:
    rows = agent.call("doctor", {}).structured_content["data"]["findings"]
    states = [row["state"] for row in rows]
    assert states == sorted(states, key=lambda state: state == "ok")
    subjects = [row["subject"] for row in rows if row["state"] == "ok"]
    assert len(subjects) == len(set(subjects))
    assert "pin: " in next(row["detail"] for row in rows if row["subject"] == "keel" and row["state"] == "ok")


def test_what_a_plan_leaves_is_told_whole_and_once(agent: Agent) -> None:
    """The plan's own list of it ended in `… N more`, which no page led to."""
    left = agent.call("upgrade", {"ask": "left", "backend": "keel"}).structured_content
    assert left["page"]["of"] == "left"
    assert all(set(row) == {"code", "target", "way", "why"} for row in left["data"]["left"])
    plan = agent.call("upgrade", {"backend": "keel"}).structured_content["data"]
    mends = [mend for step in plan["steps"] for mend in step["mends"]]
    assert "left" not in plan
    assert {row["code"] for row in left["data"]["left"]} <= {mend["code"] for mend in mends}
    assert all(mend["mechanical"] or "diff" not in mend for mend in mends)
    whole = agent.call("upgrade", {"backend": "keel", "full": True}).structured_content["data"]
    assert any(mend["diff"] for step in whole["steps"] for mend in step["mends"] if not mend["mechanical"])


def test_the_text_is_the_same_json_as_the_structure(agent: Agent) -> None:
    result = agent.call("patches", {"backend": "keel"})
    assert json.loads(result.content[0].text) == result.structured_content
    assert len(result.content[0].text) <= BUDGET
    assert result.structured_content["page"]["total"] == 29


def test_every_page_is_reached_by_its_handle(agent: Agent) -> None:
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        result = agent.call("patches", {"backend": "keel", "offset": offset, "limit": 7})
        seen += [row["id"] for row in result.structured_content["data"]["effects"]]
        offset = result.structured_content["page"]["next_offset"]
    assert len(set(seen)) == 29


def test_resources_lead_from_the_project_to_a_single_patch(agent: Agent) -> None:
    assert "layline://inventory/BACKEND" in agent.read("layline://project")
    inventory = agent.read("layline://inventory/keel")
    address = "layline://patch/keel.schedule.tacks"
    assert f"`{address}`" in inventory
    assert "keel.core.schedules.get_schedule_func" in agent.read(address)


def test_resources_hold_the_reports_that_were_written(agent: Agent, harbor: Path) -> None:
    assert "None yet" in agent.read("layline://reports")
    assert not agent.call("write", {"ask": "gap", "backend": "keel", "date": "2026-06-30"}).is_error
    assert "`layline://report/keel-upstream-main/detail`" in agent.read("layline://reports")
    first = agent.read("layline://report/keel-upstream-main/detail")
    found = re.search(r"characters follow: (layline://\S+\?offset=(\d+))", first)
    assert found is not None
    rest = agent.read(found.group(1))
    whole = (harbor / "docs/backend-gap/reports/keel/upstream-main/report.md").read_text()
    assert whole[int(found.group(2)) :].startswith(rest.splitlines()[0])
    assert len(first) < 17_000


BAD_ADDRESSES = [
    ("layline://inventory/keal", "There is no backend called 'keal'. Hint: Did you mean 'keel'?"),
    ("layline://patch/keel.no.such", "No patch matches"),
    ("layline://report/keel-upstream-main/../../../etc", "Unknown resource"),
    ("layline://report/no-such/detail", "There is no report 'no-such'"),
    ("layline://campaign/none", "There is no campaign"),
    ("layline://nothing", "Unknown resource"),
]


@pytest.mark.parametrize(("address", "says"), BAD_ADDRESSES)
def test_a_resource_that_is_not_there_says_so(agent: Agent, address: str, says: str) -> None:
    assert says in agent.read(address)


def _over_stdio(harbor: Path, cache: Path) -> StdioServerParameters:
    env = {"PYTHONPATH": _SOURCE, "LAYLINE_CACHE": str(cache)}
    return mcp.StdioServerParameters(command=sys.executable, args=["-m", "layline", "mcp"], cwd=str(harbor), env=env)


_HANGS_S = 300
"""Far beyond what any machine needs: only a test that would never end meets it."""


def _find_workers(cache: Path) -> set[int]:
    """The workers of the server with this cache; other tests have theirs at the same time."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words, settings = ((place / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:
            continue
        if b"layline.mcp.worker" in words and f"LAYLINE_CACHE={cache}".encode() in settings:
            found.add(int(place.name))
    return found


async def _cancel_at_first_word(client: Client) -> list[tuple[float, str | None]]:
    """Ask a long question, and turn away as soon as the tool says anything."""
    told: list[tuple[float, str | None]] = []
    with anyio.CancelScope() as scope:

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, message))
            scope.cancel()

        await client.call_tool("patches", {"ask": "drift", "backend": "keel", "culprits": True}, progress_callback=hear)
    return told


async def _see_them_gone(cache: Path) -> None:
    with anyio.fail_after(_HANGS_S):
        while _find_workers(cache):
            await anyio.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
def test_a_cancelled_tool_is_gone_and_the_server_answers_on(harbor: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with mcp.Client(_over_stdio(harbor, tmp_path)) as client:
            assert await _cancel_at_first_word(client)
            await _see_them_gone(tmp_path)
            looked = await client.call_tool("doctor", {})
            assert not looked.is_error
            assert looked.structured_content is not None
            assert any(row["subject"] == "keel" for row in looked.structured_content["data"]["findings"])

    anyio.run(run)


async def _time_questions(client: Client) -> list[float]:
    times = []
    for _ in range(3):
        begun = time.monotonic()
        assert not (await client.call_tool("gap", {"backend": "keel"})).is_error
        times.append(time.monotonic() - begun)
    return times


@pytest.mark.usefixtures("empty_cache")
def test_a_new_server_keeps_its_worker_and_long_tools_tell_how_far_they_are(harbor: Path) -> None:
    """With nothing kept: an answer that another test has left in the cache is there at once. The first question starts a
    process and imports, the next does neither: it takes less."""
    asked = (("patches", "drift"), ("write", "gap"))
    told: dict[str, list[tuple[float, str | None]]] = {tool: [] for tool, _ in asked}

    async def run() -> None:
        async with mcp.Client(ours.build_server(harbor / "layline.toml")) as client:
            first, *later = await _time_questions(client)
            assert min(later) < first
            for tool, ask in asked:

                async def hear(progress: float, total: float | None, message: str | None, heard: str = tool) -> None:
                    told[heard].append((progress, message))

                await client.call_tool(tool, {"ask": ask, "backend": "spar"}, progress_callback=hear)

    anyio.run(run)
    for tool, heard in told.items():
        numbers = [number for number, _ in heard]
        assert heard, tool
        assert numbers == sorted(set(numbers)), "progress only grows"
        assert all(message for _, message in heard)


def test_a_worker_does_not_outlive_its_server(harbor: Path, tmp_path: Path) -> None:
    question = {
        "ask": "tool",
        "name": "patches",
        "arguments": {"ask": "drift", "backend": "keel"},
        "offset": 0,
        "config": None,
        "today": None,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "layline.mcp.worker"],
        cwd=harbor,
        env={"PYTHONPATH": _SOURCE, "LAYLINE_CACHE": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question).encode() + b"\n")
    process.stdin.flush()
    assert b"progress" in process.stdout.readline()
    process.stdin.close()
    assert process.wait(timeout=_HANGS_S) == -signal.SIGKILL
    process.stdout.close()


@pytest.fixture
def server(harbor: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "layline", "mcp"],
        cwd=harbor,
        env={"PYTHONPATH": _SOURCE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
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
