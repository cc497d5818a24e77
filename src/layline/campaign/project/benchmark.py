"""A project's own benchmark: which function measures, on which shapes, and what it says. Read, not run."""

from __future__ import annotations

import ast
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from layline.campaign.project.evaluate import Called, Reader
from layline.campaign.project.expressions import Read
from layline.campaign.project.inside import Errors, Evenness, find_errors, find_evenness
from layline.campaign.values.bench_csv import GEMM_HEADER
from layline.yaml_text import NotYaml, compose_yaml, load_yaml

MOST_SHAPES = 400
MOST_TESTS = 12
ERRORS = tuple(name for name in GEMM_HEADER if name.endswith("_snr"))
PRODUCT = ("M", "N", "K")
_SHOWN = (
    "Forward TFLOPS",
    "Backward TFLOPS",
    "Forward GB/s",
    "Backward GB/s",
    "Forward Time (ms)",
    "Backward Time (ms)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What a benchmark does when it is called with these options."""

    path: str
    options: tuple[str, ...]
    function: str
    """Measures one shape."""
    line: int
    """Where that is called."""
    axes: tuple[str, ...]
    shapes: tuple[Mapping[str, Any], ...]
    results: tuple[str, ...]
    """Names of what the function returns, in order."""
    columns: Mapping[str, str]
    """Columns that the benchmark writes, by which of the results."""
    check: str | None
    """The expression that becomes `Check`."""
    ran: tuple[ast.AST, ...] = ()
    """What is run of the function that measures, with these options."""
    undecided: tuple[str, ...] = ()
    """Tests that only a run decides and that change the shapes, each with its file and line."""
    errors: Errors | None = None
    evenness: Evenness | None = None
    device: str | None = None
    """The name that the machine's device is taken to have."""
    others: tuple[str, ...] = ()
    """Names of devices of that architecture for which it measures other shapes."""

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One row of a suite: a command, and where it stands."""

    text: str
    where: str


def read_benchmark(path: str, command: str, read: Read, devices: Sequence[str] = ()) -> Benchmark | None:
    """Follow the benchmark as this command would start it on the first device; None where nothing of it takes sizes and
    measures.
    """
    text = read(path)
    words = tuple(shlex.split(command.split(path.rsplit("/", 1)[-1], 1)[-1]))
    try:
        tree = ast.parse(text or "")
    except SyntaxError:
        return None
    options = read_options(tree, words)
    readers = [Reader(path, read, options, device=device) for device in devices or (None,)]
    for one in readers:
        one.follow()
    reader = readers[0]
    if not reader.called or not _has_start(tree):
        return None
    name, _count = Counter(one.function.node.name for one in reader.called).most_common(1)[0]
    called = [one for one in reader.called if one.function.node.name == name]
    results = find_results(tree, called[0].node)
    if not results:
        return None
    columns, check = find_columns(tree, results)
    shapes = tuple(describe_shapes(called))
    axes = tuple(key for key in shapes[0] if key != "label")
    ran = tuple(reader.ran.get(called[0].function.node, ()))
    return Benchmark(
        path=path,
        options=words,
        function=name,
        line=called[0].node.lineno,
        axes=axes,
        shapes=shapes[:MOST_SHAPES],
        results=results,
        columns=columns,
        check=check,
        ran=ran,
        undecided=tuple(_find_undecided(reader, read, options)),
        errors=find_errors(tree, ran, ERRORS),
        evenness=find_evenness(ran, set(axes) - set(PRODUCT)) if set(PRODUCT) <= set(axes) else None,
        device=devices[0] if devices else None,
        others=tuple(
            device for device, one in zip(devices, readers, strict=False) if _list_given(one) != _list_given(reader)
        ),
    )


def _has_start(tree: ast.Module) -> bool:
    """Whether importing it measures nothing: what is run only when it is started stands by itself."""
    tests = (node.test for node in tree.body if isinstance(node, ast.If))
    return any(isinstance(one, ast.Name) and one.id == "__name__" for test in tests for one in ast.walk(test))


def _find_undecided(reader: Reader, read: Read, options: dict[str, Any]) -> Iterator[str]:
    """The program is followed once more for each: where a test that holds gives other calls, the shapes hang on it."""
    for test in list(dict.fromkeys(reader.undecided))[:MOST_TESTS]:
        other = Reader(reader.main.path, read, options, test, reader.device)
        other.follow()
        if _list_given(other) != _list_given(reader):
            yield f"`{test.text}` ({test.path}:{test.line})"


def _list_given(reader: Reader) -> list[dict[str, Any]]:
    return [one.given for one in reader.called]


def describe_shapes(called: list[Called]) -> Iterator[dict[str, Any]]:
    """Each distinct set of sizes once, with a label that says those that vary."""
    kept = (int, bool, str)
    known = [{key: value for key, value in one.given.items() if isinstance(value, kept)} for one in called]
    vary = [key for key in known[0] if len({str(row.get(key)) for row in known}) > 1]
    sizes = [key for key in known[0] if key in vary or (isinstance(known[0][key], int) and key[0].isupper())]
    seen = set()
    for row in known:
        if not row.keys() >= set(sizes):
            continue
        label = "-".join(_say(key, row[key]) for key in sizes)
        if label not in seen:
            seen.add(label)
            yield {"label": label, **{key: row[key] for key in sizes}}


def _say(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key if value else f"no_{key}"
    return f"{key}{value}"


def read_options(tree: ast.Module, words: tuple[str, ...]) -> dict[str, Any]:
    """Every option that the program declares: as the command gives it, or its default."""
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[*names], keywords=keywords):
                flags = [one.value for one in names if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                given = {word.arg: word.value for word in keywords}
                if flags:
                    found |= _read_option(flags, given, words)
    return found


def _read_option(flags: list[str], given: dict[str | None, ast.expr], words: tuple[str, ...]) -> dict[str, Any]:
    long = next((one for one in flags if one.startswith("--")), flags[0])
    name = _literal(given.get("dest")) or long.lstrip("-").replace("-", "_")
    at = next((index for index, word in enumerate(words) if word in flags), None)
    if _literal(given.get("action")) in ("store_true", "store_false"):
        is_set = _literal(given["action"]) == "store_true"
        return {name: is_set if at is not None else not is_set}
    value = words[at + 1] if at is not None and at + 1 < len(words) else _literal(given.get("default"))
    match given.get("type"):
        case ast.Name(id="int") if isinstance(value, str) and value.lstrip("-").isdigit():
            value = int(value)
    return {name: value}


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None


def find_results(tree: ast.Module, call: ast.Call) -> tuple[str, ...]:
    """The names that a call's answer is taken apart into."""
    place = (call.lineno, call.col_offset)
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Call() as value) if (
                value.lineno,
                value.col_offset,
            ) == place:
                return tuple(one.id if isinstance(one, ast.Name) else "_" for one in parts)
    return ()


