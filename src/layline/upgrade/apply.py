"""The mechanical mends of a plan on a branch of their own, one commit for each culprit."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from layline.core.progress import Progress, silent
from layline.core.prose import count
from layline.core.report import Answer, Bullets, Paragraph, Report, Section
from layline.errors import ConfigError, GitError
from layline.git import open_repository
from layline.git.scratch import write_files
from layline.git.write import NO_COMMIT, Identity, WorkTree, open_work_tree
from layline.history.commits import read_commit
from layline.upgrade.pin_edit import PinEdit, build_pin_edit, find_pin_refusal, find_tags
from layline.upgrade.plan_answer import count_places, count_revealed, say_culprit
from layline.upgrade.trailers import Promise, parse_promise, render_trailers
from layline.upgrade.values import Plan, Step, digest_text

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.git import Repository
    from layline.upgrade import answers
    from layline.workspace.open import Workspace

SCHEMA: Literal["layline.upgrade-apply/1"] = "layline.upgrade-apply/1"
_TAIL = 2000
_PASSED = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    to: str | None = None
    step: int | None = None
    """The last step to make; None: all."""
    branch: str | None = None
    test: str | None = None
    """The project's own tests, run after each step on request."""

    def name(self, key: str) -> str:
        return self.branch if self.branch is not None else f"layline/upgrade-{key}"

    def end(self, backend: Backend) -> str:
        return self.to if self.to is not None else backend.ref


@dataclass(frozen=True, slots=True)
class Made:
    """One commit of the upgrade."""

    number: int
    commit: str
    tests: str | None
    output: str = ""


def refuse_project(workspace: Workspace, key: str, options: ApplyOptions) -> WorkTree:
    """The work tree that the branch is made in; refused where something of the user's could be lost, or where the last
    step could not write the pin.
    """
    tree = _open_tree(workspace)
    _refuse_dirty(tree, workspace, workspace.settings.backend(key).path)
    _refuse_branch(tree, options.name(key))
    to = workspace.open_backend(key).resolve_upstream(options.end(workspace.settings.backend(key)))
    why = find_pin_refusal(workspace, key, to)
    if why is not None:
        raise ConfigError(f"The pin of {key!r} cannot be moved: {why}; nothing was changed.")
    return tree


def apply_plan(
    workspace: Workspace, plan: Plan, tree: WorkTree, options: ApplyOptions, progress: Progress = silent
) -> Answer:
    """One commit for each step that the branch does not hold yet."""
    key = plan.backend
    name = options.name(key)
    worker = _Worker(workspace, key, plan, tree, workspace.open_backend(key))
    done = worker.find_done(name)
    last = min(options.step or len(plan.steps), len(plan.steps))
    made: list[Made] = []
    for number in range(done + 1, last + 1):
        progress(f"step {number} of {len(plan.steps)}", number, len(plan.steps))
        made.append(worker.make(name, number, options.test))
    return _answer(plan, workspace.label(key), name, done, made)


def _open_tree(workspace: Workspace) -> WorkTree:
    place = workspace.root / workspace.settings.project.git
    if open_repository(place).is_bare:
        raise ConfigError(
            f"{place} has no work tree to make a branch from; nothing was changed.", hint="Use a clone that has one."
        )
    return open_work_tree(place)


def _refuse_dirty(tree: WorkTree, workspace: Workspace, submodule: str | None) -> None:
    changed = [one.path for one in tree.find_changes() if not one.is_untracked]
    if changed:
        raise ConfigError(
            f"{count(len(changed), 'file')} of {workspace.downstream.name} {'has' if len(changed) == 1 else 'have'} "
            f"uncommitted edits ({', '.join(changed[:3])}); nothing was changed.",
            hint="Run `git submodule update` first." if changed == [submodule] else "Commit or stash them first.",
        )
    if tree.head() != workspace.commit:
        raise ConfigError(
            "An upgrade starts from HEAD, not from another commit; nothing was changed.", hint="Leave out --at."
        )


def _refuse_branch(tree: WorkTree, name: str) -> None:
    try:
        tree.git("check-ref-format", "--branch", name)
    except GitError:
        raise ConfigError(f"{name!r} is not a valid branch name; nothing was changed.") from None
    if name in {tree.branch(), *_find_checked_out(tree)}:
        raise ConfigError(
            f"The branch {name} is checked out; nothing was changed.", hint="Name another one with --branch."
        )
    taken = next((one for one in _find_holders(name) if tree.resolve_branch(one) is not None), None)
    if taken is not None:
        raise ConfigError(
            f"The branch {taken} exists, so git cannot make {name}; nothing was changed.",
            hint="Name another one with --branch.",
        )


