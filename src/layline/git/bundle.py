"""A repository on its way to another machine: all its refs and their history in one file, and nothing else of it."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from layline.errors import GitError
from layline.git.commands import argv, run
from layline.git.repository import Repository, uses_sha256
from layline.git.shadow import Shadow

_ASKED_FOR = "refs/layline/asked-for"
"""Where commits travel that no ref leads to."""
_LONG_S = 3600.0


def digest_refs(repository: Repository) -> str:
    """Of everything a name can mean there: two repositories of the same digest answer the same."""
    shallow = repository.common_dir / "shallow"
    text = "\n".join((read_head(repository), *_list_refs(repository), str(shallow.is_file())))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def read_head(repository: Repository) -> str:
    """The branch that HEAD stands for, as its file says it, or the commit."""
    return f"ref: refs/heads/{repository.branch}" if repository.branch is not None else repository.resolve("HEAD")


def write_bundle(repository: Repository, file: Path, commits: Iterable[str] = ()) -> None:
    """All refs, HEAD, and these commits; its configuration, hooks and work tree stay where they are."""
    if repository.is_shallow:
        raise GitError(
            f"{repository.name} is a shallow clone and cannot be sent to other machines.",
            hint="`git fetch --unshallow` there, or put it where every machine sees it.",
        )
    asked = {*commits} if repository.branch is not None else {*commits, read_head(repository)}
    sha256 = uses_sha256(repository.common_dir)
    shadow = Shadow(repository.common_dir, sha256=sha256)
    try:
        lines = [*_list_refs(repository), *(f"{commit} {_ASKED_FOR}/{commit}" for commit in sorted(asked))]
        listed = "".join(f"{line}\n" for line in lines)
        (shadow.directory / "packed-refs").write_text(listed, "utf-8")
        _write(file, listed, _pack(shadow.directory), sha256=sha256)
    except GitError as error:
        raise GitError(
            f"{repository.name} cannot be sent to other machines: {error.message}", hint=error.hint
        ) from None
    finally:
        shadow.close()


def _pack(directory: Path) -> Path:
    """All that refs lead to and that is here: a partial clone travels as partial as it is, which `git bundle create`
    refuses.
    """
    options = ("--all", "--missing=allow-any", "--delta-base-offset", "--quiet", str(directory / "travels"))
    name = run(argv(directory, ("pack-objects", *options)), timeout_s=_LONG_S).decode("ascii").strip()
    return directory / f"travels-{name}.pack"


def _write(file: Path, refs: str, pack: Path, *, sha256: bool) -> None:
    """A git bundle: its first line, refs, an empty line, the pack."""
    head = "# v3 git bundle\n@object-format=sha256\n" if sha256 else "# v2 git bundle\n"
    with file.open("wb") as out, pack.open("rb") as packed:
        out.write(f"{head}{refs}\n".encode())
        shutil.copyfileobj(packed, out, 1 << 20)


def read_bundle(file: Path, folder: Path, *, head: str, is_bare: bool, sha256: bool) -> None:
    """Unpack a bundle as `folder`, which appears when it is whole; its refs and HEAD are those of the original."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        place = building if is_bare else building / ".git"
        kind = f"--object-format={'sha256' if sha256 else 'sha1'}"
        run(["git", "init", "--quiet", "--bare", "--template=", kind, str(place)])
        said = run(argv(place, ("bundle", "unbundle", str(file))), timeout_s=_LONG_S).decode("utf-8")
        (place / "packed-refs").write_text("".join(line for line in said.splitlines(True) if " refs/" in line), "utf-8")
        (place / "HEAD").write_text(f"{head}\n", "utf-8")
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _list_refs(repository: Repository) -> list[str]:
    out = run(argv(repository.git_dir, ("for-each-ref", "--format=%(objectname) %(refname)")))
    return sorted(line for line in out.decode("utf-8", "surrogateescape").splitlines() if _ASKED_FOR not in line)
