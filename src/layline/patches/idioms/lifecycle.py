"""Calls with an effect on the whole process that no assignment shows: log levels, warning filters, global switches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Moment, Style
from layline.interpreter.events import Call, Event
from layline.interpreter.state import text_of
from layline.interpreter.values import Called, Class, Function, Member, Outside
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_SWITCHES = re.compile(
    r"(?:^warnings\.(?:filterwarnings|simplefilter)|^torch\.(?:\w+\.)*(?:set_\w+|allow_in_graph|enable_\w+|disable_\w+)"
    r"|^locale\.setlocale|^multiprocessing\.set_start_method|^signal\.signal|^sys\.set\w+)$"
)


def find_lifecycle_calls(event: Event, installer: Installer) -> Iterator[Effect]:
    """`logging.getLogger("x").setLevel(…)`, `warnings.filterwarnings(…)`, `torch.set_float32_matmul_precision(…)`."""
    if not isinstance(event, Call) or moment_of(event) is not Moment.INSTALL:
        return
    match event.callee:
        case Member(
            owner=Called(callee=Outside(path="logging.getLogger"), arguments=arguments), name="setLevel" | "disabled"
        ):
            name = text_of(arguments[0]) if arguments else "root"
            yield _effect(event, f'logging.getLogger("{name}").level' if name else "the level of a logger")
        case Outside(path=path) if _SWITCHES.search(path) and not _is_about_ours(event):
            yield _effect(event, path)


def _is_about_ours(event: Call) -> bool:
    """`@torch._dynamo.allow_in_graph` over a class of ours says something about that class alone."""
    return len(event.arguments) == 1 and isinstance(event.arguments[0], Class | Function)


def _effect(event: Call, what: str) -> Effect:
    return Effect(style=Style.ENV_LIFECYCLE, target=None, location=event.at, mutates=(what,), moment=moment_of(event))
