"""Each reader of a dependency file: what it finds, with lines, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.core.evidence import Skipped
from layline.gap.dependencies import Rank, read_declarations
from layline.gap.dependencies.model import parse_need
from layline.gap.dependencies.reading import rank_of
from layline.git import open_repository
from layline.source.tree import Tree


def read(tmp_path: Path, files: dict[str, str], *, links: dict[str, str] | None = None) -> Tree:
    history = History.start(tmp_path / "upstream")
    for link, target in (links or {}).items():
        place = history.path / link
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    commit = history.commit("one", dict(files))
    return Tree(open_repository(history.path), commit)


def declared(
    tmp_path: Path, files: dict[str, str], *, links: dict[str, str] | None = None
) -> list[tuple[str, str, str, str]]:
    found = read_declarations(read(tmp_path, files, links=links))
    return [(item.name, item.spec, item.scope, str(item.place)) for item in found.items]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch>=2.6.0", ("torch", ">=2.6.0", "", "")),
        ("Flash_Attn", ("flash-attn", "", "", "")),
        ("datasets >= 3.6.0, < 4.8.0", ("datasets", ">=3.6.0,<4.8.0", "", "")),
        ("a[x, b]; sys_platform != 'darwin'", ("a", "", "b,x", "sys_platform != 'darwin'")),
        ("a @ git+https://host/x@v1", ("a", "@ git+https://host/x@v1", "", "")),
        ("setuptools<80.0.0,>=77.0.0", ("setuptools", ">=77.0.0,<80.0.0", "", "")),
    ],
)
def test_a_requirement_is_taken_apart(text: str, expected: tuple[str, str, str, str]) -> None:
    need = parse_need(text)
    assert need is not None
    assert (need.name, need.spec, need.extras, need.marker) == expected


@pytest.mark.parametrize("text", ["./local", "$VAR", "${{ matrix.x }}", "-e .", "../../x.txt", "--pre", "a b c"])
def test_what_is_no_requirement_is_refused(text: str) -> None:
    assert parse_need(text) is None


PYPROJECT = """\
[build-system]
requires = ["setuptools>=80"]

[project]
name = "up"
requires-python = ">=3.12"
dependencies = [
    "torch>=2.6",
    # "commented-out",
    "numpy",
]

[project.optional-dependencies]
dev = ["pytest==9.1"]

[dependency-groups]
lint = ["ruff~=0.9", {include-group = "other"}]

[tool.uv]
override-dependencies = ["urllib3>=2"]

[tool.uv.sources]
te = { git = "https://host/te.git", rev = "abc" }
"""


def test_pyproject_is_read_whole_with_lines(tmp_path: Path) -> None:
    assert declared(tmp_path, {"pyproject.toml": PYPROJECT}) == [
        ("python", ">=3.12", "requires-python", "pyproject.toml:6"),
        ("setuptools", ">=80", "build system", "pyproject.toml:2"),
        ("torch", ">=2.6", "runtime", "pyproject.toml:8"),
        ("numpy", "", "runtime", "pyproject.toml:10"),
        ("pytest", "==9.1", "extra dev", "pyproject.toml:14"),
        ("ruff", "~=0.9", "group lint", "pyproject.toml:17"),
        ("urllib3", ">=2", "override", "pyproject.toml:20"),
        ("te", "git+https://host/te.git@abc", "source", "pyproject.toml:23"),
    ]


def test_dynamic_dependencies_are_metadata_read_from_the_named_file(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[tool.setuptools.dynamic]\ndependencies = {file = ["req.txt"]}\n',
        "req.txt": "torch\n",
    }
    assert declared(tmp_path, files) == [("torch", "", "runtime", "req.txt:1")]


SETUP_PY = """\
from setuptools import setup
RUNTIME = ["torch>=2"]
args = dict(python_requires=">=3.9")
setup(
    name="up",
    install_requires=RUNTIME + ["numpy"],
    extras_require={"dev": ["pytest"], "all": read("all.txt")},
    **args,
)
"""


def test_setup_py_is_parsed_not_run(tmp_path: Path) -> None:
    found = read_declarations(read(tmp_path, {"setup.py": SETUP_PY}))
    assert [(item.name, item.spec, item.scope, item.place.line) for item in found.items] == [
        ("torch", ">=2", "runtime", 2),
        ("numpy", "", "runtime", 6),
        ("pytest", "", "extra dev", 7),
        ("python", ">=3.9", "requires-python", 3),
    ]
    assert told(found.skipped) == ["setup.py:7: extra all is computed: `read('all.txt')`"]
    assert [one.scopes for one in found.unread] == [("extra all",)]


def told(items: tuple[Skipped, ...]) -> list[str]:
    return [str(item) for item in items]


TABLE = """\
import re, os
from itertools import chain
from setuptools import setup
FIRST = (10, 14)
_deps = [
    "Torch>=2.5",
    "ray[tune]>=2.7",
    "tqdm",
]
deps = {b: a for a, b in (re.findall(r"^(([^!=<>~ ]+)(?:[!=<>~ ].*)?$)", x)[0] for x in _deps)}
def pick(*names):
    return [deps[name] for name in names]