def find_columns(tree: ast.Module, results: tuple[str, ...]) -> tuple[dict[str, str], str | None]:
    """Columns of the rows that the benchmark writes, each by the one result it is made of; and its `Check`."""
    columns: dict[str, str] = {}
    check = None
    for key, value in _find_cells(tree):
        used = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        if key == "Check" and used and used <= set(results):
            check = check or ast.unparse(value)
        elif key in _SHOWN and len(used) == 1 and used <= set(results):
            columns.setdefault(key, next(iter(used)))
    return columns, check


def _find_cells(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value


def find_tasks(path: str, text: str, files: list[str]) -> Iterator[Task]:
    """Commands of a suite: rows with a script of this tree, its arguments and its environment."""
    try:
        plain, node = load_yaml(text), compose_yaml(text)
    except NotYaml:
        return
    if not isinstance(plain, dict):
        return
    for key, value in zip(plain.values(), node.value, strict=True):
        if not isinstance(key, list):
            continue
        for row, place in zip(key, value[1].value, strict=True):
            if isinstance(row, dict) and isinstance(row.get("script"), str):
                yield from _read_task(row, f"{path}:{place.start_mark.line + 1}", files)


def _read_task(row: dict[str, Any], where: str, files: list[str]) -> Iterator[Task]:
    folder = where.rpartition("/")[0]
    beside = f"{folder}/{row['script']}"
    script = beside if beside in files else next((one for one in files if one.endswith(f"/{row['script']}")), None)
    if script is None:
        return
    environment = row.get("env") if isinstance(row.get("env"), dict) else {}
    words = [f"{name}={shlex.quote(str(value))}" for name, value in (environment or {}).items()]
    arguments = row.get("args") if isinstance(row.get("args"), list) else []
    yield Task(
        text=" ".join([*words, "python", script, *(shlex.quote(str(one)) for one in arguments or [])]), where=where
    )
