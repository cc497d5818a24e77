from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commands import layline
from layered import CONFIG, make_layered
from layline.errors import GitError
from layline.git import open_repository
from layline.git.mirror import fetch_mirror


def test_a_mirror_is_made_then_follows(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    mirror = tmp_path / "mirrors" / "keel.git"
    address = f"file://{layered.upstream.path}"
    fetch_mirror(address, mirror, protocols="file")
    assert open_repository(mirror).resolve("main") == layered.tip
    newer = layered.upstream.commit("One more")
    fetch_mirror(address, mirror, protocols="file")
    assert open_repository(mirror).resolve("main") == newer
    assert open_repository(mirror).refs("refs/tags").keys() == {"refs/tags/v1.0"}


@pytest.mark.parametrize("address", ["file:///nowhere", "ext::sh -c true", "--upload-pack=true"])
def test_a_failed_fetch_leaves_nothing_behind(tmp_path: Path, address: str) -> None:
    with pytest.raises(GitError, match="could not be fetched"):
        fetch_mirror(address, tmp_path / "mirrors" / "keel.git")
    assert list((tmp_path / "mirrors").iterdir()) == []


def test_fetch_never_writes_a_clone_of_the_users(tmp_path: Path) -> None:
    make_layered(tmp_path)
    result = layline("gap", "show", "keel", "--fetch", cwd=tmp_path)
    assert result.code == 2
    assert "only writes Layline's own mirror" in result.err


def test_the_mirror_is_found_where_no_objects_are_named(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    (tmp_path / "layline.toml").write_text(CONFIG.replace('objects = "upstream"\n', ""))
    fetch_mirror(f"file://{layered.upstream.path}", tmp_path / "cache/mirrors/example.org+keel.git", protocols="file")
    result = layline(
        "gap", "show", "keel", "--format", "json", cwd=tmp_path, env={"LAYLINE_CACHE": str(tmp_path / "cache")}
    )
    assert result.json["behind"] == 2


def test_a_branch_means_the_upstreams_own(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    for name, flags in (("clone", ()), ("mirror", ("--bare",))):
        subprocess.run(["git", "clone", "-q", *flags, str(layered.upstream.path), str(tmp_path / name)], check=True)
    newer = layered.upstream.commit("One more")
    subprocess.run(["git", "-C", str(tmp_path / "clone"), "fetch", "-q"], check=True)
    clone = open_repository(tmp_path / "clone")
    assert (clone.resolve("main"), clone.resolve_upstream("main")) == (layered.upstream.commits[-2], newer)
    subprocess.run(
        ["git", "-C", str(tmp_path / "mirror"), "update-ref", "refs/remotes/origin/main", layered.pin], check=True
    )
    assert open_repository(tmp_path / "mirror").resolve_upstream("main") == layered.upstream.commits[-2]
