"""`manifest.yaml`: every parameter of a campaign, read strictly. Contradictions are named, nothing is guessed."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, get_args, get_type_hints

from layline import codec
from layline.errors import ConfigError, RecordError
from layline.yaml_text import dump_yaml, parse_yaml

SPECIFIED = (
    "target_op",
    "target_backend",
    "target_lang",
    "target_gpu",
    "execution_mode",
    "project_skill",
    "performance_target",
    "primary_metric",
    "target_shapes",
    "kernel_source",
    "test_command",
    "benchmark_command",
    "quick_command",
    "representative_shapes",
    "git_commit",
    "git_branch",
    "max_iterations",
    "created",
)
"""The keys of the specification, in its order; every manifest has them all."""
MAX_ITERATIONS = 120
METRICS = ("Forward TFLOPS", "Backward TFLOPS", "Combined Step TFLOPS", "Forward GB/s", "Backward GB/s")
MINUTE = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}\Z")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
_TARGET = re.compile(r"(?P<sign>>=?)\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>.*)\Z")


class ExecutionMode(StrEnum):
    REPO = "repo"
    WORKSPACE = "workspace"


class Measuring(StrEnum):
    """Who measures: Layline's own parent and workers, or the user's benchmark command."""

    TRUSTED = "trusted"
    COMMAND = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All parameters of one campaign; frozen by its hash in every round."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
    name: str
    target_op: str
    target_backend: str
    target_lang: str
    target_gpu: str
    execution_mode: ExecutionMode
    project_skill: str | None = None
    performance_target: str | None = None
    primary_metric: str
    target_shapes: str | tuple[dict[str, Any], ...]
    """`all`, or every shape as a mapping with a `label`."""
    kernel_source: str | tuple[str, ...]
    """The only files a round may change."""
    test_command: str | None = None
    benchmark_command: str | None = None
    quick_command: str | None = None
    representative_shapes: tuple[dict[str, Any], ...] = ()
    git_commit: bool = True
    git_branch: str = "auto"
    max_iterations: int | None = None
    created: str
    measuring: Measuring = Measuring.TRUSTED
    operator: str | None = None
    """Trusted measuring: the operator definition that ships with Layline, or the path of one."""
    rebuild_command: str | None = None
    suite_command: str | None = None
    """The project's whole test suite, which `campaign accept` runs; without it, `test_command`."""
    transfer_command: str | None = None
    """Command measuring: training steps with fresh tensors; without it no gain is called real."""
    number_format: str | None = None
    """Selects the SNR gate: e4m3, e5m2, fp4, or a dtype with tolerances."""
    min_effect: float = 0.01
    core_shapes: tuple[str, ...] = ()
    """Labels whose loss of 5 % rolls a round back; empty means every shape."""
    peak: float | None = None
    """Ceiling of the primary metric on this hardware, in its unit; needed for efficiency targets."""
    efficiency_target: float | None = None
    """Share of `peak` that counts as reached (termination T2)."""
    weight_share: float | None = None
    """quant_time(weight) / step_time in real training: the most a weight cache (W1) can bring."""
    time_limit_s: float = 900.0
    repeats: int = 5
    """Command measuring: process pairs per round."""
    workspace_files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Workspace mode: which upstream files are copied to `src`, `tests` and `bench`."""

    @property
    def kernel_files(self) -> tuple[str, ...]:
        return (self.kernel_source,) if isinstance(self.kernel_source, str) else self.kernel_source

    @property
    def branch(self) -> str | None:
        """The branch accepted rounds are committed to; None stays where the user is."""
        match self.git_branch:
            case "none":
                return None
            case "auto":
                return f"optimize/{self.name}"
            case name:
                return name

    @property
    def is_grouped(self) -> bool:
        return "group" in self.target_op.lower() or "moe" in self.target_op.lower()


@dataclass(frozen=True, slots=True)
class Target:
    """A performance target a machine can check."""

    kind: str
    """`value` of the primary metric, `share` of the peak, or `gain` over the baseline."""
    value: float
    strict: bool


def parse_manifest(text: str, *, where: str, name: str | None = None) -> Manifest:
    """Read YAML strictly: no unknown keys, no duplicate keys, every contradiction named.

    The specification's own form has neither a name nor who measures: the first is given beside it, the second is its
    command.
    """
    plain = parse_yaml(text, where=where)
    if not isinstance(plain, dict):
        raise ConfigError(f"{where} is not a mapping of parameters.")
    if name is not None:
        plain["name"] = name
        if "measuring" not in plain and "operator" not in plain and plain.get("quick_command"):
            plain["measuring"] = Measuring.COMMAND.value
    known = [item.name for item in fields(Manifest)]
    for key in plain:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Known: {', '.join(known)}."
            raise ConfigError(f"{where}: the key `{key}` is unknown.", hint=hint)
    missing = [key for key in SPECIFIED if key not in plain]
    if missing:
        raise ConfigError(
            f"{where} does not say: {', '.join(missing)}.", hint="`layline campaign handoff` writes a draft."
        )
    wanted = get_type_hints(Manifest)
    empty = [key for key in SPECIFIED if plain[key] is None and type(None) not in get_args(wanted[key])]
    if empty:
        raise ConfigError(
            f"{where} leaves empty: {', '.join(empty)}.",
            hint="Write each of them; what a hand-off could not find is marked MISSING there, with what to say.",
        )
    try:
        manifest = codec.decode(Manifest, plain, where=where)
    except RecordError as error:
        raise ConfigError(error.message, hint="docs/campaign.md lists every parameter.") from None
    problems = find_contradictions(manifest)
    if problems:
        raise RecordError(where, tuple(problems), hint="Correct these lines; Layline does not choose between them.")
    return manifest


def render_manifest(manifest: Manifest) -> str:
    """The manifest as YAML in the specification's order, ours after it; the same bytes for the same values."""
    plain = codec.encode(manifest)
    if manifest.suite_command is None:  # manifests from before the key have the same bytes
        plain.pop("suite_command", None)
    order = ["name", *SPECIFIED, *(key for key in plain if key != "name" and key not in SPECIFIED)]
    return dump_yaml({key: plain[key] for key in order}, sort_keys=False, width=120)


