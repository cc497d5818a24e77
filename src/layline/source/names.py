"""Module names: from a path of a tree to the dotted name Python imports it by; and whose name a patch is on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from layline.core.ours import is_packaged
from layline.core.patch import Effect, TargetKind


def module_name(path: str, source_roots: Sequence[str] = (".",)) -> str | None:
    """The dotted name of a Python file; None where no import statement can spell it.

    The deepest source root that holds the path counts (`src/a/b.py` is `a.b` for the roots `.` and `src`).
    Folders need no `__init__.py`: namespace packages are packages.
    """
    if not path.endswith(".py"):
        return None
    parts = path.removesuffix(".py").split("/")[_depth(path, source_roots) :]
    if parts and parts[-1] == "__init__":
        parts.pop()
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    return ".".join(parts)


def script_name(path: str, source_roots: Sequence[str] = (".",)) -> str | None:
    """What a file is called in an index that nothing can import: no import statement spells a hyphen."""
    parts = path.removesuffix(".py").split("/")[_depth(path, source_roots) :]
    return ".".join(part.replace(".", "-") for part in parts) if path.endswith(".py") else None


def is_package(path: str) -> bool:
    return path.endswith("/__init__.py") or path == "__init__.py"


def find_files(path: str) -> tuple[str, ...]:
    """The file of a module, and the one it has where a module became a package or a package a module."""
    folder, _, name = path.rpartition("/")
    other = f"{folder}.py" if name == "__init__.py" else f"{path.removesuffix('.py')}/__init__.py"
    return (path, other) if folder or name != "__init__.py" else (path,)


def find_module_files(module: str, source_roots: Iterable[str]) -> Iterator[str]:
    """Where a module would be, whether it is there or not: one file, or the first of a package."""
    for root in source_roots:
        folder = "" if root in {"", "."} else f"{root.strip('/')}/"
        base = f"{folder}{module.replace('.', '/')}"
        yield f"{base}.py"
        yield f"{base}/__init__.py"


def absolute_name(module: str, *, package: bool, level: int, name: str) -> str | None:
    """What a (relative) import names, seen from `module`; None where it climbs out of the top package."""
    if level == 0:
        return name
    parts = module.split(".")
    keep = len(parts) - level + (1 if package else 0)
    if keep < 1:
        return None
    base = ".".join(parts[:keep])
    return f"{base}.{name}" if name else base


def parents(name: str) -> Iterable[str]:
    """`a.b.c` → `a.b`, `a`."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def is_within(name: str, package: str) -> bool:
    """True for the package itself and everything below it."""
    return name == package or name.startswith(package + ".")


def longest_root(name: str, packages: Iterable[str]) -> int:
    """How many characters of `name` the closest of the package roots covers; 0 for none."""
    return max((len(package) for package in packages if is_within(name, package)), default=0)


def _depth(path: str, source_roots: Sequence[str]) -> int:
    depths = [0]
    for root in source_roots:
        folder = root.strip("/").removeprefix("./")
        if folder not in {"", "."} and path.startswith(folder + "/"):
            depths.append(folder.count("/") + 1)
    return max(depths)


def find_packages(paths: Iterable[str], source_roots: Sequence[str] = (".",)) -> tuple[str, ...]:
    """The packages a tree offers: top folders with an `__init__.py`, and those one below a namespace folder."""
    found: set[str] = set()
    for path in paths:
        name = module_name(path, source_roots) if path.endswith("/__init__.py") else None
        parts = name.split(".") if name else []
        if parts and len(parts) <= 2 and is_packaged("/".join(parts) + "/__init__.py"):
            found.add(".".join(parts))
    return tuple(
        sorted(name for name in found if name.partition(".")[0] == name or name.partition(".")[0] not in found)
    )


def find_target(effect: Effect) -> str | None:
    """What is compared; of a config rewrite the function or mapping it goes through (`a.b.register('x')`,
    `a.b.TABLE['x']`).
    """
    if effect.target:
        return effect.target
    for key in effect.mutates:
        head = re.split(r"[(\[]", key, maxsplit=1)[0]
        if head != key and "." in head and all(part.isidentifier() for part in head.split(".")):
            return head
    return None


def is_on(effect: Effect, packages: Iterable[str], foreign: Iterable[str] = ()) -> bool | None:
    """Whether its target is a name of this upstream, wherever what it stands for is defined; None: it has no name.

    `packages` are the upstream's, `foreign` those of the other backends. A name below a package that no commit of
    upstream leads to is another distribution's (`up.bridge` beside `up.core`).
    """
    target = find_target(effect)
    if target is None:
        return None
    own, other = longest_root(target, packages), longest_root(target, foreign)
    if effect.target_kind is TargetKind.EXTERNAL:
        return own > other and effect.alias_of is not None
    return own > other or not other
