"""The manifest is strict: unknown keys, contradictions and targets no machine can check are named."""

from __future__ import annotations

import re

import pytest

from campaign_project import MANIFEST
from layline.campaign.values.manifest import Target, parse_manifest, parse_target, render_manifest
from layline.errors import ConfigError, RecordError


def test_what_is_written_is_read_again() -> None:
    manifest = parse_manifest(MANIFEST, where="x")
    assert parse_manifest(render_manifest(manifest), where="x") == manifest
    assert (manifest.branch, manifest.kernel_files, manifest.created) == (
        "optimize/demo",
        ("kernel.sh",),
        "2026-11-15 02:20",
    )


def test_the_specifications_own_form_takes_its_name_from_beside_it() -> None:
    """It has neither a name nor who measures."""
    lines = [line for line in MANIFEST.splitlines() if not line.startswith(("name:", "measuring:"))]
    manifest = parse_manifest("\n".join(lines), where="x", name="mine")
    assert (manifest.name, manifest.measuring) == ("mine", "command")
    with pytest.raises(ConfigError):
        parse_manifest("\n".join(lines), where="x")


WRONG = [
    ("git_branch: auto", "git_brunch: auto", "Did you mean `git_branch`?"),
    ("git_branch: auto\n", "", "does not say: git_branch"),
    ("git_branch: auto", "git_branch: auto\ngit_branch: none", "appears twice"),
    ("max_iterations: null", "max_iterations: 120", "between 1 and 119"),
    ("max_iterations: null", "max_iterations: many", "max_iterations"),
    ("created: 2026-11-15 02:20", "created: yesterday", "not YYYY-MM-DD HH:MM"),
    ("target_lang: TRITON", "target_lang: HIP", "is written in TRITON"),
    ("primary_metric: Combined Step TFLOPS", "primary_metric: ratio", "is not one of"),
    ("performance_target: null", "performance_target: very fast", "cannot be checked by a machine"),
    ("performance_target: null", "performance_target: '>60 % of peak'", "`peak` is not given"),
    ("kernel_source: kernel.sh", "kernel_source: ../kernel.sh", "leaves the repository"),
    ("kernel_source: kernel.sh", "kernel_source: /etc/passwd", "leaves the repository"),
    ("quick_command: sh bench.sh", "quick_command: null", "there is no `quick_command`"),
    ("measuring: command", "measuring: trusted", "no `operator` is named"),
    ("execution_mode: repo", "execution_mode: workspace", "names nothing for `src`"),
    ("{label: small,", "{label: large,", "two have the same"),
    ("created:", "core_shapes: [huge]\ncreated:", "core_shapes names shapes that are not in target_shapes"),
    ("representative_shapes: []", "representative_shapes: [{label: huge}]", "representative_shapes names shapes"),
    (
        "representative_shapes: []",
        "representative_shapes: [{label: small}]\ncore_shapes: [large]",
        "quick rounds would not see them",
    ),
    (
        "measuring: command",
        "measuring: trusted\noperator: gemm\ntransfer_command: sh t.sh",
        "simulates training steps itself",
    ),
    ("name: demo", "name: ../demo", "not a plain file name"),
    ("name: demo", "name: !!python/object/apply:os.system [id]", "not YAML"),
]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_what_is_wrong_is_named(old: str, new: str, said: str) -> None:
    with pytest.raises((ConfigError, RecordError)) as caught:
        parse_manifest(MANIFEST.replace(old, new, 1), where="manifest.yaml")
    assert re.search(re.escape(said), f"{caught.value.message} {caught.value.hint}")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (">500 TFLOPS", Target("value", 500, True)),
        (">= 12.5 GB/s", Target("value", 12.5, False)),
        (">60 % of peak", Target("share", 0.6, True)),
        (">= +20 % over baseline", Target("gain", 0.2, False)),
        ("fast", None),
        (">5 %", None),
        ("<5 TFLOPS", None),
    ],
)
def test_targets_a_machine_can_check(text: str, target: Target | None) -> None:
    assert parse_target(text) == target
