"""The program that sees what a kernel asks of the system, and what it changes of the C library's."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from layline.campaign.measure.caller_program import ENDING, OF_THREADS, Seen, write_watched
from layline.campaign.measure.callers import list_bits
from layline.campaign.measure.watched import EMPTY, name_system_call
from layline.campaign.operators import load_operator

RSEQ = (
    "extern const long __rseq_offset __attribute__((weak)); extern const unsigned __rseq_size __attribute__((weak));\n"
)
INCLUDES = (
    "#define _GNU_SOURCE\n"
    + RSEQ
    + "".join(
        f"#include <{name}.h>\n"
        for name in (
            "fcntl",
            "locale",
            "malloc",
            "math",
            "pthread",
            "sched",
            "signal",
            "stdint",
            "stdio",
            "stdlib",
            "string",
            "sys/mman",
            "sys/prctl",
            "sys/resource",
            "sys/syscall",
            "time",
            "unistd",
            "wchar",
        )
    )
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watched")
    operator = load_operator("softmax")
    (folder / "calling.c").write_text(write_watched(operator))
    (folder / "empty.c").write_text(EMPTY)
    for command in (
        "cc -shared -fPIC -fopenmp -o empty.so empty.c",
        "cc -O1 -Wall -Werror -o calling calling.c -lpthread -ldl",
    ):
        subprocess.run(command.split(), cwd=folder, check=True, timeout=60)
    sizes = len(operator.shapes[0].sizes)
    (folder / "calls").write_bytes(struct.pack(f"<{6 + sizes}q", 0, 0, sizes, 0, 0, -1, *[1] * sizes))
    return folder


def _watch(folder: Path, kernel: str) -> tuple[int, int]:
    (folder / "kernel.c").write_text(INCLUDES + kernel)
    build = "cc -O1 -w -shared -fPIC -o kernel.so kernel.c -lm -lpthread"
    subprocess.run(build.split(), cwd=folder, check=True, timeout=60)
    assert subprocess.run(["./calling"], cwd=folder, check=False, timeout=60).returncode == ENDING
    _status, seen, more = struct.unpack_from("<3q", (folder / "answers").read_bytes())
    if seen == Seen.UNWATCHED:
        pytest.skip("no system call filter here")
    return seen, more


OWN_AFFAIR = (
    "",
    "free(malloc(3 << 20)); free(calloc(77, 13)); static void *kept; if (!kept) kept = malloc(123456);",
    "void *all[300]; for (int i = 0; i < 300; i++) all[i] = malloc(40 * i + 1); for (int i = 0; i < 300; i++) free(all[i]);",
    "static void *pool; if (!pool) pool = mmap(0, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);",
    "static int had; static pthread_key_t key; if (!had++) pthread_key_create(&key, free);",
    "pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0);",
    "static int cores; if (!cores) cores = sysconf(_SC_NPROCESSORS_ONLN); cpu_set_t set; sched_getaffinity(0, sizeof set, &set);",
    'FILE *f = fopen("/proc/cpuinfo", "r"); char text[64]; if (f) { fgets(text, 64, f); fclose(f); }',
    "struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now);",
    "static int had; if (!had++) atexit(end);",
    "double x = pow(2.5, 3.5) + lgamma(4.5);",
    'static int had; if (!had++) { FILE *f = fopen("left", "w"); if (f) { fputs("x", f); fclose(f); } }',
    "static void *kept[8]; static int had; if (had < 8) kept[had++] = malloc(40 << 20);",
    "static pthread_t t; static int had; if (!had++) pthread_create(&t, 0, wait, 0);",
    "struct rlimit most; getrlimit(RLIMIT_AS, &most);",
    'static char text[64]; snprintf(text, 64, "%.3e", 1.5); getenv("OMP_NUM_THREADS");',
)
CALLERS = (
    ("prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);", "prctl"),
    ("signal(SIGUSR1, SIG_IGN);", "rt_sigaction"),
    ('int f = open("/proc/self/oom_score_adj", O_WRONLY); if (f >= 0) close(f);', "openat"),
    ("setpriority(PRIO_PROCESS, 0, 5);", "setpriority"),
    ("cpu_set_t set; CPU_ZERO(&set); CPU_SET(0, &set); sched_setaffinity(0, sizeof set, &set);", "sched_setaffinity"),
    ("struct rlimit most = {1 << 30, 1 << 30}; setrlimit(RLIMIT_CORE, &most);", "prlimit64"),
    ('write(1, "x", 1);', "write"),
    ("fork();", "clone"),
    ("umask(0);", "umask"),
    ("alarm(5);", None),
    ("pthread_atfork(end, 0, 0);", ""),
    ("srand(3);", ""),
    ("rand();", ""),
    ("fwide(stdout, 1);", ""),
    ("mallopt(M_MMAP_MAX, 0);", ""),
    ("mallopt(M_TOP_PAD, 1 << 20);", ""),
    ("time_t t = 0; gmtime(&t);", ""),
    ('setlocale(LC_ALL, "C.UTF-8");', ""),
    ('strtok((char[]){"a b"}, " ");', ""),
    ('setenv("LAYLINE_TRIED", "1", 1);', ""),
)


def _write(text: str, *, at_load: bool) -> str:
    begin = f"__attribute__((constructor)) static void begin(void) {{ {text} }}\n" if at_load else ""
    body = "" if at_load else text
    own = "static void end(void) {}\nstatic void *run(void *none) { return none; }\n"
    own += "static void *wait(void *none) { for (;;) sleep(1); return none; }\n" + begin
    return own + "".join(f"int {one.symbol}() {{ {body} return 0; }}\n" for one in load_operator("softmax").passes)


@pytest.mark.parametrize("text", OWN_AFFAIR)
def test_memory_threads_and_reading_are_the_kernels_affair(program: Path, text: str) -> None:
    assert _watch(program, _write(text, at_load=False)) == (0, 0)


@pytest.mark.parametrize("at_load", [False, True])
@pytest.mark.parametrize(("text", "name"), CALLERS)
def test_what_is_the_callers_is_seen(program: Path, text: str, name: str | None, at_load: bool) -> None:
    seen, more = _watch(program, _write(text, at_load=at_load))
    assert seen == (Seen.CHANGED if name == "" else Seen.ASKED)
    if name:
        assert name_system_call(more) == f"`{name}`"


THREADS = (
    ("static void *robust[3]; syscall(SYS_set_robust_list, robust, 24L);", OF_THREADS[0], ""),
    (
        "if (&__rseq_size && __rseq_size) syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, 32, 1, 0x53053053);",
        OF_THREADS[1],
        "",
    ),
    ('__asm__ volatile(".byte 0x0f,0x01,0xef" ::"a"(0), "c"(0), "d"(0));', OF_THREADS[2], "ospke"),
)


@pytest.mark.parametrize(("text", "what", "flag"), THREADS, ids=[one[1] for one in THREADS])
def test_what_is_the_threads_is_seen(program: Path, text: str, what: str, flag: str) -> None:
    known = Path("/proc/cpuinfo").read_text("utf-8").split()
    if flag and flag not in known:
        pytest.skip(f"this processor has no {flag}")
    seen, more = _watch(program, _write(text, at_load=False))
    if not seen and "rseq" in text:
        pytest.skip("this C library has no restartable sequences")
    assert seen == Seen.THREAD
    assert list_bits(OF_THREADS, more) == what


def test_files_that_pile_up_are_seen(program: Path) -> None:
    made = 'static int calls; char name[32]; if (calls++ % 200 == 150) { sprintf(name, "left%d", calls); close(open(name, O_CREAT | O_RDWR, 0600)); }'
    assert _watch(program, _write(made, at_load=False)) == (Seen.LEFT, 5)
