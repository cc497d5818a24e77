"""The surface of an upstream: definitions, config fields, flags made from dataclasses, our YAML keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from histories import History
from layline.change.compare import Comparer
from layline.change.options.read import read_options
from layline.change.surface import StaleKey, Surface
from layline.core.evidence import Evidence, Location
from layline.gap.surface.compare import compare_surface
from layline.gap.surface.key_losses import name_losses
from layline.gap.surface.known_keys import KnownKeys, find_sections, find_told, leave_out_scripts, read_known
from layline.gap.surface.yaml_keys import find_near, find_stale_keys, join_beyond, read_yaml_keys, spell_out
from layline.git import open_repository
from layline.history.timeline import BlobChange, Timeline, TimelineCommit
from layline.source import Part, Tree, build_index
from layline.source.cache import Cache
from layline.source.memos import Memos
from layline.source.resolve import Resolver

PACKAGES = ("keel",)
FACTORY = """\
from dataclasses import fields

class ArgumentFactory:
    def __init__(self, config, exclude=None):
        self.config, self.exclude = config, exclude or []

    def build(self, parser):
        for field in fields(self.config):
            parser.add_argument(*self.names(field), dest=field.name)
"""
CONFIG = """\
from dataclasses import dataclass, field

@dataclass
class BaseConfig:
    seed: int = 0

@dataclass
class TrainConfig(BaseConfig):
    steps: int = 10
    fused: bool = True
    hidden: int = 1
    derived: int = field(init=False)
    path: str = field(default=None, metadata={"argparse_meta": {"arg_names": ["--data"], "dest": "data_path"}})
"""
ARGUMENTS = """\
from keel.factory import ArgumentFactory

def add(parser):
    from keel.config import TrainConfig
    exclude = ["hidden"]
    ArgumentFactory(TrainConfig, exclude=exclude).build(parser)
    parser.add_argument("--lr", "--learning-rate", type=float, default=0.1)
    parser.add_argument("--verbose", action="store_true")
