"""Why a node that is there cannot be used, in one sentence, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from layline.executors.values import Plain

SAME = "Install the same version of Layline there."
NO_TIME = "The node is too busy or cut off: `ray status` lists what is waiting for it."


@dataclass(frozen=True, slots=True)
class Reason:
    why: str
    hint: str


def ask_unknown() -> Callable[[str], Plain]:
    """A function that describes the node it runs on and needs no Layline there to say that there is none.

    It stands inside another, so that it travels as code and not by its name.
    """

    def describe(node: str) -> Plain:
        import dataclasses

        try:
            from layline.executors.machine import read_machine

            return dataclasses.asdict(read_machine(node))
        except ImportError as error:
            return {"failed": "import", "missing": error.name, "said": str(error)}
        except Exception as error:  # noqa: BLE001  the worker's boundary: the driver says it
            return {"failed": "describe", "missing": None, "said": f"{type(error).__name__}: {error}"}

    return describe


def find_reason(said: Plain) -> Reason | None:
    """What a node's answer means; None where it is a machine."""
    match said:
        case {"failed": "import", "missing": "layline"}:
            return Reason("Layline is not installed there", SAME)
        case {"failed": "import", "missing": str(module)} if module.startswith("layline."):
            return Reason("another version of Layline is installed there", SAME)
        case {"failed": "import", "said": text}:
            return Reason(f"Layline does not start there ({text})", "Install what it needs there, too: see pip check.")
        case {"failed": _, "said": text}:
            return Reason(f"the node cannot describe itself ({text})", "Run `layline doctor` on it.")
    return None
