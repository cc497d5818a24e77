"""Install commands in shell text: comments dropped, continuations joined, each with its line."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.gap.dependencies.model import Declaration, Kind, Rank, parse_need
from layline.gap.dependencies.requirement_files import channel_name, name_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_INSTALL = re.compile(
    r"(?:^|[\s/(\"'`])(?:uv\s+pip|python[\d.]*\s+-m\s+pip|pip[\d.]*|pip_install|conda|mamba|uv)\s*(?:-\S+\s+)*"
    r"(?P<verb>install|add|(?<=pip_install))\s+(?P<rest>.*)$"
)
_VALUED = frozenset(
    {
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "-c",
        "--constraint",
        "-r",
        "--requirement",
        "-t",
        "--target",
        "--python",
        "-p",
        "-n",
        "--name",
        "--channel",
        "--group",
        "--extra",
        "--prefix",
        "--root",
        "--platform",
        "--trusted-host",
        "--no-binary",
        "--only-binary",
        "--config-settings",
        "-C",
        "--index",
        "--override",
        "--overrides",
        "--python-version",
        "--timeout",
        "--index-strategy",
        "--no-build-isolation-package",
        "--no-install-package",
        "--cache-dir",
        "--progress-bar",
        "--retries",
        "--upgrade-package",
        "-P",
    }
)
_WHEEL_INDEX = re.compile(r"https?://[\w.-]+/(?:[\w.-]+/)*whl(?:/[\w.-]+)*")
_ASSIGNMENT = re.compile(
    r"""^\s*(?:export\s+|ARG\s+|ENV\s+)?(?P<name>(?:[A-Z][A-Z0-9_]*)?(?:VERSION|COMMIT|IMAGE|IMAGE_NAME|TAG|REV|REF|SHA|SPEC))\s*=\s*
    (?P<value>"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:\#.*)?$""",
    re.VERBOSE,
)
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
_DEFAULT = re.compile(r"^\$\{\w+:-(.*)\}$")


def find_shell_declarations(
    path: str, lines: Iterable[tuple[int, str]], *, rank: Rank = Rank.COMMANDS
) -> Iterator[Declaration | Skipped]:
    """Packages, wheel indexes and pinned versions that a shell text installs."""
    variables: dict[str, list[str]] = {}
    for line in logical_lines(lines):
        for found in _find_assignment(path, line.number, line.text, rank):
            variables.setdefault(found.name, []).append(found.spec)
            if not found.name.endswith("SPEC"):  # a requirement held in a variable counts where it is installed
                yield found
        yield from find_channels(path, line, rank)
        for command in line.split():
            for spelled in _spelled_out(command.text, variables):
                yield from find_installs(
                    path, command if spelled == command.text else ShellLine.at(command.number, spelled), rank
                )


def _spelled_out(command: str, variables: dict[str, list[str]]) -> Iterator[str]:
    """The command once for each value that a requirement variable in it was given."""
    for name, values in variables.items():
        if name.endswith("SPEC") and re.search(rf"\$\{{?{name}\b\}}?", command):
            for value in values:
                yield re.sub(rf"\$\{{?{name}\b\}}?", value.replace("\\", ""), command)
            return
    yield command


def find_installs(path: str, command: ShellLine, rank: Rank) -> Iterator[Declaration | Skipped]:
    """What one install command names, each at its own line; its own project (`.`) is not a need."""
    found = _INSTALL.search(command.text)
    if found is None or command.text.lstrip().startswith(("echo ", "printf ")):
        return
    try:
        words = shlex.split(_EXPRESSION.sub(lambda one: "".join(one.group(0).split()), found["rest"]))
    except ValueError:
        yield Skipped.at(path, command.number, f"the quotes of `{command.text.strip()[:80]}` do not close")
        return
    skip, offset = False, found.start("rest")
    for word in words:
        offset = max(offset, command.text.find(word, offset))
        if skip:
            skip = False
        elif word in _VALUED:
            skip = True
        elif word in {">", ">>", "2>", "2>&1", "<", ")"}:
            return
        elif not word.startswith("-") and not _is_path(word):
            yield from _find_word(path, command.find_number(offset), word, rank)