extras = {}
extras["torch"] = pick("Torch")
extras["ray"] = pick("ray[tune]") + extras["torch"]
needs = [deps["tqdm"]]
"""


@pytest.mark.parametrize(
    ("text", "items", "unread"),
    [
        ("setup(install_requires=list(needs))", [("tqdm", "", "runtime", 8)], []),
        (
            "setup(extras_require=extras)",
            [
                ("torch", ">=2.5", "extra torch", 6),
                ("ray", ">=2.7", "extra ray", 7),
                ("torch", ">=2.5", "extra ray", 6),
            ],
            [],
        ),
        (
            "if os.name == 'nt':\n    needs += pick('Torch')\nsetup(install_requires=needs)",
            [("tqdm", "", "runtime", 8)],
            [(17, ("runtime",))],
        ),
        (
            "if os.name == 'nt':\n    needs = []\nelse:\n    needs.append('a')\nsetup(install_requires=needs)",
            [],
            [(17, ("runtime",))],
        ),
        ("needs.extend(read())\nsetup(install_requires=needs)", [("tqdm", "", "runtime", 8)], [(17, ("runtime",))]),
        (
            "more = needs\nmore += ['a']\nsetup(install_requires=needs)",
            [("tqdm", "", "runtime", 8), ("a", "", "runtime", 18)],
            [],
        ),
        ("more = list(needs)\nmore += ['a']\nsetup(install_requires=needs)", [("tqdm", "", "runtime", 8)], []),
        (
            "extras = {'one': needs, 'two': needs}\nextras['two'].append('a')\nsetup(install_requires=needs)",
            [("tqdm", "", "runtime", 8), ("a", "", "runtime", 18)],
            [],
        ),
        ("change(needs)\nsetup(install_requires=needs)", [], [(17, ("runtime",))]),
        (
            "for one in find(): extras[one] = []\nsetup(extras_require=extras)",
            [],
            [(17, ("extra torch", "extra ray")), (17, ("extra",))],
        ),
        (
            "extras = [one for key, all in extras.items() if key != 'ray' for one in all]\nsetup(extras_require={'all': extras})",
            [("torch", ">=2.5", "extra all", 6)],
            [],
        ),
        ("setup(install_requires=list(chain(needs, read())))", [("tqdm", "", "runtime", 8)], [(17, ("runtime",))]),
        (
            "if __name__ == '__main__':\n    low, high = FIRST\n    setup(python_requires=f'>=3.{low}')",
            [("python", ">=3.10", "requires-python", 19)],
            [],
        ),
        ("setup(python_requires=find())", [], [(17, ("requires-python",))]),
        ("def main():\n    needs = ['a']\n    setup(install_requires=needs)\nmain()", [("a", "", "runtime", 18)], []),
        ("setup(install_requires=[re.split('(a*)*b', 'aaa')[0]])", [], [(17, ("runtime",))]),
        ("def loop(one):\n    return loop(one)\nsetup(install_requires=loop(needs))", [], [(18, ("runtime",))]),
    ],
)
def test_what_a_setup_py_makes_of_its_own_literals_is_read(
    tmp_path: Path, text: str, items: list[object], unread: list[object]
) -> None:
    found = read_declarations(read(tmp_path, {"setup.py": f"{TABLE}{text}\n"}))
    assert [(item.name, item.spec, item.scope, item.place.line) for item in found.items] == items
    assert [(one.line, one.scopes) for one in found.unread] == unread


def test_lists_that_grow_without_end_are_not_followed(tmp_path: Path) -> None:
    grows = "".join("needs = needs + needs\n" for _ in range(60))
    found = read_declarations(read(tmp_path, {"setup.py": f"{TABLE}{grows}setup(install_requires=needs)\n"}))
    assert [one.scopes for one in found.unread] == [("runtime",)]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"if odd():\n    a{n} = {n}\n" for n in range(3000)),
        "".join(f"extras['x{n}'] = ['a']\n" for n in range(3000)),
        f"needs = {'[' * 80}1{']' * 80}\n",
        f"needs = {'list(' * 80}needs{')' * 80}\n",
        f"needs = {' + '.join(['needs'] * 900)}\n",
    ],
    ids=["branches", "keys", "lists in lists", "calls in calls", "sums"],
)
def test_what_would_take_too_long_is_left_unread(tmp_path: Path, text: str) -> None:
    whole = f"{TABLE}{text}setup(install_requires=needs, extras_require=extras)\n"
    assert read_declarations(read(tmp_path, {"setup.py": whole})).unread


@pytest.mark.parametrize(
    ("files", "scopes"),
    [
        ({"pyproject.toml": '[project]\ndynamic = ["version", "dependencies"]\n'}, [("runtime",)]),
        ({"pyproject.toml": '[project]\ndynamic = ["requires-python"]\n'}, [("requires-python",)]),
        ({"pyproject.toml": '[project]\ndynamic = ["dependencies"]\n', "setup.py": "setup(install_requires=[])\n"}, []),
        ({"pyproject.toml": "[project\n"}, [()]),
        ({"setup.cfg": "[options]\ninstall_requires = file: needs.txt\n"}, [("runtime",)]),
    ],
)
def test_what_the_metadata_leaves_to_others_is_told_as_unread(
    tmp_path: Path, files: dict[str, str], scopes: list[tuple[str, ...]]
) -> None:
    assert [one.scopes for one in read_declarations(read(tmp_path, files)).unread] == scopes


READS_FILES = """\
from setuptools import setup

