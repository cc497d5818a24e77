"""What a library does to the program it is loaded into before anything of it is called: names it takes, stacks it wants."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from layline.campaign.devices.faults import Fault
from layline.campaign.devices.procfs import read_mapped_files

SYSTEM = ("libc.so", "libc-", "libm.so", "libm-", "libpthread")
_HEADER, _SEGMENT, _SECTION, _SYMBOL = "<16xHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ", "<IBBHQQ"
_UNREADABLE = (struct.error, IndexError, ValueError, OverflowError)
_STACK, _DYNSYM, _FUNCTION, _EXECUTABLE, _HIDDEN = 0x6474E551, 11, 2, 1, (1, 2)


def find_library_faults(library: Path) -> Iterator[Fault]:
    """Nothing where the file cannot be read as a 64-bit ELF library."""
    data = library.read_bytes()
    taken = sorted(read_functions(data) & read_system_names())
    if taken:
        names = ", ".join(taken[:4])
        told = f"The library defines {names} for the whole program: other code that calls {taken[0]} gets the kernel's version."
        yield Fault("global-state", told, "make functions of your own `static`")
    if wants_executable_stack(data):
        told = "Loading the library makes the stacks of the whole program executable."
        yield Fault(
            "global-state",
            told,
            "its PT_GNU_STACK asks for it: nested functions, or assembler without `.note.GNU-stack`",
        )


def read_functions(data: bytes) -> frozenset[str]:
    """Functions that a library gives to everybody."""
    try:
        return frozenset(_read_functions(data))
    except _UNREADABLE:
        return frozenset()


@cache
def read_system_names() -> frozenset[str]:
    """Functions of the C library and of its mathematics, as they are loaded here."""
    paths = (Path(path) for path in read_mapped_files(os.getpid()))
    return frozenset(
        name for path in paths if path.name.startswith(SYSTEM) for name in read_functions(path.read_bytes())
    )


def wants_executable_stack(data: bytes) -> bool:
    try:
        return any(kind == _STACK and flags & _EXECUTABLE for kind, flags, *_rest in _read_segments(data))
    except _UNREADABLE:
        return False


def _read_header(data: bytes) -> tuple[int, ...]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise IndexError
    return struct.unpack_from(_HEADER, data)


def _read_segments(data: bytes) -> Iterator[tuple[int, ...]]:
    header = _read_header(data)
    start, size, count = header[4], header[8], header[9]
    yield from (struct.unpack_from(_SEGMENT, data, start + size * at) for at in range(count))


def _read_functions(data: bytes) -> Iterator[str]:
    header = _read_header(data)
    start, size, count = header[5], header[10], header[11]
    sections = [struct.unpack_from(_SECTION, data, start + size * at) for at in range(count)]
    for section in sections:
        if section[1] != _DYNSYM:
            continue
        text, offset = data, sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], struct.calcsize(_SYMBOL)):
            name, info, other, index, _value, _size = struct.unpack_from(_SYMBOL, data, at)
            if info & 15 == _FUNCTION and info >> 4 and index and other & 3 not in _HIDDEN:
                found = text[offset + name : text.index(b"\0", offset + name)].decode()
                if not found.startswith("_"):
                    yield found