def _find_holders(name: str) -> list[str]:
    """Branches that cannot be beside it: git keeps `a/b` in a folder `a`."""
    parts = name.split("/")
    return ["/".join(parts[:number]) for number in range(1, len(parts))]


def _find_checked_out(tree: WorkTree) -> list[str]:
    """Branches of other work trees of the same repository, read from their files."""
    common = open_repository(tree.root).common_dir
    heads = [common / "HEAD", *sorted((common / "worktrees").glob("*/HEAD"))] if (common / "worktrees").is_dir() else []
    texts = [head.read_text(encoding="utf-8", errors="replace").strip() for head in heads if head.is_file()]
    return [text.removeprefix("ref: refs/heads/") for text in texts if text.startswith("ref: refs/heads/")]


class _Worker:
    """Makes the commits of one plan; each is whole before the branch learns of it."""

    def __init__(self, workspace: Workspace, key: str, plan: Plan, tree: WorkTree, upstream: Repository) -> None:
        self._workspace = workspace
        self._key = key
        self._plan = plan
        self._tree = tree
        self._upstream = upstream
        self._base = read_commit(workspace.downstream, workspace.commit)
        self._tags = find_tags(upstream)

    def find_done(self, name: str) -> int:
        """Steps of this very plan that the branch holds; refused where it holds anything else."""
        tip = self._tree.resolve_branch(name)
        if tip is None:
            return 0
        out = self._tree.git(
            "log", "--first-parent", "--reverse", "-z", "--format=%B", f"{self._base.hash}..{tip}", "--"
        )
        messages = [text for text in out.decode("utf-8", "replace").split("\0") if text.strip()]
        promises = [parse_promise(text) for text in messages]
        wanted = [(self._plan.digest, number) for number in range(1, len(messages) + 1)]
        found = [(one.plan, one.step) for one in promises if one is not None]
        ahead = self._tree.git("rev-list", "--count", f"{tip}..{self._base.hash}", "--").strip()
        if found != wanted or ahead != b"0":
            raise ConfigError(
                f"The branch {name} has commits that are not steps of this plan; nothing was changed.",
                hint="Name another one with --branch, or delete it.",
            )
        return len(messages)

    def make(self, name: str, number: int, test: str | None) -> Made:
        """One commit; the branch moves when it is whole, in one step."""
        parent = self._tree.resolve_branch(name) or self._base.hash
        step = self._plan.steps[number - 1]
        files = dict(self._find_files(parent, step))
        who = self._identify()
        commit = self._build(parent, files, number, who, None)
        tests, output = None, ""
        if test is not None:
            tests, output = self._run(commit, test)
            commit = self._build(parent, files, number, who, tests)
        old = self._tree.resolve_branch(name) or NO_COMMIT[: len(commit)]
        try:
            self._tree.git("update-ref", "-m", f"layline: upgrade step {number}", f"refs/heads/{name}", commit, old)
        except GitError as error:
            raise ConfigError(
                f"git could not write the branch {name}; it is unchanged: {error.message}",
                hint="A .lock file of a git command that was killed can be deleted. Then run the command again.",
            ) from None
        return Made(number, commit, tests, output)

    def _identify(self) -> Identity:
        try:
            return self._tree.identity()
        except ConfigError:
            raise ConfigError("git does not know who you are.", hint="Set user.name and user.email.") from None

    def _find_files(self, parent: str, step: Step) -> list[tuple[str, tuple[str, bytes]]]:
        found: list[tuple[str, tuple[str, bytes]]] = []
        for edit in step.edits:
            held = self._tree.read_blob(parent, edit.path)
            if held is None or held[0] not in {"100644", "100755"}:
                raise ConfigError(f"{edit.path} is not a plain file at {parent[:12]}; the branch stays where it is.")
            if digest_text(held[1]) != edit.before:
                raise ConfigError(
                    f"{edit.path} changed since the plan read it; the branch stays at {parent[:12]}.",
                    hint="Run `layline upgrade plan` again.",
                )
            found.append((edit.path, (held[0], edit.after.encode("utf-8", "surrogatepass"))))
        pin = self._pin(parent, step)
        if isinstance(pin, PinEdit):
            found.append((pin.path, (pin.mode, pin.data)))
        return found

    def _pin(self, commit: str, step: Step) -> PinEdit | str:
        return build_pin_edit(self._workspace, commit, self._key, (step.to, self._tags.get(step.to, frozenset())))

    def _build(
        self, parent: str, files: dict[str, tuple[str, bytes]], number: int, who: Identity, tests: str | None
    ) -> str:
        message = render_message(self._plan, number, self._workspace.label(self._key), tests)
        return self._tree.build_commit(parent, files, message, who, self._base.committed)

    def _run(self, commit: str, test: str) -> tuple[str, str]:
        """The project's own tests over the files of a commit, in a folder of their own."""
        with tempfile.TemporaryDirectory(prefix="layline-upgrade-") as folder:
            place = Path(folder) / "tree"
            place.mkdir()
            write_files(open_repository(self._tree.root), commit, place)
            backend = self._workspace.settings.backend(self._key)
            if backend.path is not None and backend.pin is None:
                (place / backend.path).mkdir(parents=True, exist_ok=True)
                entry = open_repository(self._tree.root).read_entry(commit, backend.path)
                if entry is not None:
                    write_files(self._upstream, entry.oid, place / backend.path)
            done = subprocess.run(
                ["sh", "-c", test], cwd=place, capture_output=True, check=False, stdin=subprocess.DEVNULL
            )
        text = (done.stdout + done.stderr).decode("utf-8", "replace")[-_TAIL:]
        return (_PASSED if done.returncode == 0 else f"failed (exit {done.returncode})"), text


