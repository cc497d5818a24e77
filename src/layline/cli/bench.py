"""`layline bench …`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.group import group
from layline.cli.show import format_option, show


@group()
def bench() -> None:
    """Read benchmark files of kernel campaigns."""


@bench.command("csv")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("other", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--snr",
    "snr_db",
    type=float,
    default=None,
    help="Minimum signal-to-noise ratio in dB (25 for E4M3, 20 for E5M2, 10 for FP4); shapes below it are listed.",
)
@format_option("text", "json", "md")
def csv(file: Path, other: Path | None, snr_db: float | None, format_: str, output: Path | None) -> int:
    """Check a benchmark CSV; with OTHER, compare shape by shape."""
    from layline.app.bench import bench_csv

    return show(bench_csv(file, other, snr_db=snr_db), format_, output)
