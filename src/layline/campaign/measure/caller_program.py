"""The C program that calls a kernel as other programs would, and says what each call left behind in its caller."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum, IntFlag, auto
from pathlib import Path

from layline.campaign.values.operator import Operator, Pass


class Manner(IntEnum):
    """Ways to call a kernel, in this order: children are made before the first call, because threads do not live on in them."""

    FIRST = 0
    CHILD = auto()
    THREAD = auto()
    LINE = auto()
    ALIAS = auto()
    MODE = auto()
    THREADS = auto()
    OFTEN = auto()
    POOR = auto()
    STALE = auto()
    TIMED = auto()


class Left(IntFlag):
    """What the program finds after a call; of those above MODE and X87 it tells one at a time."""

    MODE = auto()
    X87 = auto()
    REGISTERS = auto()
    EXCEPTIONS = auto()
    SEEDS = auto()
    MALLOC = auto()
    FOLDER = auto()
    STACKS = auto()
    IN_THREADS = auto()
    KEYS = auto()
    SURVEYED = auto()
    ARRAYS = auto()
    VARIABLES = auto()
    GAVE_UP = auto()
    FILES = auto()
    THREAD = auto()
    SLOW_THREADS = auto()
    SLOW_CHILDREN = auto()
    SLOW_RESTED = auto()


class Seen(IntEnum):
    """What of a kernel that is watched comes to light first."""

    NOTHING = 0
    ASKED = auto()
    CHANGED = auto()
    UNWATCHED = auto()
    LEFT = auto()
    THREAD = auto()


REGISTERS = {
    "aarch64": (*(f"d{at}" for at in range(8, 16)), *(f"x{at}" for at in range(19, 29))),
    "x86_64": ("rbx", "rbp", "r12", "r13", "r14", "r15", "the direction flag"),
}
"""What a callee must give back as it was, by processor; each lost one is a bit, in this order."""
SURVEYED = (
    "whether its threads can be cancelled",
    "how its threads are cancelled",
    "how late its timers may be",
    "its process group",
    "how descriptor 0 waits",
    "how descriptor 1 waits",
    "how descriptor 2 waits",
    "whether stdout takes bytes",
    "its locale",
    "its environment",
    "which process is ended first when memory runs out",
    "where its signal handlers have their stack",
    "whether it gets huge pages",
    "an alarm that it had set",
    "a signal that waited for it",
    "a child whose end it had not asked for yet",
    "what localtime had told it",
)
"""What of a process or thread the program looks at before and after a call; each that differs is a bit, in this order."""
LASTING = SURVEYED.index("an alarm that it had set")
"""Those before it last until somebody changes them again."""
OF_THREADS = (
    "its list of locks that others get back when it dies",
    "its restartable sequences",
    "which memory its protection keys lock",
    "a segment register",
)
"""What system and processor keep for each thread; each that differs is a bit, in this order."""
ARRAYS = ("its access rights", "what happens to it in children", "that it may be thrown away when memory runs out")
THREAD_STACK = 2 << 20
"""A stack that must do for a thread, with the variables of its own that the kernel has in each."""
ENDING = 3
"""The program's own status at its end: a kernel that ends processes in its own way gives another."""
SLOWER, SLOWER_RESTED = 3, 20
"""How many times as long as usual a call may take in another thread or a child, and as the first one after two seconds."""
OFTEN = 64
"""Calls between two counts of what a process has only so many of."""


def write_caller(operator: Operator) -> str:
    """A program that reads calls from a file, makes each in its manner, and writes what came of it into another."""
    declared = (f"int {step.symbol}({_list_types(operator, step)});" for step in operator.passes)
    return _put_into("caller.c", (*_write_keepers(), *declared, _write_call(operator), *_write_numbers()))


def write_watched(operator: Operator) -> str:
    """A program that loads the kernel itself, makes one call over and over, and says what that asked of the system and changed."""
    steps = operator.passes
    pointers = (f"static int (*{step.symbol})({_list_types(operator, step)});" for step in steps)
    found = " && ".join(f'({step.symbol} = dlsym(library, "{step.symbol}")) != 0' for step in steps)
    finder = f"static int find_symbols(void *library) {{ return {found}; }}"
    return _put_into("watched.c", (*pointers, finder, _write_call(operator), *_write_numbers()))


