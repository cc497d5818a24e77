"""Screening by shards: scored against today's kernel where they ran, and the best looked at together here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from layline import codec
from layline.campaign.operators import load_operator
from layline.campaign.operators.find import find_operator
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.proposers.shards import SIZE, Shards, _carry, _compare, screen_shard
from layline.campaign.values.operator import Snapshot
from layline.executors import open_executor
from layline.executors.processor import name_processor


@pytest.mark.parametrize(
    ("looked", "seen"),
    [
        ([(TODAY, 2.0), ("a", 1.5), ("b", None)], [("a", -0.5), ("b", None)]),
        ([(TODAY, None), ("a", 1.5), ("b", None)], [("b", None)]),
        ([("a", 1.5)], []),
    ],
)
def test_a_shard_counts_from_todays_kernel_there(looked: list[Any], seen: list[Any]) -> None:
    answer = {"looked": [codec.encode(Screened(name=name, score=score)) for name, score in looked]}
    assert [(item.name, item.score) for item in _compare(answer)] == seen


def test_what_is_left_behind_stands_on_this_machines_scale() -> None:
    looked = [Screened(name="a", score=-0.5), Screened(name="b", score=0.25), Screened(name="c", score=None)]
    here = [Screened(name=TODAY, score=3.0), Screened(name="a", score=2.9)]
    assert [(item.name, item.score, item.is_out) for item in _carry(looked, here)] == [
        ("b", 3.25, True),
        ("c", None, False),
    ]


@pytest.mark.parametrize("where", ["local:2", pytest.param("auto", marks=pytest.mark.slow)])
def test_every_kernel_is_looked_at_and_every_attempt_noted_before(where: str) -> None:
    if where == "auto":
        pytest.importorskip("ray", reason="Ray is not installed: pip install './layline[ray]'")
    operator = load_operator("gemm")
    naive = dict(operator.starts)["naive"]
    texts = {TODAY: naive, "same": f"{naive}\nint u;\n"} | {f"broken {number}": "int" for number in range(SIZE)}
    notes: list[tuple[str, dict[str, Any]]] = []
    snapshots = {name: Snapshot(files=(("k.c", text),)) for name, text in texts.items()}
    with open_executor(where) as executor:
        shards = Shards(
            executor=executor,
            kind=name_processor(),
            name="gemm",
            sources=(),
            note=lambda kind, data: notes.append((kind, data)),
        )
        looked = {item.name: item for item in shards(operator, operator.shapes[:1], snapshots)}
    assert looked.keys() == texts.keys()
    assert {name for name, item in looked.items() if item.score is not None} == {TODAY, "same"}
    kinds = ["screening", "screening", "screened"]
    assert [kind for kind, _ in notes] in (kinds, [*kinds, "screening", "screened"]), "one more where `same` was faster"
    assert sorted(name for _, data in notes[:2] for name in data["kernels"]) == sorted(texts.keys() - {TODAY})
    assert (notes[2][1]["answered"], notes[2][1]["lost"], notes[2][1]["why"]) == (2, 0, "")


def test_an_operator_of_ones_own_travels_with_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "near.py").write_text("TOLERANCE = 1e-4\n")
    shipped = Path(find_operator.__code__.co_filename).parent / "files" / "swiglu.py"
    text = shipped.read_text()
    (tmp_path / "mine.py").write_text(
        f"import near\n{text}\nassert near.TOLERANCE\n".replace("from __future__ import annotations\n", "")
    )
    found = find_operator("mine.py", tmp_path)
    assert found.file is not None
    sources = [(name, data.decode()) for name, data in found.file.sources]
    assert [name for name, _ in sources] == ["mine.py", "near.py"]
    start = found.operator.starts[0][1]
    job = {
        "operator": "mine.py",
        "kind": name_processor(),
        "sources": [list(source) for source in sources],
        "shapes": [found.operator.shapes[0].label],
        "kernels": {TODAY: [["k.c", start]]},
    }
    (looked,) = screen_shard(job)["looked"]
    assert codec.decode(Screened, looked, where="test").score is not None