def render_message(plan: Plan, number: int, label: str, tests: str | None) -> str:
    """What a step did and why, with its evidence; trailers let a later run go on from here."""
    step = plan.steps[number - 1]
    subject = f"Upgrade {label} to {step.to[:12]}"
    lines = [subject, ""]
    if step.culprit is not None:
        lines += [f"{say_culprit(step.culprit)} ({step.culprit.hash[:12]}, {step.date}) breaks places of ours.", ""]
    made = [mend for mend in step.mends if mend.mechanical]
    for mend in made:
        lines += [f"- {mend.file}:{mend.lines[0]}: {mend.why}"]
        lines += [f"  at {mend.evidence}"] if mend.evidence is not None else []
    rest = [mend for mend in step.mends if not mend.mechanical]
    if rest:
        lines += [
            "",
            "Left for a person:",
            *(f"- {mend.file}:{mend.lines[0]}: {mend.target}: {mend.why}" for mend in rest),
        ]
    promise = Promise(plan=plan.digest, step=number, steps=len(plan.steps), left=promised(plan, number))
    return "\n".join(lines).rstrip() + "\n\n" + render_trailers(promise, tests)


def promised(plan: Plan, number: int) -> int:
    """Places that do not fit after a step: at the end what was judged, on the way what no mend was found for."""
    return plan.after if number == len(plan.steps) else plan.today + plan.steps[number - 1].left


def _say_tests(one: Made) -> str:
    """How they ended; of those that failed the last line that they wrote."""
    if one.tests is None:
        return ""
    last = one.output.strip().rpartition("\n")[2].strip() if one.tests != _PASSED else ""
    return f", tests {one.tests}{f': {last}' if last else ''}"


def _answer(plan: Plan, label: str, name: str, done: int, made: list[Made]) -> Answer:
    failed = [one for one in made if one.tests is not None and one.tests != _PASSED]
    at = done + len(made)
    here = replace(plan, steps=plan.steps[:at])
    (places, rest), more = count_places(here), count_revealed(here)
    mended, left = places - rest, rest + more
    title = (
        f"{label}: {count(len(made), 'commit')} made on {name}, {at} of {len(plan.steps)} steps done; "
        f"{count(mended, 'place')} mended in {'all' if at == len(plan.steps) else 'these steps'}, "
        f"{left} left for a person."
    )
    lines = tuple(f"step {one.number}: {one.commit[:12]}{_say_tests(one)}" for one in made)
    blocks = (Bullets(lines),) if lines else (Paragraph("Every step was already done."),)
    hints = (
        Paragraph(
            f"Look at it: git log --reverse -p HEAD..{name}; then `layline upgrade check {plan.backend} --at {name}`."
        ),
    )
    data: answers.Applied = {
        "schema": SCHEMA,
        "backend": plan.backend,
        "branch": name,
        "plan": plan.digest,
        "steps": len(plan.steps),
        "done": at,
        "commits": [
            {"step": one.number, "commit": one.commit, "tests": one.tests, "output": one.output} for one in made
        ],
        "mended": mended,
        "left": left,
        "does_not_fit": {"today": plan.today, "before": plan.before, "after": plan.after},
    }
    report = Report(title=title, sections=(Section(title="Commits", blocks=(*blocks, *hints)),))
    return Answer(report=report, data=data, needs_person=bool(left or failed))
