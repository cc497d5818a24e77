"""The program that calls a kernel as others would."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from layline.campaign.measure.build import IN_MEMORY
from layline.campaign.measure.caller_program import ENDING, Manner, write_caller
from layline.campaign.measure.caller_program import REGISTERS as ALL
from layline.campaign.measure.callers import FOUND
from layline.campaign.operators import load_operator

KERNEL = "static __thread char room[{kib} << 10];\nint {symbol}() {{ room[0] = 1; return !room[0]; }}\n"


def _call(folder: Path, kernel: str, name: str) -> tuple[int, int, int]:
    """What the program says of one call of the first pass, made in that manner: status, what was left behind, how much."""
    operator = load_operator("softmax")
    (folder / "calling.c").write_text(write_caller(operator))
    (folder / "kernel.c").write_text(kernel)
    build = ["cc", IN_MEMORY, "-w", "-o", "calling", "calling.c", "kernel.c", "-lpthread", "-lm"]
    subprocess.run(build, cwd=folder, check=True, timeout=60)
    manner, sizes = Manner[name.upper()], len(operator.shapes[0].sizes)
    (folder / "calls").write_bytes(struct.pack(f"<{6 + sizes}q", 0, 0, sizes, 0, manner, -1, *[1] * sizes))
    assert subprocess.run(["./calling"], cwd=folder, check=False, timeout=60).returncode == ENDING
    status, left, count = struct.unpack("<3q", (folder / "answers").read_bytes()[:24])
    return status, left, count


@pytest.mark.parametrize("kib", [1, 608])
def test_variables_of_a_thread_do_not_count_as_its_stack(tmp_path: Path, kib: int) -> None:
    symbols = [one.symbol for one in load_operator("softmax").passes]
    kernel = "".join(KERNEL.format(kib=kib, symbol=symbol) for symbol in symbols)
    assert _call(tmp_path, kernel, "thread")[0] == 0


REGISTERS = {
    "aarch64": ("fmov d9, xzr", "fmov d15, xzr", "mov x19, #5", "mov x27, #5"),
    "x86_64": ("mov $7, %rbx", "mov $7, %r12", "mov $7, %r15", "std"),
}
LEFT_BEHIND = [
    ("", 0),
    ("free(malloc(100 << 20)); rand_r(&(unsigned){3});", 0),
    ("feclearexcept(FE_ALL_EXCEPT);", 8),
    ("fenv_t all; fegetenv(&all); fesetenv(FE_DFL_ENV);", 8),
    ("srand(1);", 16),
    ("srand48(1);", 16),
    (
        "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 128 << 10); pthread_setattr_default_np(&a);",
        128,
    ),
    ("rand();", 16),
    ("pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0});", 1024),
    ("prctl(PR_SET_TIMERSLACK, 1000000);", 1024),
    ("setpgid(0, 0);", 1024),
    ("prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);", 1024),
    ("alarm(0);", 1024),
    ("sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); sigtimedwait(&s, 0, &(struct timespec){0});", 1024),
    ("waitpid(-1, 0, WNOHANG);", 1024),
    ("time_t t = 0; gmtime(&t);", 1024),
    ("fcntl(2, F_SETFL, fcntl(2, F_GETFL) ^ O_NONBLOCK);", 1024),
    ("fwide(stdout, 1);", 1024),
    ('setenv("LAYLINE_TRIED", "1", 1);', 1024),
    ('setenv("LAYLINE_TRIED", "1", 1); unsetenv("LAYLINE_TRIED");', 0),
    ("mallopt(M_MMAP_MAX, 0);", 32),
    ("mallopt(M_MMAP_THRESHOLD, 1 << 30);", 32),
    ('chdir("/");', 64),
    *((f'__asm__ volatile("{one}");', 4) for one in REGISTERS.get(os.uname().machine, ())),
]


INCLUDES = "#define _GNU_SOURCE\n" + "".join(
    f"#include <{name}.h>\n"
    for name in (
        "fcntl",
        "fenv",
        "malloc",
        "pthread",
        "signal",
        "stdio",
        "stdlib",
        "sys/prctl",
        "sys/wait",
        "time",
        "unistd",
        "wchar",
    )
)


@pytest.mark.parametrize(("text", "left"), LEFT_BEHIND)
def test_what_belongs_to_the_caller_is_as_it_was(tmp_path: Path, text: str, left: int) -> None:
    kernel = "".join(f"int {one.symbol}() {{ {text} return 0; }}\n" for one in load_operator("softmax").passes)
    assert _call(tmp_path, INCLUDES + kernel, "line")[:2] == (0, left)
    assert left == 0 or left in FOUND


AT_LOAD = [
    ("", 0),
    ("free(malloc(1 << 20));", 0),
    ("srand(1);", 16),
    ("mallopt(M_MMAP_MAX, 0);", 32),
    ('chdir("/");', 64),
    ("prctl(PR_SET_TIMERSLACK, 1000000);", 1024),
    ("prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);", 1024),
    ('setenv("LAYLINE_TRIED", "1", 1);', 1024),
    ("fwide(stdout, 1);", 1024),
]


@pytest.mark.parametrize(("text", "left"), AT_LOAD)
def test_what_a_kernel_does_while_it_is_loaded_is_seen(tmp_path: Path, text: str, left: int) -> None:
    kernel = "".join(f"int {one.symbol}() {{ return 0; }}\n" for one in load_operator("softmax").passes)
    loaded = f"__attribute__((constructor)) static void begin(void) {{ {text} }}\n"
    assert _call(tmp_path, INCLUDES + loaded + kernel, "line")[:2] == (0, left)


@pytest.mark.parametrize("lost", REGISTERS.get(os.uname().machine, ()))
def test_a_lost_register_is_named(tmp_path: Path, lost: str) -> None:
    kernel = "".join(
        f'int {one.symbol}() {{ __asm__ volatile("{lost}"); return 0; }}\n' for one in load_operator("softmax").passes
    )
    _status, _left, count = _call(tmp_path, kernel, "line")
    [name] = [name for at, name in enumerate(ALL[os.uname().machine]) if count >> at & 1]
    assert name in lost or (name, lost) == ("the direction flag", "std")


def test_a_child_that_ends_the_process_does_not_move_what_is_read_next(tmp_path: Path) -> None:
    """A parallel kernel without memory for its threads ends its process by `exit`, which tidies up open files."""
    operator = load_operator("softmax")
    (tmp_path / "calling.c").write_text(write_caller(operator))
    ends = "struct rlimit now; getrlimit(RLIMIT_AS, &now); if (!now.rlim_cur) exit(1); return 0;"
    kernel = "".join(f"int {one.symbol}() {{ {ends} }}\n" for one in operator.passes)
    (tmp_path / "kernel.c").write_text("#include <stdlib.h>\n#include <sys/resource.h>\n" + kernel)
    build = ["cc", IN_MEMORY, "-w", "-o", "calling", "calling.c", "kernel.c", "-lpthread", "-lm"]
    subprocess.run(build, cwd=tmp_path, check=True, timeout=60)
    sizes = len(operator.shapes[0].sizes)
    calls = [
        struct.pack(f"<{6 + sizes}q", 0, 0, sizes, 0, manner, -1, *[1] * sizes)
        for manner in (Manner.POOR, Manner.LINE, Manner.LINE)
    ]
    (tmp_path / "calls").write_bytes(b"".join(calls))
    assert subprocess.run(["./calling"], cwd=tmp_path, check=False, timeout=60).returncode == ENDING
    assert len((tmp_path / "answers").read_bytes()) == 3 * 24


def test_times_are_not_kept_where_a_kernel_may_spoil_them(tmp_path: Path) -> None:
    lost = {"aarch64": "fmov d8, xzr\\n fmov d9, xzr\\n fmov d10, xzr", "x86_64": "mov $7, %rbx\\n mov $7, %r12"}
    spoil = lost.get(os.uname().machine, "")
    kernel = "".join(
        f'int {one.symbol}() {{ __asm__ volatile("{spoil}"); return 0; }}\n' for one in load_operator("softmax").passes
    )
    assert _call(tmp_path, kernel, "timed") == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", (0, 0, 0)),
        ("static int had; pthread_key_t key; if (!had++) pthread_key_create(&key, 0);", (0, 0, 0)),
        ("pthread_key_t key; pthread_key_create(&key, 0); pthread_key_delete(key);", (0, 0, 0)),
        ("pthread_key_t key; pthread_key_create(&key, 0);", (0, 512, 64)),
        ("static int calls; pthread_key_t key; if (calls++ % 16 == 0) pthread_key_create(&key, 0);", (0, 512, 4)),
    ],
)
def test_keys_of_threads_are_given_back(tmp_path: Path, text: str, found: tuple[int, int, int]) -> None:
    kernel = "".join(f"int {one.symbol}() {{ {text} return 0; }}\n" for one in load_operator("softmax").passes)
    assert _call(tmp_path, "#include <pthread.h>\n" + kernel, "often") == found
