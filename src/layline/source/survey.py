"""What a downstream tree shows of its layering: submodules, other pins, integration, patch and config folders."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.ours import is_own, is_packaged
from layline.history.json_keys import JsonString, find_strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.source.tree import Tree

_ADDRESS = re.compile(
    r"(?:(?:https://|git@)(github\.com|gitlab\.com|gitcode\.com|gitee\.com)|git\+https://([\w.-]+))"
    r"[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?(?=[\s\"'@#)/>\]\\,;|:]|$)"
)
_VARIABLE = re.compile(
    r"^\s*(?:ENV|ARG|export|-)?\s*\"?([A-Z][A-Z0-9_]*_(?:COMMIT|SHA|COMMIT_ID|HASH|REV))"
    r"\"?\s*[:=]\s*[\"']?([0-9a-f]{40})\b"
)
_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+([A-Za-z_]\w*(?:\.\w+)*)", re.MULTILINE)
_MAX_TEXT_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Submodule:
    name: str
    path: str
    url: str
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPin:
    """A full commit hash under a telling name: a variable, or a file of its own."""

    name: str
    """The variable without its _COMMIT, or the stem of the file, normalised."""
    variable: str | None
    location: Location
    commit: str
    address: str | None = None
    """The repository that stands beside it."""


def normalise(name: str) -> str:
    """Letters and digits, lower case: `Megatron-LM`, `megatron_lm` → `megatronlm`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def parse_gitmodules(text: str) -> Iterator[Submodule]:
    """Entries that have a path and an address, in file order; read as text because git would follow includes."""
    current: dict[str, str] = {}
    for line in (*text.splitlines(), '[submodule ""]'):
        header = re.match(r'\s*\[submodule\s+"(.*)"\]\s*$', line)
        if header:
            if current.get("path") and current.get("url"):
                yield Submodule(
                    name=current["name"],
                    path=current["path"].rstrip("/"),
                    url=current["url"],
                    branch=current.get("branch"),
                )
            current = {"name": header.group(1)}
        elif (entry := re.match(r"\s*(\w+)\s*=\s*(.*?)\s*$", line)) and not line.lstrip().startswith(("#", ";")):
            current[entry.group(1).lower()] = entry.group(2).strip('"')


def to_https(url: str) -> str | None:
    """The https form of a repository address; None for local and relative ones."""
    ssh = re.match(r"(?:ssh://)?git@([\w.-]+)[:/](.+)", url)
    address = f"https://{ssh.group(1)}/{ssh.group(2)}" if ssh else url
    return address.removesuffix("/").removesuffix(".git") if address.startswith("https://") else None


def find_written_pins(tree: Tree) -> Iterator[WrittenPin]:
    """Commit variables in workflows, Dockerfiles and shell scripts; `.github/*.commit` files; addresses with a commit
    in JSON files.
    """
    for path in tree.paths():
        base = posixpath.basename(path)
        if base.endswith(".commit"):
            text = _read_small(tree, path)
            found = re.fullmatch(r"\s*([0-9a-f]{40})\s*", text or "")
            if found:
                stem = normalise(re.sub(r"[-_.](?:main|verified|pinned|release|latest|commit).*$", "", base))
                yield WrittenPin(name=stem, variable=None, location=Location(path, 1), commit=found.group(1))
        elif base.endswith(".json") and is_own(path):
            yield from _find_manifest_pins(path, _read_small(tree, path) or "")
        elif _may_hold_variables(path, base):
            yield from _find_variables(path, _read_small(tree, path) or "")


def _may_hold_variables(path: str, base: str) -> bool:
    if path.startswith((".github/workflows/", ".gitlab-ci")) and base.endswith((".yml", ".yaml")):
        return True
    return base.startswith(("Dockerfile", "Containerfile")) or base.endswith((".dockerfile", ".sh", ".env"))


