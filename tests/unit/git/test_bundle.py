"""A repository that travels: the same names mean the same commits, and nothing but history goes along."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layered import make_layered
from layline.errors import GitError
from layline.git import Repository, open_repository
from layline.git.bundle import digest_refs, read_bundle, read_head, write_bundle


def send(repository: Repository, folder: Path, *commits: str) -> Repository:
    write_bundle(repository, folder / "bundle", commits)
    head, bare = read_head(repository), repository.is_bare
    read_bundle(folder / "bundle", folder / "sent", head=head, is_bare=bare, sha256=False)
    return open_repository(folder / "sent")


@pytest.mark.parametrize("flags", [("--mirror",), ()], ids=["bare", "clone"])
def test_the_same_names_mean_the_same_commits(tmp_path: Path, flags: tuple[str, ...]) -> None:
    layered = make_layered(tmp_path)
    subprocess.run(["git", "clone", "-q", *flags, str(layered.upstream.path), str(tmp_path / "here")], check=True)
    here = open_repository(tmp_path / "here")
    sent = send(here, tmp_path)
    assert digest_refs(sent) == digest_refs(here)
    assert (sent.is_bare, sent.refs()) == (here.is_bare, here.refs())
    assert [sent.resolve_upstream(name) for name in ("main", "v1.0", "HEAD")] == [
        here.resolve_upstream(name) for name in ("main", "v1.0", "HEAD")
    ]


def test_commits_that_no_ref_leads_to_travel_when_asked_for(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    git = ("git", "-C", str(tmp_path / "here"))
    subprocess.run(["git", "clone", "-q", str(layered.upstream.path), str(tmp_path / "here")], check=True)
    subprocess.run([*git, "checkout", "-q", "--detach", layered.pin], check=True)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for subject in ("lost", "found"):
        subprocess.run([*git, *identity, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    head = open_repository(tmp_path / "here").resolve("HEAD")
    subprocess.run([*git, "checkout", "-q", "--detach", layered.pin], check=True)
    here = open_repository(tmp_path / "here")
    sent = send(here, tmp_path, head)
    assert (sent.resolve("HEAD"), sent.resolve(head)) == (layered.pin, head)
    assert digest_refs(sent) == digest_refs(here)


def test_only_history_travels(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    here = tmp_path / "here"
    subprocess.run(["git", "clone", "-q", str(layered.upstream.path), str(here)], check=True)
    (here / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\ntouch /tmp/ran\n")
    (here / "secret").write_text("token")
    subprocess.run(["git", "-C", str(here), "config", "http.extraHeader", "Authorization: token"], check=True)
    send(open_repository(here), tmp_path)
    kept = [path for path in (tmp_path / "sent").rglob("*") if path.is_file()]
    assert not [path for path in kept if "hooks" in path.parts or path.name == "secret"]
    assert b"token" not in (tmp_path / "sent" / ".git" / "config").read_bytes()


def test_a_shallow_clone_does_not_travel(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    address = f"file://{layered.upstream.path}"
    subprocess.run(["git", "clone", "-q", "--depth=1", address, str(tmp_path / "here")], check=True)
    with pytest.raises(GitError, match="is a shallow clone and cannot be sent"):
        write_bundle(open_repository(tmp_path / "here"), tmp_path / "bundle")


def test_a_partial_clone_travels_as_partial_as_it_is(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("config", "uploadpack.allowFilter", "true")
    address = f"file://{layered.upstream.path}"
    clone = ("git", "clone", "-q", "--bare", "--filter=blob:none", address, str(tmp_path / "here"))
    subprocess.run(clone, check=True)
    here = open_repository(tmp_path / "here")
    sent = send(here, tmp_path)
    assert digest_refs(sent) == digest_refs(here)
    path = next(iter(here.read_tree(layered.tip))).path
    for repository in (here, sent):
        with pytest.raises(GitError):
            repository.read_file(layered.tip, path)