"""


def compare(tmp_path: Path, before: dict[str, str], after: dict[str, str | None]) -> Surface:
    history = History.start(tmp_path / "up")
    pin = history.commit("pin", {"keel/__init__.py": "", **before})
    tip = history.commit("tip", dict(after))
    repository = open_repository(history.path)
    resolvers = [Resolver(build_index([Part(tree=Tree(repository, one), packages=PACKAGES)])) for one in (pin, tip)]
    return compare_surface(
        Comparer(resolvers[0], resolvers[1]), PACKAGES, *(read_options(one, PACKAGES) for one in resolvers)
    )


def test_flags_made_from_dataclasses_come_and_go_without_argparse(tmp_path: Path) -> None:
    files = {"keel/factory.py": FACTORY, "keel/config.py": CONFIG, "keel/arguments.py": ARGUMENTS}
    changed = (
        CONFIG.replace("seed: int = 0", "seed: int = 7")
        .replace("    steps: int = 10\n", "    rounds: int = 10\n")
        .replace('"--data"', '"--data-in"')
    )
    surface = compare(tmp_path, files, {"keel/config.py": changed})
    assert ("command-line flags", 6, 6) in surface.sizes
    assert [(row.change.value, row.name, row.was, row.now) for row in surface.flags] == [
        ("added", "rounds", None, "--rounds sets rounds, default 10"),
        ("default changed", "seed", "--seed sets seed, default 0", "--seed sets seed, default 7"),
        ("removed", "steps", "--steps sets steps, default 10", None),
    ]


def test_an_option_that_sets_another_name_is_renamed(tmp_path: Path) -> None:
    surface = compare(
        tmp_path,
        {"keel/a.py": ARGUMENTS},
        {"keel/a.py": ARGUMENTS.replace('"--verbose",', '"--verbose", dest="talk",')},
    )
    assert [(row.change.value, row.name, row.now) for row in surface.flags] == [
        ("renamed", "verbose", "--verbose sets talk, default False")
    ]


def test_config_fields_follow_a_class_that_moved(tmp_path: Path) -> None:
    surface = compare(
        tmp_path,
        {"keel/config.py": CONFIG},
        {"keel/config.py": None, "keel/settings.py": CONFIG.replace("steps: int = 10", "steps: int = 20")},
    )
    rows = [(row.change.value, row.name.rpartition(".")[2]) for row in surface.fields]
    assert rows == [("default changed", "steps")]


BODY = "    total = 0\n    for step in range(9):\n        total += step\n    return total\n"


def test_definitions(tmp_path: Path) -> None:
    before = {
        "keel/a.py": f"def kept(x):\n{BODY}\ndef changed(x):\n    return 1\n\ndef signed(x):\n    return 1\n\ndef "
        f"gone():\n    return 0\n\ndef _moved(y):\n{BODY.replace('9', '7')}",
        "keel/pkg/__init__.py": "from keel.a import gone\n",
    }
    after = {
        "keel/a.py": f"def kept(x):\n{BODY}\ndef changed(x):\n    return 2\n\ndef signed(x, y):\n    return 1\n",
        "keel/b.py": f"def _moved(y):\n{BODY.replace('9', '7')}\ndef new():\n    return 5\n",
        "keel/pkg/__init__.py": "",
    }
    surface = compare(tmp_path, before, dict(after))
    assert [(row.change.value, row.name) for row in surface.definitions] == [
        ("moved", "keel.a._moved"),
        ("body changed", "keel.a.changed"),
        ("removed", "keel.a.gone"),
        ("signature changed", "keel.a.signed"),
        ("added", "keel.b.new"),
        ("re-export lost", "keel.pkg.gone"),
    ]


def known(*names: str) -> KnownKeys:
    return KnownKeys(names=dict.fromkeys(names, Evidence(repo="up", commit="c")), near=frozenset(names))


def test_yaml_keys_that_only_the_pin_knows(tmp_path: Path) -> None:
    history = History.start(tmp_path / "down")
    text = "modules:\n  train:\n    lr: 1\n    old_key: 2  # used\n    ours: 3\n"
    commit = history.commit(
        "one",
        {
            "configs/a.yaml": text,
            "configs/b.yaml": "old_key: 1\n",
            "configs/bad.yaml": "a: [\n",
            "elsewhere.yaml": "old_key: 1\n",
        },
    )
    keys, skipped = read_yaml_keys(Tree(open_repository(history.path), commit), ("configs",))
    place = Evidence(repo="up", commit="c", path="a.py", lines=(1, 1))
    stale = list(find_stale_keys(keys, {"old_key": place, "lr": place, "unused": place}, known("lr", "older_key")))
    assert [(one.key, one.location, one.others, one.suggestion) for one in stale] == [
        ("old_key", Location("configs/a.yaml", 4), 1, None)
    ]
    assert [one.what for one in skipped] == ["configs/bad.yaml"]


@pytest.mark.parametrize(
    ("key", "new", "near"),
    [
        ("ac.per_op_sac_force_shapes", ["ac.force_shapes", "ac.mode"], None),  # two of five words
        ("ac.per_op_force_mm_shapes", ["ac.force_mm_shapes", "ac.mode"], "ac.force_mm_shapes"),
        ("train.max_seqlen", ["train.max_seq_len"], "train.max_seq_len"),
        ("train.seq_len", ["data.seq_len"], "data.seq_len"),
        ("train.seq_len", ["data.seq_len", "eval.seq_len"], None),
        ("train.mode", ["data.mode"], None),
        ("parallel.disable_loss_parallel", ["parallel.enable_sequence_parallel"], None),
        ("old_key", ["older_key"], None),
    ],
)
def test_a_near_name_needs_more_than_like_letters(key: str, new: list[str], near: str | None) -> None:
    assert find_near(key, new) == near


def test_a_key_follows_its_section_or_leaves_it() -> None:
    then = {"validation.freq", "validation.steps", "validation.enable", "model.hf_path", "model.name", "model.kind"}
    after = {"validator.freq", "validator.steps", "validated.steps", "hf_path", "model_spec.name", "model.kind"}
    keys = {key: [Location("c.yaml", line)] for line, key in enumerate(sorted(then), 1)}
    keys["validation.steps"] *= 3
    place = Evidence(repo="up", commit="0" * 40)
    now = replace(known(*after), top=frozenset({"hf_path", "name"}))
    found = find_stale_keys(keys, dict.fromkeys(then, place), now)
    assert [(one.key, one.lines, one.suggestion) for one in found] == [
        ("validation.steps", 3, "validator.steps"),
        ("model.hf_path", 1, "hf_path (in no section)"),
        ("model.name", 1, None),  # one key in common does not make a section another's heir
        ("validation.enable", 1, None),
        ("validation.freq", 1, "validator.freq"),
    ]


MAIN = """\
from dataclasses import dataclass
from typing import Annotated
@dataclass
class OneConfig:
    steps: int = 1
@dataclass
class SpecConfig:
    steps: int = 1
@dataclass
class Config:
    training: OneConfig
    saving: OneConfig
    debug: OneConfig