def _find_variables(path: str, text: str) -> Iterator[WrittenPin]:
    for number, line in enumerate(text.splitlines(), 1):
        found = _VARIABLE.match(line)
        if found:
            variable, commit = found.groups()
            stem = normalise(re.sub(r"_(?:COMMIT|SHA|COMMIT_ID|HASH|REV)$", "", variable))
            yield WrittenPin(name=stem, variable=variable, location=Location(path, number), commit=commit)


def _find_manifest_pins(path: str, text: str) -> Iterator[WrittenPin]:
    """Objects of a JSON file that hold the address of a repository and one full commit."""
    groups: dict[str, list[JsonString]] = {}
    for one in find_strings(text) if re.search(r"\b[0-9a-f]{40}\b", text) else ():
        groups.setdefault(one.key.rpartition(".")[0], []).append(one)
    for held in groups.values():
        commits = [one for one in held if re.fullmatch("[0-9a-f]{40}", one.value)]
        addresses = [found for one in held if (found := _ADDRESS.match(one.value)) is not None]
        if len(commits) == len(addresses) == 1:
            (one,), (found,) = commits, addresses
            yield WrittenPin(
                name=normalise(found[4]),
                variable=one.key,
                location=Location(path, one.line),
                commit=one.value,
                address=f"https://{found[1] or found[2]}/{found[3]}/{found[4]}",
            )


def find_addresses(tree: Tree) -> dict[str, str]:
    """Normalised repository name → its https address, where the tree's own text files name exactly one."""
    found: dict[str, Counter[str]] = {}
    for path in tree.paths():
        base = posixpath.basename(path)
        if (
            not base.endswith((".md", ".rst", ".toml", ".yml", ".yaml", ".sh", ".txt", ".cfg", ".py"))
            and "ockerfile" not in base
        ):
            continue
        if base.endswith(".py") and base != "setup.py":
            continue
        for host, other_host, owner, name in _ADDRESS.findall(_read_small(tree, path) or ""):
            found.setdefault(normalise(name), Counter())[f"https://{host or other_host}/{owner}/{name}"] += 1
    return {name: addresses.most_common(1)[0][0] for name, addresses in found.items()}


def find_address(text: str) -> str | None:
    """The https address of the first repository that a text names, on a host that holds repositories only."""
    found = _ADDRESS.search(text)
    return f"https://{found[1] or found[2]}/{found[3]}/{found[4]}" if found is not None else None


def find_imported_packages(tree: Tree, under: str = "") -> Counter[str]:
    """Top-level package → how many files below `under` import it (textually; for choosing, not for facts)."""
    oids: dict[str, None] = {}
    for path in tree.paths(under, suffix=".py"):
        entry = tree.find(path)
        if entry is not None and is_own(path):
            oids[entry.oid] = None
    counts: Counter[str] = Counter()
    for blob in tree.repository.stream_blobs(oids):
        if not isinstance(blob, str):
            counts.update({name.split(b".")[0].decode() for name in _IMPORT.findall(blob.data)})
    return counts


def find_folders(paths: Iterable[str]) -> Counter[str]:
    """Folder → files below it."""
    counts: Counter[str] = Counter()
    for path in paths:
        folder = posixpath.dirname(path)
        while folder:
            counts[folder] += 1
            folder = posixpath.dirname(folder)
    return counts


def match_integration(tree: Tree, names: Iterable[str]) -> dict[str, str]:
    """Upstream name → the downstream folder written for it.

    The folders that belong together stand side by side (`backends/megatron`, `backends/torchtitan`): the parent with
    the most matches decides, so that a deep `models/mamba` does not pass for an integration of `mamba`.
    """
    folders = find_folders(path for path in tree.paths(suffix=".py") if is_own(path))
    by_parent: dict[str, dict[str, tuple[int, str]]] = {}
    for name in names:
        wanted = normalise(name)
        for folder in folders:
            score = _score_folder(normalise(posixpath.basename(folder)), wanted)
            best = by_parent.setdefault(posixpath.dirname(folder), {})
            if score and score > best.get(name, (0, ""))[0]:
                best[name] = (score, folder)
    if not by_parent:
        return {}
    home = max(
        by_parent,
        key=lambda parent: (sum(score for score, _ in by_parent[parent].values()), -parent.count("/"), parent),
    )
    taken: dict[str, tuple[int, str]] = {}
    for name, (score, folder) in by_parent[home].items():
        if score > taken.get(folder, (0, ""))[0]:
            taken[folder] = (score, name)
    return {name: folder for folder, (_, name) in taken.items()}


