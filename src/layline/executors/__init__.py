"""Where work is done: in processes of this machine (`local`) or on a Ray cluster. One door, no scheduler of our own.

    with open_executor("local:4") as executor:
        for number, answer in executor.screen(NAME, jobs, kind): …   # as they come; a lost one goes again
        answers = executor.map(NAME, jobs)                           # pure functions by dotted name, in order
        answer = executor.measure(NAME, job, machine, limit_s, tell) # at most once; raises Lost
        executor.send(RECEIVER, parcels)                             # files, once to each machine that lacks them

A job and its answer are plain JSON. Workers write nothing: what is to be kept comes back, and the driver keeps it.
"""

from layline.executors.calls import say
from layline.executors.dispatch import Answered, Attempt, Event, Gone, Pool, Raised, Tally, dispatch
from layline.executors.machine import Machine, Silent, digest_code, read_machine
from layline.executors.open import Executor, open_executor, open_wanted
from layline.executors.parcels import Parcel
from layline.executors.values import Lost, Plain, Tell

__all__ = [
    "Answered",
    "Attempt",
    "Event",
    "Executor",
    "Gone",
    "Lost",
    "Machine",
    "Parcel",
    "Plain",
    "Pool",
    "Raised",
    "Silent",
    "Tally",
    "Tell",
    "digest_code",
    "dispatch",
    "open_executor",
    "open_wanted",
    "read_machine",
    "say",
]
