"""The ledger replayed: entries folded, one by one, into the state they leave. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.campaign.ledger.state import Level, Note, Round, Run, Settled, State, Termination
from layline.campaign.values.manifest import Manifest
from layline.campaign.values.measurement import Bucket, Measurement
from layline.campaign.values.training import Training
from layline.campaign.values.verdict import Verdict
from layline.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.campaign.ledger.ledger import Entry


def replay(entries: Iterable[Entry]) -> Iterator[State]:
    """The state after each entry."""
    state: State | None = None
    for entry in entries:
        if entry.kind == "created":
            state = _begin(entry)
        elif state is None:
            raise BenchError("The ledger does not begin with `created`.")
        else:
            changed = APPLY[entry.kind](state, entry) if entry.kind in APPLY else state
            state = replace(changed, head=entry.hash)
        yield state


def fold(entries: Iterable[Entry]) -> State | None:
    """The state after all entries; None for a ledger that has not begun."""
    state: State | None = None
    for state in replay(entries):  # noqa: B007  the last one is the answer
        pass
    return state


def _begin(entry: Entry) -> State:
    data = entry.data
    return State(
        manifest=codec.decode(Manifest, data["manifest"], where="ledger"),
        manifest_sha256=data["manifest_sha256"],
        created_at=entry.at,
        origin=data["origin"],
        head=entry.hash,
    )


def _content(state: State, entry: Entry) -> State:
    return replace(state, contents={**state.contents, entry.data["sha256"]: entry.data})


def _open(state: State, entry: Entry) -> State:
    data = entry.data
    listed = tuple((file["path"], file["mode"], file["sha256"]) for file in data["kernel"]["files"])
    opened = Round(
        number=data["round"],
        at=entry.at,
        hypothesis=data["hypothesis"],
        change=data["change"],
        bucket=Bucket(data["bucket"]) if data["bucket"] else None,
        expect=data["expect"],
        kernel=data["kernel"]["id"],
        best=data["best"],
        parent=data["parent"],
        level=Level(data["level"]),
        proposer=data["proposer"],
    )
    return replace(state, rounds=(*state.rounds, opened), kernels={**state.kernels, opened.kernel: listed})


def _measure(state: State, entry: Entry) -> State:
    data = entry.data
    frozen = data["csv"].split("\n", 1)[0].rstrip("\r") if data["csv"] else None
    changed = replace(state, csv_header=state.csv_header or frozen)
    return _change_last(changed, runs=(*state.rounds[-1].runs, _read_run(entry)))


def _read_run(entry: Entry) -> Run:
    data = entry.data
    measurement = codec.decode(Measurement, data["measurement"], where="ledger")
    return Run(
        level=Level(data["level"]),
        at=entry.at,
        measurement=measurement,
        csv=data["csv"],
        best_csv=data["best_csv"],
        said=data.get("said", ""),
    )


def _fail(state: State, entry: Entry) -> State:
    return _change_last(state, unmeasured=(*state.rounds[-1].unmeasured, entry.data["reason"]))


def _attempt(state: State, entry: Entry) -> State:
    return replace(state, attempts=(*state.attempts, (entry.data["round"], entry.data["level"])))


def _judge(state: State, entry: Entry) -> State:
    verdict = codec.decode(Verdict, entry.data["verdict"], where="ledger")
    return _change_last(state, verdict=verdict, judged_at=entry.at)


def _withdraw(state: State, _entry: Entry) -> State:
    return replace(state, rounds=state.rounds[:-1])


def _prepare(state: State, _entry: Entry) -> State:
    return replace(state, is_prepared=True)


def _integrate(state: State, entry: Entry) -> State:
    return _change_last(state, integration=(entry.data["passed"], entry.data["reason"]))


def _settle(state: State, entry: Entry) -> State:
    data = entry.data
    changed = _change_last(state, settled=Settled(data["settled"]), settled_at=entry.at, commit=data["commit"])
    return replace(changed, representative=tuple(data["representative"])) if data.get("representative") else changed


def _note(state: State, entry: Entry) -> State:
    number = entry.data["round"]
    noted = Note(kind=entry.data["kind"], text=entry.data["text"], at=entry.at)
    rounds = tuple(
        replace(item, notes=(*item.notes, noted)) if item.number == number else item for item in state.rounds
    )
    return replace(state, rounds=rounds)


def _stop(state: State, entry: Entry) -> State:
    checks = tuple((item["condition"], item["holds"], item["why"]) for item in entry.data["checks"])
    return replace(state, termination=Termination(at=entry.at, checks=checks))


def _compare(state: State, entry: Entry) -> State:
    verdict = codec.decode(Verdict, entry.data["verdict"], where="ledger")
    last = state.head_to_head
    before = ((last[0].at, last[1].reason),) if last and last[1].interval is None else ()
    return replace(state, head_to_head=(_read_run(entry), verdict), refused_before=(*state.refused_before, *before))


def _measure_ceilings(state: State, entry: Entry) -> State:
    points = tuple((point["label"], point["intensity"], point["rate"]) for point in entry.data["points"])
    return replace(
        state,
        ceilings=(entry.data["flops_per_s"], entry.data["bytes_per_s"], points),
        ceiling_of=entry.data.get("what", state.ceiling_of),
    )


def _train(state: State, entry: Entry) -> State:
    return replace(state, training=codec.decode(Training, entry.data["training"], where="ledger"))


def _analyze(state: State, entry: Entry) -> State:
    return replace(state, analysis=entry.data)


def _report(state: State, entry: Entry) -> State:
    return replace(state, reported_at=entry.at)


def _move(state: State, entry: Entry) -> State:
    """The machine's own figures are those of the other one: they are measured again."""
    step = (entry.at, entry.data["was"], entry.data["machine"])
    return replace(state, moves=(*state.moves, step), ceilings=None, analysis=None)


def _accept(state: State, entry: Entry) -> State:
    return replace(state, accepted_at=entry.at, acceptance=entry.data)


def _change_last(state: State, **changes: Any) -> State:
    return replace(state, rounds=(*state.rounds[:-1], replace(state.rounds[-1], **changes)))


APPLY = {
    "prepared": _prepare,
    "content": _content,
    "opened": _open,
    "attempted": _attempt,
    "measured": _measure,
    "unmeasured": _fail,
    "judged": _judge,
    "withdrawn": _withdraw,
    "integrated": _integrate,
    "settled": _settle,
    "noted": _note,
    "moved": _move,
    "analyzed": _analyze,
    "stopped": _stop,
    "compared": _compare,
    "ceilings": _measure_ceilings,
    "trained": _train,
    "reported": _report,
    "accepted": _accept,
}
"""Kinds of entries that change the state; `recovered` and the like are history alone."""
