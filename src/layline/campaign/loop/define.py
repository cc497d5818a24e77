"""DEFINE_TARGET: parameters from a draft or from options, shown before anything happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from layline.campaign.environment import find_gpu
from layline.campaign.operators import FILES
from layline.campaign.operators.find import find_operator, read_named_file
from layline.campaign.operators.own.foreign import SCHEMES, write_operator_file
from layline.campaign.session.places import clock
from layline.campaign.values.manifest import ExecutionMode, Manifest, Measuring, parse_manifest, render_manifest
from layline.errors import ConfigError
from layline.git.write import open_work_tree


def define_target(name: str, draft: Path | None, **chosen: Any) -> Manifest:
    """The manifest of a draft, or of an operator that ships with Layline."""
    if draft is not None:
        if chosen["operator"] or chosen["kernels"] or chosen["shapes"]:
            raise ConfigError(
                "--from cannot be used with --operator, --kernel or --shape.", hint="Put them into the draft."
            )
        try:
            text = draft.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{draft} cannot be read: {error.strerror}.") from None
        return parse_manifest(text, where=str(draft), name=name)
    if not chosen["operator"] or not chosen["kernels"]:
        raise ConfigError(
            "A campaign needs --operator and --kernel, or --from a draft.",
            hint="`layline campaign handoff` writes a draft.",
        )
    return _from_operator(name, chosen)


def _from_operator(name: str, chosen: dict[str, Any]) -> Manifest:
    named = _name_operator(chosen["operator"])
    root = open_work_tree(Path.cwd()).root
    operator = find_operator(named, root).operator
    kernels = tuple(_from_root(Path(kernel)) for kernel in chosen["kernels"])
    return Manifest(
        name=name,
        target_op=operator.name,
        target_backend=operator.language.upper(),
        target_lang=operator.language.upper(),
        target_gpu=_find_gpu() if operator.is_on_device else "cpu",
        execution_mode=ExecutionMode.REPO,
        project_skill=None,
        performance_target=chosen["target"],
        primary_metric=f"Forward {operator.metric}" if operator.metric == "GB/s" else operator.metric,
        target_shapes=tuple({"label": label} for label in chosen["shapes"]) or "all",
        kernel_source=kernels[0] if len(kernels) == 1 else kernels,
        git_branch=chosen["branch"],
        max_iterations=chosen["max_iterations"],
        created=clock(),
        measuring=Measuring.TRUSTED,
        operator=named,
    )


def emit_operator(said: str | None, place: Path) -> str:
    """Write an operator down as a file of the user's own; what to do next."""
    scheme, _colon, rest = (said or "").partition(":")
    if said in FILES:
        text = read_named_file(said).sources[0][1].decode("utf-8")
    elif scheme in SCHEMES:
        text = write_operator_file(scheme, rest, Path.cwd())[0]
    else:
        raise ConfigError(
            "--emit writes the operator file of a foreign problem, or of a shipped operator that has one.",
            hint=f"--operator kernelbench:DIR/level1/23, or one of {', '.join(FILES)}.",
        )
    if place.exists():
        raise ConfigError(f"{place} exists.", hint="Choose another name.")
    place.write_text(text, "utf-8")
    return f"{place} is written. Correct it, then `layline campaign check-operator {place}`."


def _name_operator(said: str) -> str:
    """A name stays; the path of a file of this repository becomes that of the repository."""
    return _from_root(Path(said)) if said.endswith(".py") and ":" not in said else said


def _from_root(kernel: Path) -> str:
    """A path the user typed here, as the repository names it."""
    root = open_work_tree(Path.cwd()).root
    place = Path.cwd() / kernel
    if not place.resolve().is_relative_to(root):
        raise ConfigError(f"{kernel} lies outside {root}.", hint="A kernel is a file of this repository.")
    return place.resolve().relative_to(root).as_posix()


def _find_gpu() -> str:
    """The accelerator as a word that can name a folder; `gpu` where none answers."""
    return re.sub(r"[^a-z0-9]+", "-", (find_gpu() or "gpu").lower()).strip("-")


def describe_target(manifest: Manifest) -> str:
    """What will be optimised, for the person who confirms it."""
    hooks = (
        "Accepted rounds are committed with git plumbing: hooks do not run and nothing is signed."
        if manifest.git_commit
        else "Accepted rounds are not committed."
    )
    return f"{render_manifest(manifest)}\n{hooks}\n"