"""
THEN: dict[str, str | bytes | None] = {"keel/config.py": MAIN + "    fault: OneConfig\n    model: OneConfig\n"}
NOW: dict[str, str | bytes | None] = {
    "keel/config.py": MAIN + "    spec: Annotated[SpecConfig, tyro.conf.Suppress]\n",
    "keel/other/job.py": "from keel.config import *\nfrom keel.config import Config, OneConfig, SpecConfig\n"
    "@dataclass\nclass JobConfig(Config):\n    fault: OneConfig\n"
    "@dataclass\nclass ToyConfig:\n    training: OneConfig\n    spec: SpecConfig\n    late: OneConfig\n",
}


def test_our_files_are_read_by_the_configuration_that_has_most_of_their_sections(tmp_path: Path) -> None:
    """A section that only another configuration has is gone, and no key goes where nobody can set it."""
    history = History.start(tmp_path / "up")
    commits = [history.commit("pin", THEN), history.commit("tip", NOW)]
    trees = [Tree(open_repository(history.path), commit) for commit in commits]
    sides = [Resolver(build_index([Part(tree=tree, packages=PACKAGES)])) for tree in trees]
    keys = ("training.steps", "saving.steps", "debug.steps", "fault.steps", "model.steps", "ours.steps")
    options = [read_options(side, PACKAGES) for side in sides]
    sections = find_sections(options[0], sides[0], keys)
    after = read_known(options[1], sides[1], sections)
    assert sections == {"training", "saving", "debug", "fault", "model"}
    assert "fault.steps" in options[1].known(sides[1])
    assert {key for key in after.near if "." in key} == {"training.steps", "saving.steps", "debug.steps"}
    places = {key: [Location("c.yaml", line)] for line, key in enumerate(keys, 1)}
    stale = find_stale_keys(places, options[0].known(sides[0]), after)
    assert [(one.key, one.suggestion) for one in stale] == [
        ("fault.steps", "fault.steps (only in keel/other)"),
        ("model.steps", None),
    ]


SCRIPT = "from argparse import ArgumentParser\nparser = ArgumentParser()\n"


@pytest.mark.parametrize(
    ("flags", "ours", "stale"),
    [
        (["--fused", "--shards"], ["fused", "lr"], []),
        (["--fused", "--shards", "--depth"], ["fused", "shards", "depth"], ["depth", "fused", "shards"]),
        (["--fused", "--seed"], ["fused", "seed"], ["seed"]),
    ],
)
def test_a_key_that_only_has_the_name_of_a_removed_scripts_flag_is_not_stale(
    tmp_path: Path, flags: list[str], ours: list[str], stale: list[str]
) -> None:
    """Unless our files set several flags of that script, or a configuration had a field of the name."""
    history = History.start(tmp_path / "up")
    script = SCRIPT + "".join(f"parser.add_argument('{flag}')\n" for flag in flags)
    config = "from dataclasses import dataclass\n@dataclass\nclass Config:\n    seed: int = 0\n    lr: float = 0.1\n"
    first = history.commit("pin", {"keel/__init__.py": "", "keel/convert.py": script, "keel/config.py": config})
    last = history.commit("tip", {"keel/convert.py": None, "keel/config.py": config.replace("    seed: int = 0\n", "")})
    trees = [Tree(open_repository(history.path), commit) for commit in (first, last)]
    sides = [Resolver(build_index([Part(tree=tree, packages=PACKAGES)])) for tree in trees]
    options = [read_options(side, PACKAGES) for side in sides]
    before = leave_out_scripts(options[0].known(sides[0]), options[0], ours, trees[1].entries)
    keys = {key: [Location("c.yaml", line)] for line, key in enumerate(ours, 1)}
    found = find_stale_keys(keys, before, known(*options[1].known(sides[1])))
    assert sorted(one.key for one in found) == stale


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("| `training.size` |\n`training.tokens` | Tokens |", "training.tokens"),
        ("training.size -> training.tokens", "training.tokens"),
        ("Renames `training.size`\nto `training.tokens`.", "training.tokens"),
        ("`training.size` goes. `training.tokens` is new.", None),
        ("`training.size` -> `training.elsewhere`", None),
        ("`my.training.size` -> `training.tokens`", None),
    ],
)
def test_a_message_may_name_the_new_key(message: str, told: str | None) -> None:
    assert find_told(message, "training.size", {"training.tokens"}) == told


def test_a_key_is_lost_where_no_commit_knows_it_any_more(tmp_path: Path) -> None:
    """`job.mode` moves to another file in 1, another class loses a `mode` in 2, and 3 drops it."""
    texts = {
        "a": b"class Job:\n    mode: str\n    name: str\n",
        "b": b"class Job:\n    name: str\n",
        "c": b"class Job:\n    mode: str\n",
        "d": b"class Boat:\n    mode: int\n",
        "e": b"",
    }
    changes = [("a", "b"), ("d", "e"), ("c", "e")]
    steps = [TimelineCommit(str(n), (BlobChange("x.py", *pair),)) for n, pair in enumerate(changes, 1)]
    asked: list[str] = []

    def known_at(commit: str) -> set[str]:
        asked.append(commit)
        return {"job.mode"} if commit in {"1", "2"} else set()

    stale = [
        StaleKey(key=key, location=Location("c.yaml", 1), others=0, suggestion=None, pin_evidence=None)
        for key in ("job.mode", "job.name", "job.other")
    ]
    told = [("job.mode", "3"), ("job.name", None), ("job.other", None)]
    cache = Cache(tmp_path / "cache", "memo")
    read_now: list[str] = []

    def read(blob: str) -> bytes:
        read_now.append(blob)
        return texts[blob]

    for blobs in ({"a", "b", "c", "d", "e"}, set()):  # the second time no file is read
        asked.clear()
        read_now.clear()
        found = name_losses(stale, Timeline(tuple(steps)), read, known_at, Memos(cache))
        assert [(one.key, one.culprit) for one in found] == told
        assert asked == ["2"]
        assert set(read_now) == blobs
    steps.append(TimelineCommit("4", (BlobChange("x.py", "b", "e"),)))
    later = name_losses(stale, Timeline(tuple(steps)), read, known_at, Memos(cache))
    assert [(one.key, one.culprit) for one in later] == told
    assert read_now == ["b", "e"]


def test_keys_beyond_the_configured_folders_count_by_their_inner_path(tmp_path: Path) -> None:
    history = History.start(tmp_path / "down")
    example = "modules:\n  trainer:\n    model: a.yaml\n    overrides:\n      ac:\n        mode: none\n      seed: 1\n"
    base = "ac:\n  mode: full\nseed: 0\n"
    commit = history.commit("one", {"configs/up/base.yaml": base, "examples/up/a.yaml": example})
    tree = Tree(open_repository(history.path), commit)
    keys = join_beyond(*(read_yaml_keys(tree, (folder,))[0] for folder in ("configs/up", "examples/up")))
    place = Evidence(repo="up", commit="c", path="a.py", lines=(1, 1))
    then = dict.fromkeys(("ac.mode", "seed", "model", "trainer.model"), place)
    stale = [(one.key, str(one.location), one.others) for one in find_stale_keys(keys, then, known())]
    assert stale == [
        ("ac.mode", "configs/up/base.yaml:2", 1),
        ("seed", "configs/up/base.yaml:3", 1),
        ("trainer.model", "examples/up/a.yaml:3", 0),
    ]


def test_a_nested_yaml_key_is_told_once() -> None:
    place, line = Evidence(repo="up", commit="c", path="a.py", lines=(1, 1)), Location("a.yaml", 3)
    keys = {"steps": [line], "training.steps": [line], "seed": [line]}
    stale = find_stale_keys(keys, dict.fromkeys(keys, place), known("seed"))
    assert [one.key for one in stale] == ["training.steps"]


TYRO_CONFIG = """\
from dataclasses import dataclass, field
from typing import Annotated
import tyro