def _find_word(path: str, number: int, word: str, rank: Rank) -> Iterator[Declaration | Skipped]:
    text = word.strip("\"'`,")
    text = name_address(text)
    need = parse_need(text)
    if need is None or "$" in need.name or text.startswith("$"):
        if re.search(r"[A-Za-z]", text):
            yield Skipped.at(path, number, f"what `{text[:60]}` installs depends on a variable")
        return
    yield Declaration(
        rank=rank,
        kind=Kind.REQUIREMENT,
        name=need.name,
        spec=need.spec,
        scope=path,
        place=Location(path, number),
        extras=need.extras,
        marker=need.marker,
    )


def find_channels(path: str, line: ShellLine, rank: Rank) -> Iterator[Declaration]:
    for found in _WHEEL_INDEX.finditer(line.text):
        address, number = found.group(0), line.find_number(found.start())
        _, _, channel = address.partition("/whl")
        spec = channel.strip("/") or "stable"
        family = re.sub(r"[\d.]+$", "", spec)
        name = f"{channel_name(address)} {family}".strip()
        yield Declaration(rank=rank, kind=Kind.CHANNEL, name=name, spec=spec, scope=path, place=Location(path, number))


def _find_assignment(path: str, number: int, line: str, rank: Rank) -> Iterator[Declaration]:
    found = _ASSIGNMENT.match(line)
    if found is None:
        return
    value = found["value"].strip("\"'")
    if default := _DEFAULT.match(value):
        value = default.group(1)
    if value and not value.startswith("$"):
        kind = Kind.IMAGE if "IMAGE" in found["name"] else Kind.SETTING
        yield Declaration(
            rank=rank, kind=kind, name=found["name"], spec=value, scope=path, place=Location(path, number)
        )


@dataclass(frozen=True, slots=True)
class ShellLine:
    """What the shell reads as one line, and on which line of the file each part of it stands."""

    text: str
    starts: tuple[tuple[int, int], ...]
    """From which character of the text on it is which line of the file."""

    @classmethod
    def at(cls, number: int, text: str) -> ShellLine:
        return cls(text, ((0, number),))

    @property
    def number(self) -> int:
        return self.starts[0][1]

    def find_number(self, offset: int) -> int:
        return max(one for one in self.starts if one[0] <= max(offset, 0))[1]

    def split(self) -> Iterator[ShellLine]:
        """Its simple commands."""
        end = 0
        for command in split_commands(self.text):
            begin = self.text.index(command, end)
            end = begin + len(command)
            inside = ((offset - begin, number) for offset, number in self.starts if begin < offset < end)
            yield ShellLine(command, ((0, self.find_number(begin)), *inside))


def logical_lines(lines: Iterable[tuple[int, str]]) -> Iterator[ShellLine]:
    """Shell lines with comments dropped and continuations joined."""
    held, starts = "", list[tuple[int, int]]()
    for number, raw in lines:
        line = strip_comment(raw).rstrip()
        if held and not line.strip():
            continue  # a comment line inside a continuation does not end it
        starts.append((len(held), number))
        if line.endswith("\\"):
            held += line[:-1].strip() + " "
            continue
        whole = held + line.strip()
        if whole:
            yield ShellLine(whole, tuple(starts))
        held, starts = "", []
    if held.strip():
        yield ShellLine(held.rstrip(), tuple(starts))


def strip_comment(line: str) -> str:
    """The line without its comment; a # inside quotes or inside a word is not one."""
    if "#" not in line:
        return line
    quote = ""
    for index, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#" and (index == 0 or line[index - 1] in " \t;"):
            return line[:index]
    return line


def split_commands(line: str) -> list[str]:
    """The simple commands of a line, split at && || ; | outside quotes."""
    parts, held, quote, index = [], "", "", 0
    while index < len(line):
        character = line[index]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif line[index : index + 2] in {"&&", "||"} or character in ";|":
            parts.append(held)
            held = ""
            index += 2 if line[index : index + 2] in {"&&", "||"} else 1
            continue
        held += character
        index += 1
    return [part for part in (*parts, held) if part.strip()]


def _is_path(word: str) -> bool:
    """A file or folder of the image, not the name of a package; `folder/.` is one, too."""
    return word.startswith((".", "/", "~")) or word.endswith((".whl", ".txt", "/", "/.")) or word == "pip"
