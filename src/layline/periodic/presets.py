"""What `[periodic]` means once its preset is filled in; the dashboard asks here for the required status keys."""

from __future__ import annotations

from dataclasses import fields, replace

from layline.config import Category, Periodic, StatusShape, TrackedPin
from layline.errors import ConfigError

GENERAL = Periodic(
    timezone="UTC",
    categories=(
        Category(name="Dependencies", moves_pins=True, prefixes=("deps", "bump"), words=("bump", "upgrade", "pins")),
        Category(name="Bug Fix", prefixes=("fix", "fixes", "bugfix", "hotfix", "revert")),
        Category(name="Performance", prefixes=("perf", "performance", "opt"), words=("faster", "speedup", "optimize")),
        Category(
            name="CI/Infra",
            prefixes=("ci", "build", "infra", "test", "chore"),
            words=("ci", "dockerfile", "dockerfiles"),
            paths=(".github/**", "tools/**"),
        ),
        Category(name="Refactor", prefixes=("refactor", "refact"), words=("refactor",)),
        Category(name="Docs", prefixes=("docs", "doc"), paths=("docs/**", "**/*.md")),
        Category(name="Other"),
    ),
)

_CI = ".github/workflows/ci.yaml"
PRIMUS = Periodic(
    timezone="Asia/Shanghai",
    required=("megatron", "torchtitan", "primus_turbo"),
    categories=(
        Category(name="Bug Fix", prefixes=("fix", "fixes", "bugfix", "hotfix", "bug"), words=("bug", "bugs")),
        Category(
            name="Performance Optimization",
            prefixes=("perf", "opt"),
            words=("faster", "speedup", "optimize", "optimization", "optimizations", "sdma", "htod", "d2h", "h2d"),
        ),
        Category(
            name="Turbo/Dependency Version Update",
            moves_pins=True,
            prefixes=("deps", "bump"),
            words=("bump", "upgrade", "pins"),
        ),
        Category(
            name="CI/Infra",
            prefixes=("ci", "cicd", "build", "infra", "test", "dashboard", "backend-gap", "packaging", "oob"),
            words=("ci", "dockerfile", "dockerfiles", "tests"),
            paths=(".github/**",),
        ),
        Category(name="Refactor", prefixes=("refactor", "refact")),
        Category(
            name="Docs",
            prefixes=("docs", "doc"),
            words=("documentation", "doc"),
            paths=("docs/**", "**/*.md", "**/*.rst"),
        ),
        Category(name="Other"),
    ),
    statuses={
        "primus_turbo": StatusShape(
            kind="in-repo",
            pins={
                "ci": TrackedPin(file=_CI, variable="PRIMUS_TURBO_COMMIT"),
                "benchmark": TrackedPin(file=".github/workflows/benchmark.yaml", variable="PRIMUS_TURBO_COMMIT"),
                "aiter": TrackedPin(file=_CI, variable="PRIMUS_TURBO_AITER_COMMIT", counted=False),
                "triton": TrackedPin(file=_CI, variable="TRITON_COMMIT", counted=False),
            },
        )
    },
)
PRESETS = {"primus": PRIMUS}


def fill_preset(told: Periodic) -> Periodic:
    """The settings with the preset's values where the user says nothing; statuses are merged key by key."""
    if told.preset is not None and told.preset not in PRESETS:
        raise ConfigError(
            f"periodic.preset: there is no preset called {told.preset!r}.", hint=f"Presets: {', '.join(PRESETS)}."
        )
    preset = PRESETS[told.preset] if told.preset else GENERAL
    silent = {item.name: getattr(preset, item.name) for item in fields(Periodic) if not getattr(told, item.name)}
    return replace(told, **silent | {"statuses": {**preset.statuses, **told.statuses}})
