"""What the machine got wrong, in a sentence: a package that is not installed, a disk that takes no more."""

from __future__ import annotations

import errno
import shlex
import sys
from typing import Literal

from layline.errors import Error

REQUIRED = {
    "click": "click>=8.1",
    "jinja2": "jinja2>=3.1",
    "markdown_it": "markdown-it-py>=3.0",
    "packaging": "packaging>=24",
    "pydantic": "pydantic>=2.8",
    "yaml": "pyyaml>=6.0",
    "rich": "rich>=13.7",
    "typing_extensions": "typing-extensions>=4.12",
}
"""Module → what pip installs; every command may need it."""
OPTIONAL = {
    "pdf": {"typst": "typst>=0.13"},
    "campaign": {"numpy": "numpy>=1.26", "scipy": "scipy>=1.11"},
    "mcp": {"mcp": "mcp>=2"},
    "lsp": {"pygls": "pygls>=2"},
    "upgrade": {"libcst": "libcst>=1.5"},
    "ray": {"ray": "ray[client]>=2.9"},
}
"""Extra → module → what pip installs."""
_USED_FOR = {
    "pdf": "PDFs",
    "campaign": "campaigns",
    "mcp": "the server for agents",
    "lsp": "the server for editors",
    "upgrade": "`layline upgrade plan` and `apply`, which prove and make edits",
    "ray": "work on a Ray cluster",
}
PdfEngine = Literal["typst", "weasyprint"]
"""The first is the usual one."""
_ALTERNATIVES = {"weasyprint": "weasyprint"}
"""Not in any extra: another engine for PDFs."""
_BROUGHT = {"lsprotocol": "pygls", "cattrs": "pygls"}
"""A module that we import → the package of ours that brings it."""
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM})


def explain(error: BaseException) -> Error | None:
    """The sentence and the next step for what the machine got wrong; None where it may be our bug."""
    match error:
        case ModuleNotFoundError(name=str() as name):
            return _explain_module(name.partition(".")[0])
        case OSError(errno=int() as number) if number in _DISK:
            return _explain_disk(error, number)
    return None


def install(*modules: str) -> str:
    """The pip command that works today, from any folder and without an index that knows us."""
    known = REQUIRED | _ALTERNATIVES | {name: spec for extra in OPTIONAL.values() for name, spec in extra.items()}
    return f"python -m pip install {shlex.join(known[name] for name in modules)}"


def install_extra(extra: str) -> str:
    return install(*OPTIONAL[extra])


def _explain_module(name: str) -> Error | None:
    if name in REQUIRED:
        return Error(f"The Python package {name} is not installed; Layline needs it.", hint=install(*REQUIRED))
    for extra, modules in OPTIONAL.items():
        if _BROUGHT.get(name, name) in modules:
            return Error(
                f"The Python package {name} is not installed; it is needed for {_USED_FOR[extra]}.",
                hint=install_extra(extra),
            )
    if name in _ALTERNATIVES:
        return Error(f"The Python package {name} is not installed.", hint=install(name))
    if name == "layline":
        return None
    if name in sys.stdlib_module_names:
        return Error(f"This Python was built without the module {name}.", hint="Use another Python, 3.11 or newer.")
    return Error(
        f"The Python module {name} is not installed.",
        hint="Install the package that provides it. If Layline's own packages are damaged: "
        + install(*REQUIRED).replace("install", "install --force-reinstall", 1),
    )


def _explain_disk(error: OSError, number: int) -> Error:
    what = error.filename or "A file"
    said = error.strerror or errno.errorcode[number]
    if number in {errno.ENOSPC, errno.EDQUOT}:
        return Error(f"{what} cannot be written: {said}.", hint="Free some disk space and run the command again.")
    return Error(
        f"{what} cannot be read or written: {said}.",
        hint="Check its owner and permissions, and whether its disk is writable.",
    )