def needs():
    def read(name):
        return open("requirements/" + name).read().splitlines()
    return read("cuda.txt") if is_cuda() else read("common.txt") if is_none() else read("rocm.txt")

setup(name="up", install_requires=needs())
"""


def test_setup_py_names_the_files_it_reads(tmp_path: Path) -> None:
    files = {
        "setup.py": READS_FILES,
        "requirements/common.txt": "numpy>=2\n",
        "requirements/cuda.txt": "-r common.txt\ntorch==2.1\n",
        "requirements/rocm.txt": "-r common.txt\ntorch==2.0\n",
        "requirements/lint.txt": "ruff\n",
        "requirements/test/cuda.txt": "pytest\n",
    }
    found = read_declarations(read(tmp_path, files))
    told = [(one.name, one.spec, one.scope) for one in found.items if one.rank is Rank.METADATA]
    assert told == [
        ("numpy", ">=2", "runtime"),
        ("torch", "==2.1", "runtime by cuda.txt"),
        ("torch", "==2.0", "runtime by rocm.txt"),
    ]
    assert not found.skipped


def test_setup_cfg_is_read(tmp_path: Path) -> None:
    text = (
        "[options]\npython_requires = >=3.8\ninstall_requires =\n    torch>=2\n    # gone\n"
        "[options.extras_require]\ndev =\n    pytest\n"
    )
    assert declared(tmp_path, {"setup.cfg": text}) == [
        ("python", ">=3.8", "requires-python", "setup.cfg:2"),
        ("torch", ">=2", "runtime", "setup.cfg:4"),
        ("pytest", "", "extra dev", "setup.cfg:8"),
    ]


def test_requirement_files_follow_includes_and_symlinks_once(tmp_path: Path) -> None:
    files = {
        ".ci/requirements.txt": "-r requirements-base.txt\ntorch \\\n  >=2.6  # why\n--pre\n",
        ".ci/requirements-base.txt": "numpy\ngit+https://host/owner/tool.git@main\n",
    }
    links = {"requirements.txt": ".ci/requirements.txt"}
    assert declared(tmp_path, files, links=links) == [
        ("numpy", "", ".ci/requirements-base.txt", ".ci/requirements-base.txt:1"),
        ("tool", "@ git+https://host/owner/tool.git@main", ".ci/requirements-base.txt", ".ci/requirements-base.txt:2"),
        ("torch", ">=2.6", ".ci/requirements.txt", ".ci/requirements.txt:2"),
    ]


@pytest.mark.parametrize("include", ["requirements.txt", "../../outside.txt"])
def test_an_include_cannot_loop_or_leave_the_tree(tmp_path: Path, include: str) -> None:
    found = read_declarations(read(tmp_path, {"requirements.txt": f"-r {include}\n"}))
    assert found.items == ()
    assert len(found.skipped) == 1


def test_a_file_of_comments_is_not_empty(tmp_path: Path) -> None:
    found = read_declarations(read(tmp_path, {"requirements.txt": "# moved to pyproject\n\n# torch\n"}))
    assert found.items == ()
    assert "only comments" in found.skipped[0].why


def test_locks_are_summarised(tmp_path: Path) -> None:
    text = (
        'version = 1\n\n[[package]]\nname = "Torch"\nversion = "2.6"\n\n[[package]]\nname = "x"\nsource = '
        '{ virtual = "." }\n'
    )
    found = read_declarations(read(tmp_path, {"uv.lock": text}))
    assert found.items == ()
    assert found.locks[0].versions == (("torch", "2.6"), ("x", ""))


WORKFLOW = """\
name: test
jobs:
  dead:
    if: ${{ false }}
    steps:
      - run: pip install never
  unit:
    strategy:
      matrix:
        python-version: ["3.11", "3.12"]
    steps:
      - run: pip install -r requirements.txt "torch>=2.6" --index-url https://download.pytorch.org/whl/nightly/cu130
      - run: |
          # pip install commented-out
          SPEC="jax"
          python -m pip install --pre \\
            "${SPEC}" --index-url ${{ matrix.index-url }}
          echo "pip install said" && uv pip install -e . numpy
