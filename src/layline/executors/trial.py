"""What a trial of an executor calls: `doctor --executor`, and the contract that every executor is tested by."""

from __future__ import annotations

import os
import time
from pathlib import Path

from layline.errors import Error
from layline.executors.calls import say
from layline.executors.parcels import FILE, LACKS
from layline.executors.values import Plain


def greet(job: Plain) -> Plain:
    return {"number": job["number"], "process": os.getpid()}


def die_once(job: Plain) -> Plain:
    """Ends its process the first time that it is called with this flag."""
    _note(job)
    try:
        Path(job["flag"]).touch(exist_ok=False)
    except FileExistsError:
        return {"number": job["number"]}
    os._exit(9)


def rest(job: Plain) -> Plain:
    _note(job)
    began = time.time()
    time.sleep(job["seconds"])
    return {"number": job["number"], "began": began, "ended": time.time()}


def report(job: Plain) -> Plain:
    """Says how far it is, then rests until somebody has heard it."""
    for said in job["says"]:
        say(said)
    heard = Path(job["heard"])
    until = time.monotonic() + job["seconds"]
    while not heard.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return {"heard": heard.exists()}


def keep(job: Plain) -> Plain:
    """Lacks the first of all parcels, and notes how much of it came."""
    if FILE not in job:
        return {LACKS: [0]}
    with (Path(job["folder"]) / "kept").open("a", encoding="utf-8") as kept:
        kept.write(f"{Path(job[FILE]).stat().st_size} {os.getpid()}\n")
    return {}


def refuse(job: Plain) -> Plain:
    raise Error(f"Job {job['number']} cannot be done.", hint="Leave it.")


def _note(job: Plain) -> None:
    """One line for each call, so that calls can be counted; a short append is one piece."""
    with Path(job["log"]).open("a", encoding="utf-8") as log:
        log.write(f"{job['number']} {os.getpid()}\n")
