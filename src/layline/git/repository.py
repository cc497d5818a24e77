"""One repository, read only: refs through its own git directory, objects through a shadow."""

from __future__ import annotations

import difflib
import re
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from layline.errors import GitError, MissingObject, SilentGitError
from layline.files import name_path
from layline.git.commands import argv, run
from layline.git.objects import Blob, ObjectReader, TreeEntry, find_in_tree
from layline.git.shadow import Shadow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_VERSION = re.compile(r"\d+(?:\.\d+)*\Z")
"""The number that a version tag ends in."""
_END = re.compile(r"(\.0)+$")
"""What a version may end in and be the same."""
_HASH = re.compile(r"[0-9a-f]{4,64}\Z")
_FULL_HASH = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_CORRUPT = ("corrupt", "inflate", "bad signature", "does not match index", "packfile", "pack index", "hash mismatch")
_MOST_KEPT = 16
_LARGEST_KEPT = 1 << 20
"""Bytes of a listing: about ten thousand files."""
_MISSING = ("missing", "bad object", "unable to read", "could not read", "bad tree", "not a tree object")


class Repository:
    """Reads commits, trees and blobs of one git directory; never its work tree, hooks or configuration."""

    def __init__(self, git_dir: Path, name: str) -> None:
        self.git_dir = git_dir
        self.common_dir = find_common_dir(git_dir)
        self.name = name
        """How messages and evidence call it: the https address where one is known."""
        self._shadow = Shadow(self.common_dir, sha256=uses_sha256(self.common_dir))
        self._objects = ObjectReader(self._shadow.directory, name)
        self._listed: dict[tuple[str, tuple[str, ...], tuple[str, ...]], bytes] = {}
        self._finalizer = weakref.finalize(self, self._objects.close)

    def git(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run git over this repository's objects; refs are not visible here, so name commits by full hash."""
        try:
            return run(argv(self._shadow.directory, arguments), stdin=stdin)
        except GitError as error:
            raise self._explain(error) from None

    def resolve(self, ref: str) -> str:
        """The full hash of the commit that `ref` names."""
        if not ref or ref.startswith("-"):
            raise GitError(f"{ref!r} is not a ref.", hint="Name a branch, tag or commit hash.")
        if any(ord(character) < 32 for character in ref):
            raise GitError(f"{ref!r} is not a ref.", hint="Name a branch, tag or commit hash.")
        name = ref if _FULL_HASH.match(ref) else self._look_up(ref)
        try:
            return self._objects.read(f"{name}^{{commit}}", kind="commit").oid
        except GitError:
            raise self._explain_missing(ref, name) from None

    def resolve_upstream(self, ref: str) -> str:
        """As `resolve`, but a branch means the upstream's own.

        In a bare mirror that is refs/heads; in a clone with a work tree refs/remotes/origin, because the local branch
        of that name stays where it was last checked out.
        """
        if not self.is_bare and not ref.startswith(("-", "refs/")):
            known = self.refs("refs/remotes")
            for prefix in ("refs/remotes/origin/", "refs/remotes/upstream/"):
                if f"{prefix}{ref}" in known:
                    return self.resolve(f"{prefix}{ref}")
        return self.resolve(ref)

    @property
    def upstream_refs(self) -> tuple[str, ...]:
        """Where the upstream's own branches and tags are, by the same rule."""
        return ("refs/tags", *(("refs/heads",) if self.is_bare else ("refs/remotes/origin", "refs/remotes/upstream")))

    @property
    def branch(self) -> str | None:
        """The branch that HEAD stands for, read from its file; None where it names a commit."""
        try:
            text = (self.git_dir / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else None

    @property
    def is_bare(self) -> bool:
        """True if no work tree belongs to it, read from files: `core.bare` may be missing or wrong."""
        if self.git_dir.name == ".git" or (self.git_dir / "index").exists():
            return False
        return re.search(r"(?im)^\s*worktree\s*=", _read_config(self.common_dir)) is None

    def has(self, oid: str) -> bool:
        """True if the object is here."""
        return run_or_none(argv(self._shadow.directory, ("cat-file", "-e", "--end-of-options", oid))) is not None

    def refs(self, *patterns: str, holding: str | None = None) -> dict[str, str]:
        """Ref name → hash of what it points at (tags peeled); `holding`: only those that have this commit."""
        fields = "%(refname)%00%(objectname)%00%(*objectname)"
        chosen = (f"--contains={holding}",) if holding is not None else ()
        out = run(argv(self.git_dir, ("for-each-ref", f"--format={fields}", *chosen, *patterns)))
        rows = (line.split("\0") for line in out.decode("utf-8", "replace").splitlines())
        return {name: peeled or oid for name, oid, peeled in rows}

    def read_tree(self, commit: str, under: str = "", *, sizes: bool = False) -> Iterator[TreeEntry]:
        """Every file, symlink and gitlink of a commit, in path order."""
        out = self._list(commit, ("-r", "-l") if sizes else ("-r",), ("--", under) if under else ())
        for row in out.split(b"\0"):
            if row:
                yield _parse_entry(row, sizes=sizes)

    def read_entry(self, commit: str, path: str) -> TreeEntry | None:
        """The entry at exactly `path`, a directory (mode 040000) included; None where there is none.

        From the trees themselves, asked of the process that waits for questions: one more for each path costs more than
        its answer.
        """
        path = path.rstrip("/")
        try:
            return self._find_entry(commit, path)
        except (GitError, ValueError):  # git's own words tell what is wrong
            out = self._list(commit, (), ("--", path))
            return _parse_entry(out.rstrip(b"\0"), sizes=False) if out else None

    def read_blob(self, oid: str) -> bytes:
        return self._objects.read(oid, kind="blob").data

    def read_file(self, commit: str, path: str) -> bytes | None:
        """The bytes at `path` in `commit`; None where there is no such file."""
        try:
            return self._objects.read(f"{commit}:{path}", kind="blob").data
        except MissingObject:
            entry = self.read_entry(commit, path)
            if entry is None or not (entry.is_file or entry.is_symlink):
                return None
            raise

    def stream_blobs(self, oids: Iterable[str]) -> Iterator[Blob | str]:
        return self._objects.stream(oids)

    @property
    def is_shallow(self) -> bool:
        return (self.common_dir / "shallow").is_file()

    def close(self) -> None:
        self._finalizer()
        self._shadow.close()

    def _find_entry(self, commit: str, path: str) -> TreeEntry | None:
        *folders, last = path.split("/")
        if not {"", ".", ".."}.isdisjoint((*folders, last)):
            raise GitError(f"{path!r} is not a valid path inside a git tree.")
        held = f"{commit}^{{tree}}"
        for folder in folders:
            inner = find_in_tree(self._objects.read(held, kind="tree"), folder)
            if inner is None or inner.mode != "040000":
                return None
            held = inner.oid
        found = find_in_tree(self._objects.read(held, kind="tree"), last)
        return None if found is None else TreeEntry(found.mode, found.oid, path)

    def _list(self, commit: str, options: tuple[str, ...], within: tuple[str, ...]) -> bytes:
        """What `git ls-tree` says. Under a full hash that never changes, and several readers ask for the same."""
        question = (commit, options, within)
        kept = self._listed.get(question)
        if kept is not None:
            return kept
        out = self.git("--literal-pathspecs", "ls-tree", "-z", "--full-tree", *options, commit, *within)
        if _FULL_HASH.match(commit) and len(out) <= _LARGEST_KEPT:
            while len(self._listed) >= _MOST_KEPT:
                self._listed.pop(next(iter(self._listed)), None)
            self._listed[question] = out
        return out

    def _look_up(self, ref: str) -> str:
        """A ref, an abbreviation or an expression such as `HEAD~3`, as an object id; refs win over abbreviations."""
        command = argv(self.git_dir, ("rev-parse", "--verify", "--quiet", "--end-of-options", ref))
        found = run_or_none(command)
        if found is None:
            for prefix in ("refs/remotes/origin/", "refs/remotes/upstream/"):
                found = found or run_or_none([*command[:-1], f"{prefix}{ref}"])
        if found is not None:
            return found.decode("ascii").strip()
        if _HASH.match(ref):
            raise self._explain_abbreviation(ref)
        where = name_path(self.git_dir)
        if not run_or_none(argv(self.git_dir, ("rev-list", "--all", "--max-count=1"))):
            raise GitError(f"{self.name} has no commit yet (looked in {where}).", hint="Commit something there first.")
        is_own = where in {self.name, ".git"}  # the repository that we stand in
        said = f"{self.name} has no ref called {ref!r}" + ("." if is_own else f" in its copy at {where}.")
        raise GitError(said, hint=self._near_ref(ref))

    def _explain_missing(self, ref: str, name: str) -> GitError:
        """Not there, not a commit, or there and unreadable: three different things to mend."""
        try:
            kind = run(argv(self._shadow.directory, ("cat-file", "-t", name))).decode("ascii").strip()
        except GitError as error:
            explained = self._explain(error)
            if explained.hint is not None and "fsck" in explained.hint:
                return explained
            return MissingObject(f"{ref} (a commit)", self.name, hint=self._missing_hint())
        return GitError(f"{ref} is a {kind} in {self.name}, not a commit.", hint="Name a branch, tag or commit hash.")

    def _explain_abbreviation(self, ref: str) -> GitError:
        listed = run(argv(self._shadow.directory, ("rev-parse", f"--disambiguate={ref}"))).split()
        if len(listed) > 1:
            return GitError(
                f"{ref} is ambiguous in {self.name}: {len(listed)} objects begin with it.",
                hint="Give more digits of the hash.",
            )
        return MissingObject(ref, self.name, hint=self._missing_hint())

    def _near_ref(self, ref: str) -> str:
        names = {name.split("/", 2)[-1] for name in self.refs()}
        asked = _VERSION.search(ref)
        if asked is not None:
            wanted = _END.sub("", asked[0])  # `v4.33` and `v4.33.0` are one version
            near = [name for name in names if (found := _VERSION.search(name)) and _END.sub("", found[0]) == wanted]
            if "." not in asked[0]:  # a single number ends the name of any branch
                near = [name for name in near if name.removeprefix("v").startswith(wanted)]
            near = sorted(near, key=lambda name: (len(name), name))[:1]  # a candidate has more to its name
            near = near or _find_same_minor(ref[: asked.start()], asked[0], names)
        else:
            near = difflib.get_close_matches(ref, names, n=1)
        if near:
            return f"Did you mean {near[0]!r}?"
        newest = self._find_newest_version() if asked is not None else None
        if newest is not None:
            return f"Its newest version tag there is {newest!r}."
        return f"`git -C {name_path(self.git_dir)} for-each-ref` lists what it has."

    def _find_newest_version(self) -> str | None:
        """The tag of a version, not of a candidate, that was made last."""
        out = run(argv(self.git_dir, ("for-each-ref", "--sort=-creatordate", "--format=%(refname)", "refs/tags")))
        names = (name.removeprefix("refs/tags/") for name in out.decode("utf-8", "replace").splitlines())
        return next((name for name in names if (found := _VERSION.search(name)) and name.endswith(found[0])), None)

    def _missing_hint(self) -> str:
        if self.is_shallow:
            return "The clone is shallow: `git fetch --unshallow` brings the rest."
        return "Fetch it first (`git fetch` in that clone, or `--fetch` here)."

    def _explain(self, error: GitError) -> GitError:
        text = error.message
        if any(mark in text for mark in _CORRUPT):
            return GitError(f"{self.name}: {text}", hint="The object store looks corrupt: run `git fsck` there.")
        if any(mark in text for mark in _MISSING):
            return GitError(
                f"{self.name}: {text}", hint=f"Some object is not in {self.git_dir}. {self._missing_hint()}"
            )
        kind = SilentGitError if isinstance(error, SilentGitError) else GitError
        return kind(f"{self.name}: {text}", hint=error.hint)


def _find_same_minor(before: str, version: str, names: Iterable[str]) -> list[str]:
    """The newest version of the same minor one, `v1.4.2` for `v1.4.9`, that has the same words before its number."""
    major, _, rest = version.partition(".")
    wanted = f"{before}{major}.{rest.partition('.')[0]}"
    alike = [name for name in names if _VERSION.search(name) and f"{name}.".startswith(f"{wanted}.")]
    newest = sorted(alike, key=lambda name: [int(part) for part in name.removeprefix(before).split(".")])
    return newest[-1:] if rest else []


def open_repository(path: Path, name: str | None = None) -> Repository:
    """The repository at `path`: a work tree, a `.git` file or directory, or a bare repository."""
    git_dir = find_git_dir(path)
    if git_dir is None:
        raise GitError(
            f"{path} is not a git repository.",
            hint="Give the path of a clone or of a bare mirror; or run `git init` there and commit.",
        )
    return Repository(git_dir, name or str(path))


def find_git_dir(path: Path) -> Path | None:
    """The git directory that serves `path`, found by looking at files alone (git's own discovery runs nothing here)."""
    for candidate in (path / ".git", path):
        if candidate.is_file():
            return _follow_gitfile(candidate)
        if _is_git_dir(candidate):
            return candidate.resolve()
    return None


def find_common_dir(git_dir: Path) -> Path:
    """Where the objects are: another directory than `git_dir` for an added work tree."""
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return (git_dir / pointer.read_text(encoding="utf-8", errors="replace").strip()).resolve()


def _follow_gitfile(gitfile: Path) -> Path | None:
    text = gitfile.read_bytes()[:4096].decode("utf-8", "replace").strip()
    if not text.startswith("gitdir:"):
        return None
    target = (gitfile.parent / text.removeprefix("gitdir:").strip()).resolve()
    return target if _is_git_dir(target) else None


def _is_git_dir(path: Path) -> bool:
    return (path / "HEAD").exists() and (find_common_dir(path) / "objects").is_dir()


def run_or_none(command: list[str]) -> bytes | None:
    try:
        return run(command)
    except GitError:
        return None


def uses_sha256(git_dir: Path) -> bool:
    """True if ids are 64 digits long; read as text, because asking git would read the configuration as git does."""
    text = _read_config(git_dir)
    return re.search(r"(?im)^\s*objectformat\s*=\s*sha256\s*$", text) is not None


def _read_config(git_dir: Path) -> str:
    """The configuration as text; asking git for a setting would follow includes."""
    try:
        return (git_dir / "config").read_bytes()[:65536].decode("utf-8", "replace")
    except OSError:
        return ""


def _parse_entry(row: bytes, *, sizes: bool) -> TreeEntry:
    head, _, path = row.partition(b"\t")
    words = head.decode("ascii").split()
    size = int(words[3]) if sizes and words[3].isdigit() else None
    return TreeEntry(words[0], words[2], path.decode("utf-8", "surrogateescape"), size)