"""


def test_workflows_tell_installs_matrices_and_dead_jobs(tmp_path: Path) -> None:
    path = ".github/workflows/test.yml"
    found = read_declarations(read(tmp_path, {path: WORKFLOW}))
    assert sorted((item.place.line, item.kind.value, item.name, item.spec) for item in found.items) == [
        (4, "job", "dead", "switched off"),
        (10, "setting", "python-version", "3.11"),
        (10, "setting", "python-version", "3.12"),
        (12, "channel", "download.pytorch.org/whl nightly/cu", "nightly/cu130"),
        (12, "requirement", "torch", ">=2.6"),
        (16, "requirement", "jax", ""),
        (18, "requirement", "numpy", ""),
    ]
    assert found.skipped == ()


def test_a_yaml_bomb_and_broken_yaml_are_harmless(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    files = {
        ".github/workflows/bomb.yml": bomb,
        ".github/workflows/broken.yml": "a: [\n",
        ".github/workflows/self.yml": "a: &a {b: *a}\n",
    }
    found = read_declarations(read(tmp_path, files))
    assert found.items == ()
    assert [skipped.what for skipped in found.skipped] == [".github/workflows/broken.yml"]


DOCKERFILE = """\
ARG FROM_IMAGE_NAME=nvcr.io/pytorch:26.06
FROM ${FROM_IMAGE_NAME} AS main
ENV TORCH_VERSION 2.6
# RUN pip install commented
RUN --mount=type=cache,target=/x pip install --no-cache-dir \\
    # why
    flash-attn==2.7 && rm -rf /x
