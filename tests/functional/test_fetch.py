"""`--fetch` over real https: each command that may use the network, and what it does when the network says no."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Result, layline
from https import publish, serve
from layered import CONFIG, Layered, make_layered

COMMANDS = {
    "gap show": ("gap", "show", "keel", "--fetch", "--format", "json"),
    "gap report": ("gap", "report", "keel", "--fetch", "--date", "2026-05-08", "--format", "json"),
    "periodic weekly": ("periodic", "weekly", "--fetch", "--format", "json"),
    "periodic monthly": ("periodic", "monthly", "--fetch", "--format", "json"),
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Layered, Path]]:
    layered = make_layered(tmp_path)
    published = tmp_path / "published"
    published.mkdir()
    publish(layered.upstream.path, published, "keel")
    with serve(published, tmp_path) as (address, certificate):
        settings = CONFIG.replace('objects = "upstream"\n', "").replace("https://example.org", address)
        settings = settings.replace(
            'git = "downstream"', 'git = "downstream"\nrepository = "https://example.org/harbour"'
        )
        (tmp_path / "layline.toml").write_text(settings)
        yield layered, certificate


def run(layered: Layered, certificate: Path | None, *arguments: str) -> Result:
    env = {"LAYLINE_CACHE": str(layered.root / "cache"), "NO_PROXY": "localhost", "no_proxy": "localhost"}
    if certificate:
        env["GIT_SSL_CAINFO"] = str(certificate)
    return layline(*arguments, cwd=layered.root, env=env)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_fetches_the_upstream_and_its_newest_commits(served: tuple[Layered, Path], name: str) -> None:
    layered, certificate = served
    first = run(layered, certificate, *COMMANDS[name])
    assert (first.code, layered.tip in first.out) == (0, True), first.err
    newer = layered.upstream.commit("One more (#5)")
    publish(layered.upstream.path, layered.root / "published", "keel")
    again = run(layered, certificate, *COMMANDS[name])
    assert (again.code, newer in again.out) == (0, True), again.err


def test_without_fetch_the_network_is_not_asked(served: tuple[Layered, Path]) -> None:
    layered, certificate = served
    refused = run(layered, certificate, "gap", "show", "keel")
    assert refused.code == 2
    assert "--fetch" in refused.err
    assert not (layered.root / "cache/mirrors").exists()


def test_certificate_nobody_vouches_for_is_refused_and_leaves_nothing(served: tuple[Layered, Path]) -> None:
    layered, _ = served
    refused = run(layered, None, "gap", "show", "keel", "--fetch")
    assert refused.code == 2
    assert "could not be fetched" in refused.err
    assert "Traceback" not in refused.err
    assert list((layered.root / "cache/mirrors").iterdir()) == []


def test_what_was_fetched_once_serves_without_the_network(served: tuple[Layered, Path]) -> None:
    layered, certificate = served
    assert run(layered, certificate, *COMMANDS["gap show"]).code == 0
    offline = run(layered, None, "gap", "show", "keel", "--format", "json")
    assert json.loads(offline.out)["behind"] == 2
