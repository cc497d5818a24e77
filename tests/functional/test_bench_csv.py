"""`layline bench csv` as a person or an agent runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layline.campaign.values.bench_csv import HEADER_LINE
from layline.cli import main

ROWS = (
    "small,1,64,64,64,PASS,2.0,0.01,1.0,0.01,0.000262144,0.001048576,40,41,42\r\n"
    "large,1,512,512,512,PASS,4.0,0.01,2.0,0.01,0.067108864,0.268435456,inf,41,42\r\n"
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_text(f"{HEADER_LINE}\r\n{ROWS}", newline="")
    after.write_text(
        f"{HEADER_LINE}\r\n{ROWS.replace('0.268435456', '0.134217728').replace(',2.0,0.01,0.067', ',4.0,0.01,0.067')}",
        newline="",
    )
    return before, after


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_json_has_rows_aggregates_and_checks(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", "csv", str(files[0]), "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "layline.bench/1"
    assert found["rows"][1]["out_snr"] == "inf"
    assert {name: round(value, 4) for name, value in found["aggregates"].items()} == {
        "Forward TFLOPS": 2.8284,
        "Backward TFLOPS": 1.4142,
        "Combined Step TFLOPS": 1.6971,
    }
    assert found["checks"]["passed"] == 2


def test_two_files_are_compared_shape_by_shape(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", "csv", *map(str, files)) == 0
    out = capsys.readouterr().out
    assert "+66.667%" in out
    assert "Stored files only hint." in out


def test_a_file_that_is_cut_short_is_refused(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    files[0].write_bytes(files[0].read_bytes()[:-30])
    assert run("bench", "csv", str(files[0])) == 2
    assert "cut short" in capsys.readouterr().err