@dataclass
class BaseSaver:
    every_n: int = 5

@dataclass
class Saver(BaseSaver):
    folder: str = "out"

@dataclass
class Extra:
    z: int = 1

@dataclass
class Training:
    steps: int = 10
    _inner: int = 0

@dataclass
class JobConfig:
    name: str = "job"
    training: Training = field(default_factory=Training)
    saver: BaseSaver = field(default_factory=Saver)
    extra: Extra | None = None
    spec: Annotated[str, tyro.conf.Suppress] = ""
    hidden: Annotated["ModelSpec | None", tyro.conf.Suppress] = None

@dataclass
class ModelSpec:
    build: str = "hull"
"""
TYRO_CALLS = [
    # how the class reaches tyro: the files beside the config
    (
        "named in the call",
        {
            "keel/manager.py": "import tyro\nfrom keel.config import JobConfig\n\ndef parse(args):\n    return "
            "tyro.cli(JobConfig, args=args)\n"
        },
    ),
    (
        "annotated",
        {
            "keel/manager.py": "import tyro\nfrom keel.config import JobConfig\n\ndef parse(args, kind: "
            "type[JobConfig]):\n    return tyro.cli(kind, args=args)\n"
        },
    ),
    (
        "chosen by name",
        {
            "keel/manager.py": "import importlib, tyro\n\ndef parse(name, args):\n    found = "
            "importlib.import_module(f'keel.{name}.registry').make()\n    return tyro.cli(type(found), args=args)\n",
            "keel/small/registry.py": "from keel.config import JobConfig\n\ndef make() -> JobConfig:\n    return "
            "JobConfig()\n",
            "keel/large/registry.py": "from keel.config import ModelSpec\n\ndef spec() -> ModelSpec:\n    return "
            "ModelSpec()\n",
        },
    ),
]


@pytest.mark.parametrize("files", [row[1] for row in TYRO_CALLS], ids=[row[0] for row in TYRO_CALLS])
def test_flags_that_tyro_makes_of_nested_dataclasses(tmp_path: Path, files: dict[str, str]) -> None:
    """As tyro itself does it: nested names, what a default makes, nothing for suppressed or optional classes."""
    after = TYRO_CONFIG.replace("steps: int = 10", "rounds: int = 10").replace("every_n: int = 5", "every_n: int = 6")
    surface = compare(tmp_path, {"keel/config.py": TYRO_CONFIG, **files}, {"keel/config.py": after})

    assert [(row.change.value, row.name, row.was, row.now) for row in surface.flags] == [
        (
            "default changed",
            "saver.every_n",
            "--saver.every-n sets saver.every_n, default 5",
            "--saver.every-n sets saver.every_n, default 6",
        ),
        ("added", "training.rounds", None, "--training.rounds sets training.rounds, default 10"),
        ("removed", "training.steps", "--training.steps sets training.steps, default 10", None),
    ]
    assert ("command-line flags", 4, 4) in surface.sizes


def test_a_class_that_only_a_run_knows_is_skipped(tmp_path: Path) -> None:
    history = History.start(tmp_path / "up")
    commit = history.commit("pin", {"keel/m.py": "import tyro\n\ndef parse(kind):\n    return tyro.cli(kind)\n"})
    tree = Tree(open_repository(history.path), commit)
    options = read_options(Resolver(build_index([Part(tree=tree, packages=PACKAGES)])), PACKAGES)
    assert [str(item) for item in options.skipped] == [
        (
            "keel/m.py:4: which class tyro makes flags of cannot be decided without running the code; its fields are "
            "listed instead"
        )
    ]


def test_the_keys_of_a_section_that_is_gone_are_told_once() -> None:
    here = Location("a.yaml", 1)
    keys = {"job": [here], "name": [Location("a.yaml", 2)], "job.name": [Location("a.yaml", 2)], "other": [here]}
    then = dict.fromkeys(keys, Evidence(repo="r", commit="c"))
    assert [one.key for one in find_stale_keys(keys, then, known())] == ["job.name", "other"]


@pytest.mark.parametrize(
    ("text", "then", "expected"),
    [
        (
            "quantize:\n  linear:\n    float8:\n      emulate: false\n  more:\n    - deep: {er: 1}\n",
            ("float8.emulate", "deep.er"),
            [("quantize.more.deep.er", 1), ("quantize.linear.float8.emulate", 1)],
        ),
        (
            "quantize:\n  linear:\n    mx: {recipe: 1}\n  grouped:\n    mx: {recipe: 2}\nq:\n  linear:\n    mx: {recipe: 3}\n",
            ("mx.recipe", "linear.mx", "grouped.mx"),
            [("quantize.linear.mx.recipe", 2), ("quantize.grouped.mx.recipe", 1)],
        ),
        (
            "one:\n  run: {lr: 1}\ntwo:\n  run: {lr: 2}\n",
            ("run.lr",),
            [("one.run.lr", 2)],
        ),
    ],
    ids=["whole path", "a section that upstream has twice", "sections of our own"],
)
def test_a_key_is_shown_as_our_file_writes_it(
    tmp_path: Path, text: str, then: tuple[str, ...], expected: list[tuple[str, int]]
) -> None:
    history = History.start(tmp_path / "up")
    commit = history.commit("One", {"configs/a.yaml": text}, at=1_767_139_200)
    tree = Tree(open_repository(history.path), commit)
    keys, _ = read_yaml_keys(tree, ("configs",))
    before = dict.fromkeys(then, Evidence(repo="r", commit="a" * 40, path="p.py", lines=(1, 1)))
    stale = spell_out(tree, find_stale_keys(keys, before, known()), keys, before.keys())
    assert [(one.written, one.lines) for one in stale] == expected
