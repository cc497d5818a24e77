"""A pin that `init` guessed: every answer that rests on it says so, until the user removes the mark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.prose import sentence
from layline.workspace.told import add_alert

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.core.report import Answer
    from layline.workspace.open import Workspace

_NOT_SHOWN = "Changes of upstream between your version and this pin are not judged."


def say_guess(backend: Backend) -> str:
    """What is to be said of a guessed pin; empty where it is none."""
    pin = backend.pin
    if pin is None or not pin.guessed:
        return ""
    named = f" {sentence(pin.guessed)}" if isinstance(pin.guessed, str) else ""
    return f"The pin {pin.revision} is a guess by `init`: no file of the project pins a version.{named}"


def say_remedy(key: str) -> str:
    return f"Write the version that you use into backends.{key}.pin, and remove `guessed`."


def tell_guess(workspace: Workspace, answer: Answer, key: str) -> Answer:
    """The answer with the guess in its first line, and one line about it, and what to do."""
    backend = workspace.settings.backend(key)
    said = say_guess(backend)
    if not said or backend.pin is None:
        return answer
    told = add_alert(answer, "pin_guessed", True, f"{said} {_NOT_SHOWN} {say_remedy(key)}")
    mark = f" The pin {backend.pin.revision} is a guess."
    report = replace(told.report, title=told.report.title + mark)
    listing = replace(told.listing, title=told.listing.title + mark) if told.listing is not None else None
    return replace(told, report=report, listing=listing)