def parse_target(text: str) -> Target | None:
    """`>500 TFLOPS`, `>=60 % of peak`, `>= +20 % over baseline`; None where a machine could not check it."""
    gain = re.fullmatch(r"(>=?)\s*\+\s*(\d+(?:\.\d+)?)\s*%.*", text.strip())
    if gain:
        return Target("gain", float(gain[2]) / 100, gain[1] == ">")
    found = _TARGET.match(text.strip())
    if not found:
        return None
    unit, value = found["unit"].lower(), float(found["value"])
    strict = found["sign"] == ">"
    if unit.startswith("%"):
        return Target("share", value / 100, strict) if "peak" in unit else None
    return Target("value", value, strict) if unit in ("tflops", "gb/s", "") else None


def find_contradictions(manifest: Manifest) -> list[str]:
    """What the parameters say against one another, or that no machine could check."""
    return [message for message, is_wrong in _contradictions(manifest) if is_wrong]


def _contradictions(manifest: Manifest) -> list[tuple[str, bool]]:
    return [*_check_values(manifest), *_check_measuring(manifest), *_check_shapes(manifest)]


def _check_values(manifest: Manifest) -> list[tuple[str, bool]]:
    target = parse_target(manifest.performance_target) if manifest.performance_target else None
    backend, language = manifest.target_backend.upper(), manifest.target_lang.upper()
    expected = LANGUAGES.get(backend)
    labels = [shape.get("label") for shape in shape_list(manifest)]
    return [
        (f"name {manifest.name!r} is not a plain file name", not _NAME.match(manifest.name)),
        (
            f"max_iterations is {manifest.max_iterations}; it must be between 1 and {MAX_ITERATIONS - 1}",
            manifest.max_iterations is not None and not 0 < manifest.max_iterations < MAX_ITERATIONS,
        ),
        (f"created is {manifest.created!r}, not YYYY-MM-DD HH:MM", not MINUTE.match(manifest.created)),
        (
            f"primary_metric {manifest.primary_metric!r} is not one of {', '.join(METRICS)}",
            manifest.primary_metric not in METRICS,
        ),
        (
            (
                f"performance_target {manifest.performance_target!r} cannot be checked by a machine: write `>500 "
                "TFLOPS`, `>60 % of peak`, `>= +20 %` or null"
            ),
            manifest.performance_target is not None and target is None,
        ),
        (
            "performance_target is a share of the peak, but `peak` is not given",
            target is not None and target.kind == "share" and manifest.peak is None,
        ),
        ("efficiency_target is given without `peak`", manifest.efficiency_target is not None and manifest.peak is None),
        (
            f"target_backend {backend} is written in {expected}, target_lang says {language}",
            expected is not None and expected != language,
        ),
        (
            "target_shapes is neither `all` nor a list of shapes",
            isinstance(manifest.target_shapes, str) and manifest.target_shapes != "all",
        ),
        ("a shape has no label, or two have the same", None in labels or len(set(labels)) != len(labels)),
    ]


