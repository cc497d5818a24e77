"""Give up everything a kernel does not need, before it is loaded: namespaces, files, capabilities, system calls.

Each step that the machine refuses is told by name, so that the report can say what is weaker; none is fatal.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # dozens of processes start with this script: what is imported here is paid for in each
    from collections.abc import Iterator

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 4, 24, 38, 22
SYSTEM_FOLDERS = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc/alternatives")
PACKAGES = ("site-packages", "dist-packages")
"""Below a Python's library: other people's libraries, which its own does not need."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _check(
        _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()),
        f"mount {target}",
    )


def die_with_parent() -> None:
    """End when whoever started us ends, however that comes about: a killed campaign leaves no worker behind."""
    parent = os.getppid()
    _libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def enter_namespaces() -> Iterator[str]:
    """Leave the network, the other processes, the shared memory and the mounts behind; yield what did not work."""
    uid, gid = os.getuid(), os.getgid()
    wanted = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
    if _libc.unshare(wanted) != 0:
        yield f"namespaces: {os.strerror(ctypes.get_errno())}; network, processes and files are not private"
        return
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123  before pathlib is needed
            file.write(text)


def build_root(
    root: str, read_only: tuple[str, ...], writable: tuple[str, ...], masked: tuple[str, ...] = ()
) -> Iterator[str]:
    """Stand on a file system that holds only system folders and what is named, `masked` files emptied; yield what
    failed.
    """
    try:
        _mount("none", "/", "", MS_REC | MS_PRIVATE)
        _mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=256m")
        for folder in ("/tmp", "/dev/shm"):  # noqa: S108  private, and nothing written there can be loaded as code
            os.makedirs(root + folder, exist_ok=True)  # noqa: PTH103
            _mount("tmpfs", root + folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=256m")
        for folder in (*SYSTEM_FOLDERS, *read_only):
            _bind(folder, root, is_read_only=True)
        for device in DEVICES:
            _bind(device, root, is_read_only=False)
        for folder in find_packages((*SYSTEM_FOLDERS, *read_only)):
            _mount("tmpfs", root + folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=4k")
        for file in masked:
            if os.path.exists(root + file):  # noqa: PTH110
                _mount("/dev/null", root + file, "", MS_BIND)
        for folder in writable:
            _bind(folder, root, is_read_only=False)
        os.makedirs(root + "/proc")  # noqa: PTH103
        try:
            _mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV)
        except OSError as error:
            yield f"no /proc inside ({error.strerror})"
        old = root + "/.old"
        os.makedirs(old)  # noqa: PTH103
        _check(_libc.pivot_root(root.encode(), old.encode()), "pivot_root")
        os.chdir("/")
        _check(_libc.umount2(b"/.old", 2), "umount")
        os.rmdir("/.old")  # noqa: PTH106
        os.chdir("/tmp")  # noqa: S108
    except OSError as error:
        yield f"file system: {error.strerror}; the candidate sees this machine's files"


def _bind(path: str, root: str, *, is_read_only: bool) -> None:
    target = root + path
    if os.path.islink(path):  # noqa: PTH114
        if not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
            os.symlink(os.readlink(path), target)  # noqa: PTH115, PTH211
        return
    if not os.path.exists(path) or _is_covered(path):  # noqa: PTH110
        return
    if os.path.isdir(path):  # noqa: PTH112
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        with open(target, "wb"):  # noqa: PTH123
            pass
    _mount(path, target, "", MS_BIND | MS_REC)
    if is_read_only:
        kept = os.statvfs(path).f_flag & (MS_NOSUID | MS_NODEV | 8)  # flags of the outer mount are locked
        _mount("none", target, "", MS_BIND | MS_REMOUNT | MS_RDONLY | kept)


def find_packages(folders: tuple[str, ...]) -> Iterator[str]:
    """Installed packages, among them the linear algebra of this very process: nothing a kernel may find."""
    for folder in folders:
        for library in ("lib", "lib64", "local/lib", ""):
            place = os.path.join(folder, library)  # noqa: PTH118
            if not os.path.isdir(place) or os.path.islink(folder):  # noqa: PTH112, PTH114
                continue
            for name in sorted(os.listdir(place)):  # noqa: PTH208
                if name.startswith("python3"):
                    for packages in PACKAGES:
                        found = os.path.join(place, name, packages)  # noqa: PTH118
                        if os.path.isdir(found) and not os.path.islink(found):  # noqa: PTH112, PTH114
                            yield found


def _is_covered(path: str) -> bool:
    return any(path != folder and path.startswith(folder + "/") for folder in SYSTEM_FOLDERS if folder.count("/") == 1)


def drop_privileges() -> Iterator[str]:
    """No capability, no new privilege, dies with its parent."""
    _libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    for capability in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    header = struct.pack("<Ii", 0x20080522, 0)
    if _libc.capset(header, bytes(24)) != 0:
        yield "capabilities could not be dropped"
    if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        yield "no_new_privs is not available"


def limit_resources(memory_bytes: int) -> None:
    """Bound what a runaway kernel can take."""
    for what, amount in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 256 << 20),
        (resource.RLIMIT_NOFILE, 128),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        _soft, hard = resource.getrlimit(what)
        wanted = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(what, (wanted, wanted))


