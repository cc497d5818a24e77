from __future__ import annotations

import pytest

from layline.core.records import TimeWindow
from layline.dashboard.commands import audit_command, merged_link

WINDOW = TimeWindow(timezone="Asia/Shanghai", start="2026-05-04T00:00:00+08:00", end="2026-05-08T09:01:00+08:00")
ASKED = "is%3Apr%20is%3Amerged%20merged%3A2026-05-04T00%3A00%3A00%2B08%3A00..2026-05-08T09%3A01%3A00%2B08%3A00"


@pytest.mark.parametrize(
    ("repository", "link"),
    [
        ("https://github.com/example/harbor", f"https://github.com/example/harbor/pulls?q={ASKED}"),
        ("https://github.com/example/harbor.git", f"https://github.com/example/harbor/pulls?q={ASKED}"),
        ("https://gitlab.com/example/harbor", None),
        ("https://github.com.example.net/harbor", None),
        (None, None),
    ],
)
def test_merged_pull_requests_link_to_the_forges_own_list(repository: str | None, link: str | None) -> None:
    assert merged_link(repository, WINDOW) == link


def test_command_is_safe_to_paste() -> None:
    assert audit_command("docs/a b; rm x.json") == "layline gap audit 'docs/a b; rm x.json'"