def _check_measuring(manifest: Manifest) -> list[tuple[str, bool]]:
    return [
        (
            "measuring is `trusted`, but no `operator` is named",
            manifest.measuring is Measuring.TRUSTED and not manifest.operator,
        ),
        (
            "measuring is `command`, but there is no `quick_command`",
            manifest.measuring is Measuring.COMMAND and not manifest.quick_command,
        ),
        (
            "measuring is `command` with target_shapes `all`: name the shapes that the harness gets",
            manifest.measuring is Measuring.COMMAND and manifest.target_shapes == "all",
        ),
        (
            "transfer_command is given, but measuring is `trusted`, which simulates training steps itself",
            manifest.measuring is Measuring.TRUSTED and manifest.transfer_command is not None,
        ),
        (
            "execution_mode is `workspace`, but `workspace_files` names nothing for `src`",
            manifest.execution_mode is ExecutionMode.WORKSPACE and not manifest.workspace_files.get("src"),
        ),
        (
            "a kernel_source path leaves the repository",
            any(path.startswith(("/", "-")) or ".." in path.split("/") or not path for path in manifest.kernel_files),
        ),
        ("min_effect must be between 0 and 0.5", not 0 <= manifest.min_effect < 0.5),
        (
            "repeats must be at least 5: fewer process pairs give no interval",
            manifest.measuring is Measuring.COMMAND and manifest.repeats < 5,
        ),
    ]


def _check_shapes(manifest: Manifest) -> list[tuple[str, bool]]:
    labels = [shape.get("label") for shape in shape_list(manifest)]
    return [
        (
            "core_shapes names shapes that are not in target_shapes",
            bool(labels) and not set(manifest.core_shapes) <= set(labels),
        ),
        (
            "representative_shapes names shapes that are not in target_shapes",
            bool(labels) and not {shape.get("label") for shape in manifest.representative_shapes} <= set(labels),
        ),
        ("core_shapes names more shapes than quick rounds measure: five at most", len(manifest.core_shapes) > 5),
        (
            "core_shapes names shapes that are not in representative_shapes: quick rounds would not see them",
            bool(manifest.representative_shapes)
            and not set(manifest.core_shapes) <= {shape.get("label") for shape in manifest.representative_shapes},
        ),
    ]


def shape_list(manifest: Manifest) -> tuple[dict[str, Any], ...]:
    return () if isinstance(manifest.target_shapes, str) else manifest.target_shapes


LANGUAGES = {
    "TRITON": "TRITON",
    "CK": "HIP",
    "HIPBLASLT": "HIP",
    "TURBO": "HIP",
    "HIP": "HIP",
    "HK": "HIP",
    "FLYDSL": "FLYDSL",
    "C": "C",
}
"""Which language a kernel backend is written in, as the specification says."""
