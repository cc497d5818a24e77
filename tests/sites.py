"""Whole small projects for the tests of the dashboard: records, Markdown, settings."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

from record_samples import gap_record, monthly_record, weekly_record, write, write_project

SETTINGS = """
[project]
name = "Harbor"
repository = "https://github.com/example/harbor"

[backends.engine]
label = "Engine"
path = "third_party/engine"

[periodic]
required = ["engine", "loader"]
"""
REPORT = """# Harbor Engine vs upstream main

> Date: 2026-05-08

## High-level comparison

| Item | Harbor | Upstream |
| --- | --- | ---: |
| Pin | `aaaaaaaa` | 7 |

See [the summary](summary.md), [upstream](https://github.com/example/engine) and [the table](#high-level-comparison).

## Areas

```csv chart=bars unit=files title=Files by area
series,x,y
files,scheduler,12
files,loader,4
```

```python
first = 1

second = 2
```
"""
SUMMARY = "# One page\n\n- Engine is 7 commits behind.\n"


def make_project(root: Path, *, weeks: int = 3, settings: str = SETTINGS, **records: list[dict[str, Any]]) -> Path:
    """A project with `weeks` weekly reports, a monthly and a gap report, and the Markdown they name."""
    weekly = list(make_weeks(weeks))
    write_project(root, {"weekly": weekly, "monthly": [monthly_record()], "gap": [gap_record()], **records})
    write(root / "layline.toml", settings)
    folder = root / "docs/backend-gap/reports/engine/upstream-main"
    write(folder / "report.md", REPORT)
    write(folder / "summary.md", SUMMARY)
    return root


def make_weeks(count: int) -> list[dict[str, Any]]:
    """Weekly records that end with 2026-W19, each a little further behind."""
    last = date(2026, 5, 4)
    found = []
    for back in range(count):
        monday = last - timedelta(weeks=back)
        year, week, _ = monday.isocalendar()
        record = weekly_record(f"{year}-W{week:02}", str(monday), str(monday + timedelta(days=4)))
        status = record["engine_status"]
        status["commit_gap"] = 3 * (count - back)
        status["upstream_head"] = f"{count - back:040x}"
        status["upstream_head_date"] = str(monday + timedelta(days=3))
        record["recommendations"]["engine"] = status["recommendation"] = "urgent sync" if back % 2 else "plan sync"
        found.append(record)
    return found


def read_site(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