def _score_folder(folder: str, wanted: str) -> int:
    """How well a folder's name fits an upstream's: equal, or one begins or ends with the other."""
    if len(folder) < 4 or len(wanted) < 4:
        return 100 * (folder == wanted)
    if folder == wanted:
        return 100
    if wanted.startswith(folder) or wanted.endswith(folder) or folder.startswith(wanted) or folder.endswith(wanted):
        return min(len(folder), len(wanted))
    return 0


def find_own_folders(tree: Tree) -> list[str]:
    """The folders of the downstream's own top-level packages."""
    own = []
    for package in find_packages(tree):
        top = package.split(".")[0]
        for folder in (top, f"src/{top}"):
            if folder not in own and next(tree.paths(folder, suffix=".py"), None) is not None:
                own.append(folder)
    return own


def find_patch_folders(tree: Tree, under: str) -> list[str]:
    """The topmost folders below `under` whose name says patches."""
    folders = sorted(find_folders(tree.paths(under, suffix=".py")))
    named = [folder for folder in folders if re.search(r"(?:^|_)patch(?:es)?$", posixpath.basename(folder))]
    inside = [folder for folder in named if folder.startswith(under)]
    return [folder for folder in inside if not any(folder.startswith(f"{other}/") for other in inside)]


def find_config_folders(tree: Tree, key: str) -> list[str]:
    """Folders of YAML files named like the backend below a folder that says config."""
    yaml = [path for suffix in (".yaml", ".yml") for path in tree.paths(suffix=suffix)]
    folders = find_folders(path for path in yaml if is_own(path))
    return sorted(
        folder
        for folder in folders
        if normalise(posixpath.basename(folder)) == normalise(key) and re.search(r"conf", posixpath.dirname(folder))
    )


def find_packages(tree: Tree, source_roots: Iterable[str] = (".", "src")) -> list[str]:
    """The dotted packages and top-level modules a tree offers; folders without `__init__` are looked into."""
    found: dict[str, None] = {}
    for root in source_roots:
        prefix = "" if root in {"", "."} else root.rstrip("/") + "/"
        found.update(
            dict.fromkeys(_find_packages_below(set(tree.paths(prefix.rstrip("/"), suffix=".py")), prefix, "", 0))
        )
    return sorted(name for name in found if not any(name.startswith(f"{other}.") for other in found))


def _find_packages_below(paths: set[str], prefix: str, dotted: str, depth: int) -> Iterator[str]:
    inside = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
    for name in sorted({path.split("/", 1)[0] for path in inside if "/" in path}):
        if not name.isidentifier() or (depth == 0 and (name == "src" or not is_packaged(f"{name}/__init__.py"))):
            continue
        full = f"{dotted}.{name}" if dotted else name
        if f"{prefix}{name}/__init__.py" in paths or depth == 2:
            yield full
        else:
            yield from _find_packages_below(paths, f"{prefix}{name}/", full, depth + 1)
    for name in sorted(path for path in inside if "/" not in path):
        module = name.removesuffix(".py")
        if module.isidentifier() and module not in {"setup", "conftest", "__init__"}:
            yield f"{dotted}.{module}" if dotted else module


def _read_small(tree: Tree, path: str) -> str | None:
    text = tree.read_text(path)
    return text if isinstance(text, str) and len(text) <= _MAX_TEXT_BYTES else None
