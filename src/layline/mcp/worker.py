"""The process that answers the server's questions, one after the other: from stdin, progress and answers to stdout."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from datetime import date
from pathlib import Path
from typing import Any, TextIO

from layline.core.bugs import say_bug
from layline.core.environment import explain
from layline.core.memory import collect_seldom
from layline.core.progress import Progress
from layline.errors import Error

_QUIET_S = 0.2
"""Progress is told no more often than this."""


def main() -> None:
    """The second error boundary: what a user or the machine got wrong is a sentence and a hint, a bug of ours says
    so.
    """
    collect_seldom()
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr  # whatever prints must not spoil the answer
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_questions, args=(questions,), daemon=True).start()
    while True:
        _serve(json.loads(questions.get()), pipe)


def _serve(question: dict[str, Any], pipe: TextIO) -> None:
    try:
        said: dict[str, Any] = {"answer": _answer(question, _open_progress(pipe))}
    except Error as error:
        said = {"error": {"message": error.message, "hint": error.hint}}
    except KeyboardInterrupt:
        said = {"error": {"message": "Cancelled.", "hint": None}}
    except Exception as error:  # noqa: BLE001  the boundary: what reaches it is the machine's fault, or our bug
        fault = explain(error) or Error(say_bug(error))
        said = {"error": {"message": fault.message, "hint": fault.hint}}
    pipe.write(json.dumps(said, ensure_ascii=True, default=str) + "\n")
    pipe.flush()


def _answer(question: dict[str, Any], progress: Progress) -> Any:
    from layline.mcp.tool import Session

    today = question["today"]
    session = Session(
        Path(question["config"]) if question["config"] else None, date.fromisoformat(today) if today else None
    )
    if question["ask"] == "resource":
        from layline.mcp.resources import read

        return read(session, question["name"], question["arguments"], question["offset"])
    from layline.mcp.paging import pack
    from layline.mcp.tools import find_tool

    tool = find_tool(question["name"])
    asked = question["arguments"]
    found = tool.answer(session, progress, asked)
    offset, limit = max(asked.get("offset") or 0, 0), min(max(asked.get("limit") or tool.limit, 1), 500)
    of = (tool.of or {}).get(asked.get("ask", ""))
    return pack(found, of=of, offset=offset, limit=limit).model_dump(mode="json")


def _open_progress(pipe: TextIO) -> Progress:
    last: tuple[str, float] = ("", 0.0)

    def progress(what: str, done: int, total: int, at: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if what == last[0] and now - last[1] < _QUIET_S:
            return
        last = (what, now)
        text = " ".join(filter(None, (what, f"{done}/{total}" if total else "", at)))
        pipe.write(json.dumps({"progress": text}) + "\n")
        pipe.flush()

    return progress


def _read_questions(questions: queue.SimpleQueue[bytes]) -> None:
    """The server keeps our stdin open; when it closes, nobody waits for an answer any more."""
    with os.fdopen(os.dup(0), "rb") as pipe:  # not through sys.stdin: its lock would hold up the end of the process
        for line in pipe:
            questions.put(line)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main()