def _put_into(program: str, own: tuple[str, ...]) -> str:
    return (Path(__file__).parent / program).read_text("utf-8").replace('#include "operator.h"', "\n".join(own))


def _list_types(operator: Operator, step: Pass) -> str:
    return ", ".join(["void *"] * len(step.buffers) + ["int64_t"] * len(operator.shapes[0].sizes))


def _write_call(operator: Operator) -> str:
    chosen = "-1"
    for at, step in enumerate(operator.passes):
        arguments = [f"b[{i}]" for i in range(len(step.buffers))] + [
            f"n[{i}]" for i in range(len(operator.shapes[0].sizes))
        ]
        chosen = f"head[0] == {at} ? {step.symbol}({', '.join(arguments)}) : {chosen}"
    return f"#define CALL ({chosen})"


def _write_numbers() -> Iterator[str]:
    named = {
        "OFTEN": OFTEN,
        "SURVEY": len(SURVEYED),
        "OF_THREADS": len(OF_THREADS),
        "LASTING": LASTING,
        "THREAD_STACK": THREAD_STACK,
        "ENDING": ENDING,
        "SLOWER": SLOWER,
        "SLOWER_RESTED": SLOWER_RESTED,
    }
    for kind, word in ((Manner, "MANNER"), (Left, "LEFT"), (Seen, "SEEN")):
        named |= {f"{word}_{one.name}": one.value for one in kind}
    yield from (f"#define {name} {value}" for name, value in named.items())


def _write_keepers() -> Iterator[str]:
    """`kept(f)`: f called with a value of ours in every register that a callee must give back; a bit for each that is lost."""
    for test, body in (("__aarch64__", _keep_aarch64()), ("__x86_64__", _keep_x86())):
        text = "\n".join(f'    "{line}\\n"' for line in (".text", "kept:", *body))
        yield f"#if defined({test})\n__asm__(\n{text});\nint64_t kept(void *(*f)(void *));\n#define KEPT 1\n#endif"


def _keep_aarch64() -> Iterator[str]:
    names = REGISTERS["aarch64"]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    yield "stp x29, x30, [sp, #-160]!"
    for place, pair in enumerate(pairs, 1):
        yield f"stp {pair[0]}, {pair[1]}, [sp, #{16 * place}]"
    yield "mov x9, x0"
    for name in names:
        yield from (f"mov x10, #{name[1:]}", f"{'fmov' if name[0] == 'd' else 'mov'} {name}, x10")
    yield from ("mov x0, #0", "blr x9", "mov x0, #0")
    for bit, name in enumerate(names):
        yield from (
            f"{'fmov' if name[0] == 'd' else 'mov'} x10, {name}",
            f"cmp x10, #{name[1:]}",
            "cset x10, ne",
            f"orr x0, x0, x10, lsl #{bit}",
        )
    for place, pair in enumerate(pairs, 1):
        yield f"ldp {pair[0]}, {pair[1]}, [sp, #{16 * place}]"
    yield from ("ldp x29, x30, [sp], #160", "ret")


def _keep_x86() -> Iterator[str]:
    *names, _flag = REGISTERS["x86_64"]
    yield from (*(f"push %{name}" for name in names), "sub $8, %rsp", "mov %rdi, %rax")
    for number, name in enumerate(names, 1):
        yield f"mov ${number}, %{name}"
    yield from ("xor %edi, %edi", "call *%rax", "pushfq", "pop %rax", "cld")
    yield from ("shr $10, %rax", "and $1, %rax", f"shl ${len(names)}, %rax")  # the flag is the last bit
    for number, name in enumerate(names, 1):
        yield from (
            f"cmp ${number}, %{name}",
            "setne %cl",
            "movzbq %cl, %rcx",
            f"shl ${number - 1}, %rcx",
            "or %rcx, %rax",
        )
    yield from ("add $8, %rsp", *(f"pop %{name}" for name in reversed(names)), "ret")