RUN bash -ex <<"EOF"
    uv pip install nvshmem==3.4.5
EOF
FROM main
FROM ubuntu:24.04
"""


def test_containers_tell_images_arguments_and_installs(tmp_path: Path) -> None:
    assert declared(tmp_path, {"docker/Dockerfile.ci": DOCKERFILE}) == [
        ("FROM", "ubuntu:24.04", "docker/Dockerfile.ci", "docker/Dockerfile.ci:12"),
        ("FROM_IMAGE_NAME", "nvcr.io/pytorch:26.06", "docker/Dockerfile.ci", "docker/Dockerfile.ci:1"),
        ("TORCH_VERSION", "2.6", "docker/Dockerfile.ci", "docker/Dockerfile.ci:3"),
        ("flash-attn", "==2.7", "docker/Dockerfile.ci", "docker/Dockerfile.ci:7"),
        ("nvshmem", "==3.4.5", "docker/Dockerfile.ci", "docker/Dockerfile.ci:9"),
    ]


def test_each_package_of_a_long_run_line_is_told_at_its_own_line(tmp_path: Path) -> None:
    text = (
        "RUN set -e; \\\n    pip install 'sail[all]==2' rope==1 \\\n        keel==3 && \\\n"
        "    pip install sail==4 \\\n        --extra-index-url https://download.pytorch.org/whl/cu129\n"
    )
    found = [(name, spec, place) for name, spec, _, place in declared(tmp_path, {"Dockerfile": text})]
    assert sorted(found) == [
        ("download.pytorch.org/whl cu", "cu129", "Dockerfile:5"),
        ("keel", "==3", "Dockerfile:3"),
        ("rope", "==1", "Dockerfile:2"),
        ("sail", "==2", "Dockerfile:2"),
        ("sail", "==4", "Dockerfile:4"),
    ]


def test_a_folder_of_the_image_is_no_need(tmp_path: Path) -> None:
    found = read_declarations(read(tmp_path, {"Dockerfile": "RUN pip install -v deep/. other/ fast\n"}))
    assert ([item.name for item in found.items], found.skipped) == (["fast"], ())


def test_an_image_may_have_its_name_among_other_words(tmp_path: Path) -> None:
    text = "unit:\n  image:\n    name: python:3.11\n    entrypoint: ['']\n  script: [env]\nold:\n  image: python:3.10\n"
    found = declared(tmp_path, {".gitlab/stages/test.yml": text})
    assert [(name, spec) for name, spec, *_ in found] == [("image", "python:3.10"), ("image", "python:3.11")]


def test_documents_tell_the_commands_they_show(tmp_path: Path) -> None:
    text = (
        "# Install\n\n```sh\npip3 install --pre torch --index-url "
        "https://download.pytorch.org/whl/nightly/cu126\n```\n\nOr `pip install megatron-core[dev]`.\n<!-- pip "
        "install hidden -->\nYou could pip install things.\n"
    )
    found = read_declarations(read(tmp_path, {"README.md": text, "docs/a.md": "pip install griffe\n"}))
    assert sorted((int(item.rank), item.name, item.spec or item.extras, item.place.line) for item in found.items) == [
        (int(Rank.DOCS), "griffe", "", 1),
        (int(Rank.README), "download.pytorch.org/whl nightly/cu", "nightly/cu126", 4),
        (int(Rank.README), "megatron-core", "dev", 7),
        (int(Rank.README), "torch", "", 4),
    ]


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("requirements.txt", Rank.REQUIREMENTS),
        ("requirements/runtime.txt", Rank.REQUIREMENTS),
        (".ci/docker/requirements-dev.txt", Rank.REQUIREMENTS),
        ("docs/requirements.md", Rank.DOCS),
        ("data/numbers.txt", None),
    ],
)
def test_files_have_a_rank(path: str, rank: Rank | None) -> None:
    assert rank_of(path) is rank