# System call numbers: killed at once (start a process or program, touch another process) or refused with EPERM.
# `refuse` holds what would let code, time or work come from elsewhere (sockets, io_uring, memory files that can be
# executed …), `timer` what would interrupt whoever runs after the call is over, `place` what would move the worker to
# another core or priority than the best's: the parent decides that.
_TABLES = {
    "x86_64": {
        "arch": 0xC000003E,
        "prctl": 157,
        "clone": 56,
        "clone3": 435,
        "kill": (57, 58, 59, 322, 101, 310, 311),
        "refuse": (
            41,
            53,
            155,
            161,
            165,
            166,
            175,
            246,
            248,
            250,
            272,
            298,
            304,
            308,
            312,
            313,
            319,
            321,
            323,
            425,
            426,
            427,
            438,
        ),
        "timer": (37, 38, 222, 223, 283, 286),
        "place": (141, 142, 144, 203, 251, 314),
    },
    "aarch64": {
        "arch": 0xC00000B7,
        "prctl": 167,
        "clone": 220,
        "clone3": 435,
        "kill": (221, 281, 117, 270, 271),
        "refuse": (
            198,
            199,
            39,
            40,
            41,
            51,
            97,
            104,
            105,
            217,
            219,
            241,
            265,
            268,
            272,
            273,
            279,
            280,
            282,
            425,
            426,
            427,
            438,
        ),
        "timer": (85, 86, 103, 107, 110),
        "place": (140, 118, 119, 122, 30, 274),
    },
}
_LOAD, _EQUAL, _AT_LEAST, _TEST, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM, _ENOSYS, _NOTHING = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026, 0x00050000
PR_GET_SECCOMP = 21
CLONE_THREAD = 0x00010000
X32_BIT = 0x40000000


def _hide(machine: str) -> list[tuple[int, int, int, int]]:
    """Whoever asks whether there is a filter is told that there is none. The number of the call is loaded, and again
    after.
    """
    prctl = int(str(_TABLES[machine]["prctl"]))
    return [
        (_EQUAL, 0, 4, prctl),
        (_LOAD, 0, 0, 16),
        (_EQUAL, 0, 1, PR_GET_SECCOMP),
        (_RETURN, 0, 0, _NOTHING),
        (_LOAD, 0, 0, 0),
    ]


def _filter_nothing(machine: str) -> bytes:
    """For programs that run beside the worker: they look the same to whoever asks, and may do everything."""
    lines = [(_LOAD, 0, 0, 0), *_hide(machine), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def _filter(machine: str) -> bytes:
    """A classic BPF program: threads may be started, processes not."""
    table = _TABLES[machine]
    arch, clone, clone3 = table["arch"], table["clone"], table["clone3"]
    lines: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, int(str(arch))),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, X32_BIT),  # the same calls under other numbers
        (_RETURN, 0, 0, _KILL),
        (_EQUAL, 0, 1, int(str(clone3))),
        (_RETURN, 0, 0, _ENOSYS),  # its flags lie behind a pointer; the C library falls back to clone
        *_hide(machine),
        (_EQUAL, 0, 4, int(str(clone))),
        (_LOAD, 0, 0, 16),
        (_TEST, 0, 1, CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
    ]
    for key, action in (("kill", _KILL), ("refuse", _EPERM), ("timer", _EPERM), ("place", _EPERM)):
        numbers = table[key]
        assert isinstance(numbers, tuple)  # noqa: S101  a table of this file
        for number in numbers:
            lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, action)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def forbid_system_calls(*, is_watched: bool = True) -> Iterator[str]:
    """From now on starting a process or program, or reading another process, ends this one; or nothing does, unseen."""
    machine = os.uname().machine
    if machine not in _TABLES:
        yield f"no system call filter for {machine}"
        return
    program = (_filter if is_watched else _filter_nothing)(machine)
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if _libc.prctl(PR_SET_SECCOMP, 2, described, 0, 0) != 0:
        yield f"system call filter: {os.strerror(ctypes.get_errno())}"


def fork_inside(status_fd: int) -> None:
    """Become the second process of the namespaces; the first one, and the one outside, wait and pass the end on.

    The first process of a namespace cannot stop itself, and the worker must. `status_fd` gets the number of the first
    one as the outside knows it; the worker is its only child.
    """
    told, tell = os.pipe()
    for is_outer in (True, False):
        pid = os.fork()
        if pid == 0:
            _libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
            if is_outer:
                os.read(told, 1)  # the number goes out before anything the worker says
                os.close(told)
                os.close(tell)
            continue
        if is_outer:
            os.write(status_fd, struct.pack("<q", pid))
            os.write(tell, b"x")
        os.close(status_fd)
        _code, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            os._exit(128 + os.WTERMSIG(status))
        os._exit(os.waitstatus_to_exitcode(status))


def prefixes() -> tuple[str, ...]:
    """Where this Python lives: it goes on importing its own library."""
    return tuple(sorted({sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable))}))  # noqa: PTH120


def main() -> None:
    """`confine.py ROOT FOLDER COMMAND…`: run the compiler, or `./PROGRAM` of the folder, with one writable folder."""
    root, folder, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    is_program = command[0].startswith("./")
    die_with_parent()
    weaker = list(enter_namespaces())
    reader, writer = os.pipe()
    os.set_inheritable(reader, False)
    fork_inside(writer)
    if not weaker:
        weaker += build_root(root, (), (folder,))
    limit_resources(resource.RLIM_INFINITY if is_program else 8 << 30)  # a sanitizer reserves terabytes it never uses
    weaker += drop_privileges()
    if is_program:  # the same to whoever asks as where the kernel is measured
        weaker += forbid_system_calls(is_watched=False)
    os.chdir(folder)
    folders = (f"{folder}/",) if is_program else ("/usr/local/bin/", "/usr/bin/", "/bin/")
    program = next(found for found in (folder + command[0] for folder in folders) if os.path.exists(found))  # noqa: PTH110
    os.execve(program, command, dict(os.environ))  # noqa: S606


if __name__ == "__main__":
    main()
