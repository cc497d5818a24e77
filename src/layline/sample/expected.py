"""What is planted in the sample, as values: tests hold the analysers' answers against it."""

from __future__ import annotations

from dataclasses import dataclass

from layline.sample.expected_gap import BROKEN_COUPLINGS, DEPENDENCIES, GAPS, SURFACE

HARBOR = "083941bde5563d33b471df60d83741d06ae8342a"
"""The newest commit of Harbor; all other hashes follow from the chronicles, too."""


@dataclass(frozen=True, slots=True)
class ExpectedEffect:
    """One thing a patch does and what became of its target."""

    style: str
    target: str | None = None
    drift: str | None = None
    """The drift kind; None where there is no symbol to drift, or where more than one answer is right."""
    new_address: str | None = None
    """Where a moved or renamed target is at the tip."""
    culprit: int | None = None
    """The upstream pull request after which the drift held."""
    mutates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPatch:
    """One registration in Harbor."""

    id: str
    file: str
    """Below `harbor/backends/<backend>/patches/`."""
    phase: str = "before_train"
    priority: int = 50
    keys: tuple[str, ...] = ()
    """Configuration keys that its guard truly depends on."""
    other: tuple[str, ...] = ()
    """Environment variables and packages that its guard asks for."""
    effects: tuple[ExpectedEffect, ...]
    active: bool = True
    """False where the registration never happens or another one wins."""

    @property
    def backend(self) -> str:
        return self.id.split(".")[0]

    @property
    def path(self) -> str:
        return f"harbor/backends/{self.backend}/patches/{self.file}"


_BIND, _WRAP, _CONFIG, _ENV, _SOURCE = (
    "binding-replacement",
    "function-wrapping",
    "config-rewrite",
    "env-lifecycle",
    "source-rewrite",
)
_effect = ExpectedEffect

