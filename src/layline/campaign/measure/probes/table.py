"""All probes of the gate, on every device, in the order they are made. A new one is a function in a file and a line
here.
"""

from __future__ import annotations

from layline.campaign.measure.callers import show_callers
from layline.campaign.measure.probes.against_start import show_accuracy, show_special
from layline.campaign.measure.probes.between import show_between
from layline.campaign.measure.probes.code import show_loaded, show_own_gain, show_profiled
from layline.campaign.measure.probes.edges import show_edges
from layline.campaign.measure.probes.endurance import show_ageing, show_endurance
from layline.campaign.measure.probes.inputs import (
    show_changed,
    show_empty,
    show_far,
    show_held_out,
    show_inputs,
    show_walk,
)
from layline.campaign.measure.probes.leftovers import show_global_state, show_leftovers, show_mode
from layline.campaign.measure.probes.memory import show_memory
from layline.campaign.measure.probes.offsets import show_offsets
from layline.campaign.measure.probes.order import show_order
from layline.campaign.measure.probes.pauses import show_pauses
from layline.campaign.measure.probes.probe import AGAIN, PROFILED, START, Probe
from layline.campaign.measure.probes.processes import show_largest, show_processes
from layline.campaign.measure.probes.repetition import show_repetition
from layline.campaign.measure.probes.residues import show_residues
from layline.campaign.measure.probes.state import show_state
from layline.campaign.measure.probes.streams import show_streams
from layline.campaign.measure.probes.time import show_stalls, show_values
from layline.campaign.measure.probes.views import show_views
from layline.campaign.measure.sanitize import show_memory_use
from layline.campaign.measure.stage import (
    ACCOUNT,
    CANDIDATE,
    CODE,
    EDGE,
    EMPTY,
    INSPECTION,
    MODE,
    PROFILER,
    PROGRAM,
    ROOM,
    SANITIZER,
    STREAM,
    VIEWS,
)
from layline.campaign.measure.watched import show_watched


def _needs(*what: str) -> frozenset[str]:
    return frozenset(what)


PROBES: tuple[Probe, ...] = (
    Probe(name="memory", run=show_memory, is_alone=True, is_beside=True),
    Probe(name="inputs", run=show_inputs, ahead=(AGAIN,), is_apart=True, is_long=True),
    Probe(name="changed inputs", run=show_changed, takes_s=2.9, ahead=(AGAIN,), is_apart=True, is_long=True),
    Probe(name="floating-point mode", run=show_mode, needs=_needs(MODE), is_beside=True),
    Probe(name="stream order", run=show_order, needs=_needs(STREAM)),
    Probe(name="held-out shapes", run=show_held_out, takes_s=5.7, ahead=(AGAIN,), is_apart=True),
    Probe(name="small shapes", run=show_residues, needs=_needs(ACCOUNT), is_apart=True),
    Probe(name="far shapes", run=show_far, takes_s=4.1, ahead=(AGAIN,), is_apart=True, is_for_gain=True),
    Probe(name="empty extents", run=show_empty, takes_s=3.4, needs=_needs(EMPTY), ahead=(AGAIN,), is_apart=True),
    Probe(name="a walk through sizes", run=show_walk, takes_s=3.8, ahead=(AGAIN,), is_apart=True),
    Probe(
        name="views",
        run=show_views,
        takes_s=1.9,
        needs=_needs(CANDIDATE, VIEWS),
        ahead=(AGAIN,),
        opens_own=True,
        is_apart=True,
    ),
    Probe(name="repetition", run=show_repetition, is_apart=True),
    Probe(
        name="memory-use",
        run=show_memory_use,
        needs=_needs(SANITIZER),
        opens_own=True,
        is_apart=True,
        is_long=True,
        is_for_gain=True,
    ),
    Probe(
        name="what is asked of the system",
        run=show_watched,
        needs=_needs(CANDIDATE, PROGRAM),
        opens_own=True,
        is_apart=True,
        is_long=True,
        is_for_gain=True,
    ),
    Probe(
        name="other callers",
        run=show_callers,
        needs=_needs(CANDIDATE, PROGRAM),
        opens_own=True,
        is_apart=True,
        is_long=True,
        is_for_gain=True,
    ),
    Probe(name="pauses", run=show_pauses, needs=_needs(ACCOUNT), is_apart=True, is_long=True, is_for_gain=True),
    Probe(name="edges of memory", run=show_edges, needs=_needs(EDGE), is_apart=True, is_for_gain=True),
    Probe(
        name="against the start",
        run=show_accuracy,
        takes_s=4.5,
        needs=_needs(CANDIDATE),
        ahead=(AGAIN, START),
        is_apart=True,
        is_long=True,
    ),
    Probe(
        name="special values",
        run=show_special,
        needs=_needs(CANDIDATE),
        ahead=(AGAIN, START),
        is_apart=True,
        is_long=True,
        is_for_gain=True,
    ),
    Probe(
        name="own code, profiled",
        run=show_profiled,
        takes_s=1.6,
        needs=_needs(PROFILER),
        ahead=(PROFILED,),
        opens_own=True,
        is_apart=True,
    ),
)
"""Made once, in the first process pair; what is only for a gain, where that shows a clear one, or else before accepting."""
AFTER_EACH: tuple[Probe, ...] = (
    Probe(name="leftovers", run=show_leftovers, needs=_needs(ACCOUNT)),
    Probe(name="global state", run=show_global_state, needs=_needs(INSPECTION)),
    Probe(name="own code, loaded", run=show_loaded, needs=_needs(CODE)),
)
"""After every process pair."""
EARLY: tuple[Probe, ...] = (
    # the other process is for the comparison that follows
    Probe(name="old age", run=show_ageing, ahead=(AGAIN,), is_beside=True),
    Probe(name="endurance", run=show_endurance),
    Probe(
        name="several streams",
        run=show_streams,
        takes_s=2.3,
        needs=_needs(CANDIDATE, STREAM),
        opens_own=True,
        is_apart=True,
    ),
    Probe(name="more processes", run=show_processes, takes_s=2.6, ahead=(AGAIN,), opens_own=True, is_apart=True),
    Probe(name="largest extents", run=show_largest, needs=_needs(ACCOUNT), opens_own=True, is_apart=True),
    Probe(name="wide offsets", run=show_offsets, needs=_needs(ROOM), opens_own=True, is_apart=True),
)
"""Before accepting; in the first process pair, beside the others, where that shows a clear gain."""
STALLS = Probe(name="stalls", run=show_stalls, needs=_needs(CANDIDATE))
"""Also where nothing but long calls keeps a candidate from being accepted."""
BEFORE_ACCEPTING: tuple[Probe, ...] = (
    *EARLY,
    STALLS,
    Probe(name="values", run=show_values, needs=_needs(CANDIDATE)),
    Probe(name="gain without what it loaded", run=show_own_gain, needs=_needs(CANDIDATE, CODE)),
    Probe(name="state", run=show_state, needs=_needs(CANDIDATE)),
    Probe(name="between the listed sizes", run=show_between, needs=_needs(CANDIDATE)),
)
"""Only where the candidate would be accepted: what takes a gain back needs one, and what is dear is not spent on others."""
