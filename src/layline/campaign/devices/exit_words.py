"""How a process ended, in words: the signal's name and what usually brings it about in a kernel."""

from __future__ import annotations

import signal

_USUAL = {
    signal.SIGSEGV: "it accessed memory that does not exist: an index outside a buffer, a null pointer, "
    "or an array on the stack that is too large for it",
    signal.SIGBUS: "it accessed memory beyond the end of a mapped file, or the private /tmp or /dev/shm is full",
    signal.SIGILL: "an instruction this core does not have, or a trap the compiler put where behaviour is undefined",
    signal.SIGFPE: "an integer was divided by zero",
    signal.SIGABRT: "abort was called: a failed assertion, or the C library found the heap damaged or freed twice",
    signal.SIGKILL: "the system killed it, most often for lack of memory",
    signal.SIGXFSZ: "a file grew beyond the sandbox's limit",
}


def describe_ending(code: int) -> str:
    """An exit code as a shell or `subprocess` gives it: signal by name with its usual cause, or the number."""
    number = code - 128 if code > 128 else -code
    if number <= 0 or number not in signal.valid_signals():
        return f"it ended itself with exit code {code}"
    name = signal.Signals(number)
    return f"{name.name} ({_USUAL.get(name, signal.strsignal(number) or 'a signal')})"


def is_signal(code: int, wanted: signal.Signals) -> bool:
    """Whether a process ended by this signal, told directly or by way of a parent's exit code."""
    return code in (-wanted, 128 + wanted)
