"""Bad input gets one clear sentence and a hint, exit 2, never a traceback."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from commands import layline
from layered import CONFIG, make_layered

ARGUMENTS = [
    (("gap", "show", "kel"), "There is no backend called 'kel'", "Did you mean 'keel'?"),
    (("gap", "show", "sail"), "There is no backend called 'sail'", "uncomment or write [backends.sail]"),
    (("gap", "show", "keel", "--to", "nope"), "has no ref called 'nope' in its copy at upstream/.git.", ""),
    (("gap", "show", "keel", "--to", "v1.0.0"), "has no ref called 'v1.0.0'", "Did you mean 'v1.0'?"),
    (("gap", "show", "keel", "--to", "v99"), "has no ref called 'v99'", "Its newest version tag there is 'v1.0'."),
    (("gap", "show", "keel", "--to", "1.0"), "has no ref called '1.0'", "Did you mean 'v1.0'?"),
    (("gap", "show", "keel", "--to", "mian"), "has no ref called 'mian'", "Did you mean 'main'?"),
    (("gap", "show", "keel", "--to", "--upload-pack=x"), "'--upload-pack=x' is not a ref", "branch, tag or commit"),
    (("gap", "show", "keel", "--to", ""), "'' is not a ref", "branch, tag or commit"),
    (("gap", "show", "keel", "--to", "a\nb"), "is not a ref", "branch, tag or commit"),
    (("gap", "show", "keel", "--to", "0" * 40), "has no object", "Fetch it first"),
    (("gap", "show", "keel", "--to", "main^{tree}"), "is a tree", "branch, tag or commit"),
    (("gap", "show", "keel", "--at", "deadbeef"), "has no object deadbeef", "Fetch it first"),
    (("gap", "show", "keel", "--fail-on", "speed>3"), "is not a limit", "NAME>NUMBER"),
    (("gap", "show", "keel", "--date", "yesterday"), "is not a date", ""),
    (("gap", "show", "keel", "--format", "pdf"), "is not one of", ""),
    (("gap", "show", "keel", "-o", "/proc/nope/x"), "cannot be written", ""),
    (("gap", "audit"), "Missing argument", "--help"),
    (
        ("patches", "show", "x.y", "keel"),
        "extra argument (keel)",
        "Did you mean `layline patches show x.y --backend keel`?",
    ),
    (
        ("patches", "port", "keel", "x.y"),
        "extra argument (x.y)",
        "Did you mean `layline patches port x.y --backend keel`?",
    ),
    (("patches", "find", "deep", "ep"), "extra argument (ep)", "Did you mean `layline patches find 'deep ep'`?"),
    (("patches", "show", "x.y", "z"), "extra argument (z)", "`layline patches show --help` explains it."),
    (
        ("campaign", "handoff", "gemm", "--op", "gemm", "--backend", "TRITON", "--gpu", "gfx950"),
        "extra argument (gemm)",
        "`layline campaign handoff --help` explains it.",
    ),
    (("patches", "list", "keel", "--kind", "dead-pin"), "'dead-pin' is not one of", "Did you mean 'dead-at-pin'?"),
    (("patches", "drift", "keel", "--severity", "eror"), "'eror' is not one of", "Did you mean 'error'?"),
    (("schema", "confg"), "There is no schema called 'confg'", "Did you mean 'config'?"),
    (("nonsense",), "There is no command", "--help"),
    (("gap", "show", "keel", "-c", "absent.toml"), "absent.toml cannot be read: No such file", "`layline init` writes"),
    (("gap", "verify", "absent.json"), "absent.json cannot be read: No such file", "all reports of the project"),
    (("gap", "audit", "absent.json"), "absent.json cannot be read: No such file", "a published record"),
    (("init", "."), "already exists", "--force"),
]


@pytest.mark.parametrize(("arguments", "says", "hint"), ARGUMENTS, ids=lambda value: str(value)[:40])
def test_arguments(tmp_path: Path, arguments: tuple[str, ...], says: str, hint: str) -> None:
    make_layered(tmp_path)
    _expect(tmp_path, arguments, says, hint)


CONFIGS = [
    ("[project]\nnmae = 'x'\n", "the key `project.nmae` is unknown", "Did you mean `project.name`?"),
    (CONFIG + 'labl = "x"\n', "the key `backends.keel.labl` is unknown", "Did you mean `backends.keel.label`?"),
    (CONFIG + "pin = { fil = 'x' }\n", "the key `backends.keel.pin.fil` is unknown", "`backends.keel.pin.file`"),
    (CONFIG + "pin = { variable = 'X' }\n", "needs either `file` or `revision`", ""),
    ("[project\n", "is not TOML", ""),
    ("[backends.keel]\npath = 'x'\n", "project", ""),
    (CONFIG.replace('"third_party/keel"', "7"), "backends.keel.path", ""),
    (CONFIG.replace("https://example.org/keel", "http://example.org/keel"), "is not an https address", ""),
    (CONFIG.replace("third_party/keel", "third_party/kiel"), "has nothing at 'third_party/kiel'", "--at"),
    (CONFIG.replace("third_party/keel", "harbour"), "has no submodule at 'harbour'", "--at"),
    (CONFIG.replace('path = "third_party/keel"\n', ""), "neither `path` nor `pin`", "pin = {"),
    (CONFIG.replace('"upstream"', '"nowhere"'), "are not on this machine", "backends.keel.objects"),
    (CONFIG.replace('"downstream"', '"nowhere"'), "is not a git repository", "clone or of a bare mirror"),
]


@pytest.mark.parametrize(("text", "says", "hint"), CONFIGS, ids=lambda value: str(value)[-40:])
def test_configurations(tmp_path: Path, text: str, says: str, hint: str) -> None:
    make_layered(tmp_path)
    (tmp_path / "layline.toml").write_text(text)
    _expect(tmp_path, ("gap", "show", "keel"), says, hint)


def test_a_project_without_a_commit(tmp_path: Path) -> None:
    make_layered(tmp_path)
    subprocess.run(["git", "init", "--quiet", "new"], cwd=tmp_path, check=True)
    (tmp_path / "layline.toml").write_text(CONFIG.replace('"downstream"', '"new"'))
    _expect(tmp_path, ("gap", "show", "keel"), "has no commit yet", "Commit something there first")


def test_our_own_repository_is_no_copy(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    arguments = ("gap", "show", "keel", "--at", "nope", "-c", "../layline.toml")
    _expect(layered.downstream.path, arguments, "has no ref called 'nope'.", "")


def test_no_configuration(tmp_path: Path) -> None:
    _expect(tmp_path, ("gap", "show", "keel"), "There is no layline.toml here or above", "layline init")


def test_ambiguous_abbreviation(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    blobs = "".join(f"blob\ndata {len(str(number))}\n{number}\n" for number in range(1000))
    layered.upstream.git("-c", "fastimport.unpackLimit=5000", "fast-import", "--quiet", stdin=blobs.encode())
    ids = sorted(path.parent.name + path.name for path in (layered.upstream.path / ".git/objects").glob("??/*"))
    prefix = next(a[:4] for a, b in itertools.pairwise(ids) if a[:4] == b[:4])
    _expect(tmp_path, ("gap", "show", "keel", "--to", prefix), f"{prefix} is ambiguous", "more digits")


def test_shallow_clone_says_unshallow(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{layered.upstream.path}", str(shallow)], check=True)
    (tmp_path / "layline.toml").write_text(CONFIG.replace('objects = "upstream"', 'objects = "shallow"'))
    _expect(tmp_path, ("gap", "show", "keel"), "the pin of 'keel'", "--unshallow")


def test_corrupt_pack_is_one_sentence(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("gc", "-q")
    (pack,) = (layered.upstream.path / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o644)
    data = bytearray(pack.read_bytes())
    data[20 : len(data) - 20] = bytes(len(data) - 40)
    pack.write_bytes(bytes(data))
    _expect(tmp_path, ("gap", "show", "keel"), "error: ", "git fsck")


def _expect(cwd: Path, arguments: tuple[str, ...], says: str, hint: str) -> None:
    result = layline(*arguments, cwd=cwd)
    assert result.code == 2, (result.code, result.out, result.err)
    assert says in result.err
    assert hint in result.err
    assert "Traceback" not in result.err
    assert result.out == ""
