"""A pin that `init` guessed: every answer that rests on it says so, until the user removes the mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.workspace.told import add_alert

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.core.report import Answer
    from layline.workspace.open import Workspace


def say_guess(backend: Backend) -> str:
    """What is to be said of a guessed pin; empty where it is none."""
    pin = backend.pin
    if pin is None or not pin.guessed:
        return ""
    return f"The pin {pin.revision} is a guess by `init`: no file of the project pins a version."


def tell_guess(workspace: Workspace, answer: Answer, key: str) -> Answer:
    """The answer with one line about a guessed pin, and what to do."""
    said = say_guess(workspace.settings.backend(key))
    if not said:
        return answer
    fix = f"Write the one you use in backends.{key}.pin, and remove `guessed`."
    return add_alert(answer, "pin_guessed", True, f"{said} {fix}")
