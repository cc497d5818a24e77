"""What a kernel leaves behind in its process, looked at after every process pair."""

from __future__ import annotations

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown

HIDDEN_NS, HIDDEN_SHARE = 50_000_000, 0.05


def show_leftovers(on: Trial) -> Shown:
    """Nothing else may be left running, and nobody else may have worked for the kernel."""
    worker = on.trial.worker
    hidden = worker.uncharged_ns()
    if hidden > max(HIDDEN_NS, HIDDEN_SHARE * worker.charged_ns):
        raise Fault(
            "charged-in-full",
            f"Processes other than the worker used {hidden / 1e6:.0f} ms of CPU time on its behalf.",
            f"the worker itself {worker.charged_ns / 1e6:.0f} ms, by {worker.account.kind}",
        )
    children = worker.children()
    if children:
        raise Fault(
            "leaves-no-process", f"The kernel left {'1 process' if children == 1 else f'{children} processes'} running."
        )
    yield "charged-in-full", worker.account.kind


def show_global_state(on: Trial) -> Shown:
    """Timers, waits, cache limits, global flags and the current stream are as they were before the kernel was
    loaded.
    """
    found = on.trial.worker.inspect()
    changed = found["changed"]
    if "persisting L2 limit" in changed:
        raise Fault("persisting-l2", "The kernel set L2 memory aside for lines that survive a flush.", *changed)
    if any(name.startswith(("torch.cuda.", "time.")) for name in changed):
        raise Fault("timers-untouched", "The kernel replaced functions that time or wait.", *changed)
    if changed:
        raise Fault("global-state", f"The kernel left global state changed: {', '.join(changed)}.", *changed)
    told = f"before loading and after each process pair: {', '.join(found['looked'])}"
    more = ("timers-untouched", "persisting-l2") if on.stage.device.has_events else ()
    yield from dict.fromkeys((*more, "global-state"), told).items()


def show_mode(on: Trial) -> Shown:
    """Looked at on every call; what it was is the evidence."""
    if on.stage.mode is not None:
        yield "floating-point-mode", f"mode 0x{on.stage.mode:08x} at load and after every request"
