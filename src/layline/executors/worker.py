"""A process of the `local` executor: one JSON line in, one out; what the code prints goes to stderr."""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import sys
import threading
from functools import partial
from typing import TextIO

from layline.executors.calls import SAID, call
from layline.executors.machine import read_machine
from layline.executors.values import ignore


def main() -> None:
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"machine": dataclasses.asdict(read_machine())}), file=replies, flush=True)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    while True:
        asked = json.loads(lines.get())
        reply = call(asked["name"], asked["job"], partial(_tell, replies) if asked["tells"] else ignore)
        print(json.dumps({"attempt": asked["attempt"], **reply}), file=replies, flush=True)


def _tell(replies: TextIO, said: str) -> None:
    print(json.dumps({SAID: said}), file=replies, flush=True)


def _listen(lines: queue.Queue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)  # whoever asked is gone: nobody waits for an answer, and the machine is wanted


if __name__ == "__main__":
    main()