PATCHES: tuple[ExpectedPatch, ...] = (
    ExpectedPatch(
        id="keel.args.from_yaml",
        file="args_patches.py",
        phase="build_args",
        priority=10,
        effects=(
            _effect(_BIND, "keel.training.arguments.parse_args", "unchanged"),
            _effect(
                _BIND,
                "keel.training.initialize.parse_args",
                "binding-lost",
                "keel.training.arguments.parse_args",
                80,
            ),
        ),
    ),
    ExpectedPatch(
        id="keel.config.chart_datum",
        file="args_patches.py",
        phase="build_args",
        keys=("chart_datum",),
        effects=(_effect(_CONFIG, mutates=("use_legacy_datum",)), _effect(_CONFIG, mutates=("datum",))),
    ),
    ExpectedPatch(
        id="keel.env.threads",
        file="env_patches.py",
        phase="setup",
        priority=-10,
        effects=(_effect(_ENV, mutates=("env:KEEL_NUM_THREADS",)),),
    ),
    ExpectedPatch(
        id="keel.env.restore",
        file="env_patches.py",
        phase="after_train",
        effects=(_effect(_ENV, mutates=("env:KEEL_NUM_THREADS",)),),
    ),
    ExpectedPatch(
        id="keel.core.small_phases",
        file="core/phase_patches.py",
        priority=20,
        effects=(
            _effect(_BIND, "keel.core.constituents.phase", "body-changed", culprit=58),
            _effect(_BIND, "keel.core.data.gauge.phase"),
            _effect(_BIND, "keel.core.model.harmonic.phase", new_address="keel.core.layers.harmonic.phase", culprit=58),
        ),
    ),
    ExpectedPatch(
        id="keel.layers.remember",
        file="core/layer_patches.py",
        keys=("cache_levels",),
        effects=(
            _effect(
                _WRAP,
                "keel.core.model.harmonic.HarmonicLayer.forward",
                "moved",
                "keel.core.layers.harmonic.HarmonicLayer.forward",
                58,
            ),
        ),
    ),
    ExpectedPatch(
        id="keel.layers.rivet",
        file="core/spec_patches.py",
        keys=("enable_rivet", "use_rivet_harmonic"),
        other=("rivet",),
        effects=(_effect(_BIND, "keel.core.model.specs.LAYER_SPECS", "unchanged"),),
    ),
    ExpectedPatch(
        id="keel.optimizer.weight_decay",
        file="core/optimizer_patches.py",
        keys=("decoupled_decay",),
        effects=(_effect(_BIND, "keel.core.optimizer.sgd.SgdOptimizer.step", "body-changed", culprit=60),),
    ),
    ExpectedPatch(
        id="keel.optimizer.announce_clip",
        file="core/optimizer_patches.py",
        priority=40,
        keys=("announce_clip",),
        effects=(
            _effect(_WRAP, "keel.core.optimizer.clip_gradients", None, "keel.core.optimizer.clip_by_norm", 60),
            _effect(
                _WRAP, "keel.core.optimizer.clip.clip_gradients", "renamed", "keel.core.optimizer.clip.clip_by_norm", 60
            ),
            _effect(_WRAP, "keel.core.optimizer.sgd.clip_gradients", None, "keel.core.optimizer.sgd.clip_by_norm", 60),
        ),
    ),
    ExpectedPatch(
        id="keel.parallel.crew_size",
        file="core/parallel_patches.py",
        keys=("crew_size",),
        effects=(_effect(_BIND, "keel.core.parallel_state.get_word_size", "dead-at-pin"),),
    ),
    ExpectedPatch(
        id="keel.schedule.tacks",
        file="core/schedule_patches.py",
        priority=40,
        keys=("pipeline_legs",),
        effects=(
            _effect(
                _BIND,
                "keel.core.schedules.get_schedule_func",
                "moved",
                "keel.core.pipeline.schedules.get_schedule_func",
                92,
            ),
            _effect(_BIND, "keel.training.training.get_schedule_func"),
        ),
    ),
    ExpectedPatch(
        id="keel.training.step_timer",
        file="training/step_patches.py",
        keys=("timers.enable",),
        effects=(_effect(_WRAP, "keel.training.training.train_step", "signature-changed", culprit=72),),
    ),
    ExpectedPatch(
        id="keel.training.log_units",
        file="training/log_patches.py",
        keys=("log_units",),
        effects=(_effect(_SOURCE, "keel.training.training.training_log", "anchor-lost", culprit=85),),
    ),
    ExpectedPatch(
        id="keel.training.memory_report",
        file="training/memory_patches.py",
        other=("HARBOR_MEMORY_REPORT",),
        effects=(
            _effect(_BIND, "keel.training.utils.report_memory", "removed", culprit=74),
            _effect(_BIND, "keel.training.training.report_memory", culprit=74),
        ),
    ),
    ExpectedPatch(
        id="keel.checkpoint.in_one_piece",
        file="training/checkpoint_patches.py",
        keys=("save", "plain_checkpoints"),
        effects=(
            _effect(_WRAP, "keel.training.checkpointing.save_checkpoint", "signature-changed", culprit=88),
            _effect(_WRAP, "keel.training.training.save_checkpoint", culprit=88),
        ),
    ),
    ExpectedPatch(
        id="keel.data.short_batches",
        file="data_patches.py",
        keys=("short_batches",),
        effects=(_effect(_BIND, "keel.core.data.gauge.GaugeDataset.batch", "signature-changed", culprit=96),),
        active=False,
    ),
    ExpectedPatch(
        id="keel.data.short_batches",
        file="training/data_patches.py",
        keys=("short_batches",),
        effects=(_effect(_WRAP, "keel.core.data.gauge.GaugeDataset.batch", "signature-changed", culprit=96),),
    ),
    ExpectedPatch(
        id="keel.experimental.spring_tide",
        file="experimental.py",
        effects=(_effect(_BIND, "keel.core.constituents.SPEEDS", "unchanged"),),
        active=False,
    ),
    ExpectedPatch(
        id="spar.env.wandb_offline",
        file="env_patches.py",
        phase="setup",
        keys=("metrics.enable_wandb",),
        effects=(_effect(_ENV, mutates=("env:WANDB_MODE",)),),
    ),
    ExpectedPatch(
        id="spar.tools.logger",
        file="logger_patches.py",
        phase="setup",
        effects=(_effect(_BIND, "spar.tools.logging.logger", "unchanged"),),
    ),
    ExpectedPatch(
        id="spar.tools.peak_knots",
        file="vessel_patches.py",
        effects=(
            _effect(_WRAP, "spar.tools.utils.get_peak_knots", "body-changed", culprit=22),
            _effect(_WRAP, "spar.components.metrics.get_peak_knots"),
        ),
    ),
    ExpectedPatch(
        id="spar.metrics.console",
        file="metrics_patches.py",
        priority=60,
        effects=(_effect(_WRAP, "spar.components.metrics.MetricsProcessor.log", "signature-changed", culprit=31),),
    ),
    ExpectedPatch(
        id="spar.model.sheltered",
        file="model_patches.py",
        keys=("model.sheltered", "training.steps"),
        effects=(
            _effect(
                _BIND,
                "spar.models.drift.model.model.DriftModel.forward",
                "moved",
                "spar.models.drift.model.DriftModel.forward",
                20,
            ),
        ),
    ),
    ExpectedPatch(
        id="spar.quantize.int8",
        file="quantize_patches.py",
        keys=("enable_rivet",),
        other=("rivet",),
        effects=(
            _effect(
                _BIND, "spar.components.quantize._converter_registry", None, "spar.components.quantize.CONVERTERS", 24
            ),
        ),
    ),
    ExpectedPatch(
        id="spar.checkpoint.consolidate_stub",
        file="consolidate_patches.py",
        phase="setup",
        effects=(
            _effect(_BIND, "spar.components.consolidate"),
            _effect(_BIND, "spar.components.consolidate.consolidate"),
        ),
    ),
)
"""Every registration, inactive ones included; `keel.training.throughput` is commented out and is none."""

UNREGISTERED = (
    ("harbor/backends/keel/patches/throughput_patches.py", "keel.training.training.training_log"),
    ("harbor/backends/keel/quiet.py", "keel.training.utils.print_rank_last"),
)
"""Assignments outside any registration: file, target."""


RETIRED = ("keel.core.small_phases",)
"""Patches that upstream has made unnecessary."""

STALE_NOTES = {
    ("cache_levels", "default"): "contradicted",
    ("log_units", "symbol"): "stale",
    ("storm_flags", "flag"): "stale",
    ("storm_flags", "symbol"): "stale",
}
"""Claims of docs/patch-notes.md (flag, what is claimed) that the code does not bear out; the others hold."""

UNTOLD_FLAGS = (
    "announce_clip",
    "crew_size",
    "metrics.enable_wandb",
    "pipeline_legs",
    "plain_checkpoints",
    "save",
    "short_batches",
    "training.steps",
    "use_rivet_harmonic",
)
"""Keys that switch a patch and that docs/patch-notes.md does not mention."""

ALLOW_LIST = "HARBOR_PATCHES"
"""The environment variable: all | none | ids."""

__all__ = [
    "ALLOW_LIST",
    "BROKEN_COUPLINGS",
    "DEPENDENCIES",
    "GAPS",
    "HARBOR",
    "PATCHES",
    "RETIRED",
    "STALE_NOTES",
    "SURFACE",
    "UNREGISTERED",
    "UNTOLD_FLAGS",
    "ExpectedEffect",
    "ExpectedPatch",
]
