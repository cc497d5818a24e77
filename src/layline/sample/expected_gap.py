"""What the upstreams of the sample were made to do between pin and tip, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedGap:
    """Between the pin at Harbor's newest commit and the upstream's main, with the pinned diff semantics."""

    pin: str
    tip: str
    pin_version: str
    tip_version: str
    behind: int
    files: int
    insertions: int
    deletions: int


GAPS = {
    "keel": ExpectedGap(
        pin="8f8d0f4d7411b73f5402b3dfd20d64bbfa0d6b19",
        tip="1aeefa38180aba1698eee9bd49ed9d2cfc39df54",
        pin_version="0.9.0",
        tip_version="0.10.0",
        behind=30,
        files=38,
        insertions=1650,
        deletions=626,
    ),
    "spar": ExpectedGap(
        pin="c8c3f86d88bf7f78e0209a50351fdf58ca065182",
        tip="440a3e2072ff20530a61063fbbf0d1b51c313f36",
        pin_version="0.2.0",
        tip_version="0.3.0",
        behind=20,
        files=19,
        insertions=82,
        deletions=36,
    ),
    "rivet": ExpectedGap(
        pin="98f642eea3fa72987abe006efd2d535daf9769e2",
        tip="b35b51efe8adc1bc136d05b745944d2ee9b88c15",
        pin_version="0.1.0",
        tip_version="0.2.0",
        behind=2,
        files=2,
        insertions=3,
        deletions=1,
    ),
}

DEPENDENCIES: dict[str, dict[str, tuple[str, ...]]] = {
    "keel": {
        "python": ("floor raised",),
        "almanac": ("promoted to runtime", "floor raised"),
        "logline": ("dropped",),
        "numpy": ("floor raised", "capped"),
        "sextant": ("unpinned",),
        "soundcheck": ("added",),
        "tabulate": ("moved to an extra",),
        "setuptools": ("floor raised",),
    },
    "spar": {
        "python": ("floor raised",),
        "fathom": ("floor raised", "capped"),
        "halyard": ("floor raised",),
        "logline": ("dropped",),
    },
}
"""What changed in the package metadata between pin and tip."""

SURFACE: dict[str, tuple[str, ...]] = {
    "keel": (
        "field.added.keel.core.tide_config.TideConfig.surge_window",
        "field.added.keel.core.tide_config.TideConfig.weight_decay",
        "field.default changed.keel.core.tide_config.TideConfig.learning_rate",
        "field.removed.keel.core.tide_config.TideConfig.use_legacy_datum",
        "flag.added.hours",
        "flag.added.keep_checkpoints",
        "flag.added.num_threads",
        "flag.default changed.save_interval",
        "flag.removed.series_hours",
        "package.examples",
        "package.keel/core/layers",
        "package.keel/core/pipeline",
        "package.keel/core/surge",
        "shim.keel/core/schedules.py",
        "stale-key.use_legacy_datum",
    ),
    "spar": (
        "field.added.spar.config.job_config.Compile.enable",
        "field.added.spar.config.job_config.JobConfig.compile",
        "field.added.spar.config.job_config.Metrics.sink",
        "field.default changed.spar.config.job_config.Training.steps",
        "field.removed.spar.config.job_config.Metrics.enable_wandb",
        "package.src/spar/experiments",
        "package.src/spar/models/drift/model",
        "package.src/spar/models/stream",
        "stale-key.metrics.enable_wandb",
    ),
}
"""Names of facts that the evidence of a gap report must hold."""

BROKEN_COUPLINGS: dict[str, tuple[str, ...]] = {
    "keel": (
        "harbor/backends/keel/checkpoint.py:20.patch.keel.training.checkpointing.save_checkpoint",
        "harbor/backends/keel/checkpoint.py:21.patch.keel.training.training.save_checkpoint",
        "harbor/backends/keel/gauges.py:9.attribute.keel.core.enums.Datum.CHART",
        "harbor/backends/keel/gauges.py:10.call.keel.core.data.gauge.GaugeDataset",
        "harbor/backends/keel/gauges.py:10.call.keel.core.data.gauge.read_series",
        "harbor/backends/keel/layers/rivet_harmonic.py:4.import.keel.core.model.harmonic.HarmonicLayer",
        "harbor/backends/keel/model.py:9.override.keel.core.model.tide_model.TideModel.loss",
    ),
    "spar": ("harbor/backends/spar/trainer.py:11.override.spar.train.Trainer.train_step",),
}
"""Places outside the patches that will or may break at the tip."""
