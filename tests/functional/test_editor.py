"""`layline lsp`, driven by pygls' own client over stdio: open, edit, diagnostics, hover, definition."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pytest

from commands import _SOURCE
from late import Late
from layline.editor.patched import build_diagnostics
from layline.editor.project import EditorProject, open_editor
from layline.sample import write_sample
from upgrading import CONFIG, Files, make_project

if TYPE_CHECKING:
    from lsprotocol import types as lsp
    from pygls.lsp import client as pygls
else:
    lsp, pygls = Late("lsprotocol.types"), Late("pygls.lsp.client")

pytestmark = pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed")
_HANGS_S = 300
PATCH = "harbor/backends/keel/patches/core/parallel_patches.py"
CHECKPOINT = "harbor/backends/keel/checkpoint.py"


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("editor") / "demo"
    write_sample(root)
    return root / "harbor"


class Editor:
    """A client with one document open at a time."""

    def __init__(self, harbor: Path) -> None:
        self.client = pygls.LanguageClient("test", "1")
        self.harbor = harbor
        self.told: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def hear(told: lsp.PublishDiagnosticsParams) -> None:
            self.told.put_nowait(told)

        self.client.feature(lsp.WINDOW_LOG_MESSAGE)(lambda _: None)
        self.shown: list[str] = []
        self.client.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda said: self.shown.append(said.message))
        self.version = 0

    async def begin(self) -> None:
        env = {**os.environ, "PYTHONPATH": _SOURCE}
        await self.client.start_io(sys.executable, "-m", "layline", "lsp", cwd=str(self.harbor), env=env)
        params = lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=self.harbor.as_uri())
        await self.client.initialize_async(params)
        self.client.initialized(lsp.InitializedParams())

    def uri(self, path: str) -> str:
        return (self.harbor / path).as_uri()

    async def open(self, path: str) -> lsp.PublishDiagnosticsParams:
        self.version += 1
        text = (self.harbor / path).read_text()
        item = lsp.TextDocumentItem(self.uri(path), "python", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.hear()

    async def edit(self, path: str, text: str) -> lsp.PublishDiagnosticsParams:
        self.version += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self.version, self.uri(path)),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return await self.hear()

    async def hear(self) -> lsp.PublishDiagnosticsParams:
        """The next diagnostics of the version that the editor shows."""
        while True:
            told = await asyncio.wait_for(self.told.get(), _HANGS_S)
            if told.version == self.version:
                return told

    async def end(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()


Story = Callable[[Editor], Coroutine[Any, Any, None]]


@contextmanager
def _serve(harbor: Path) -> Iterator[Callable[[Story], None]]:
    """A server and its client, in a thread of their own: another test's event loop may be running in this one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def begin() -> Editor:
        editor = Editor(harbor)
        await editor.begin()
        return editor

    editor = run(begin())
    try:
        yield lambda story: run(story(editor))
    finally:
        run(editor.end())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def drive(harbor: Path) -> Iterator[Callable[[Story], None]]:
    """One server for all; the first test finds it fresh."""
    with _serve(harbor) as run:
        yield run


def _lines(told: lsp.PublishDiagnosticsParams) -> list[tuple[int, str | int | None]]:
    return [(one.range.start.line + 1, one.code) for one in told.diagnostics]


async def _time_edit(editor: Editor, text: str, number: int) -> float:
    begun = time.monotonic()
    await editor.edit(PATCH, text.replace("get_word_size", f"get_word_size{number}"))
    return time.monotonic() - begun


def test_a_dead_patch_is_shown_moves_with_its_line_and_goes_when_it_is_mended(
    harbor: Path, drive: Callable[[Story], None]
) -> None:
    """By a server that has just begun: after an edit its answer comes sooner than the first. Processor time of this
    process is no measure of the server's; the ratio to opening is one."""
    text = (harbor / PATCH).read_text()

    async def story(editor: Editor) -> None:
        begun = time.monotonic()
        told = await editor.open(PATCH)
        opened = time.monotonic() - begun
        assert _lines(told) == [(15, "dead-at-pin")]
        assert told.diagnostics[0].severity == lsp.DiagnosticSeverity.Warning
        assert "Did you mean keel.core.parallel_state.get_world_size?" in told.diagnostics[0].message
        assert min([await _time_edit(editor, text, number) for number in range(3)]) < opened
        assert _lines(await editor.edit(PATCH, "# a line above\n" + text)) == [(16, "dead-at-pin")]
        assert _lines(await editor.edit(PATCH, text.replace("\n\n\n", "\nimport os\n\n\n", 1))) == [(16, "dead-at-pin")]
        assert _lines(await editor.edit(PATCH, text.replace("get_word_size", "get_world_size"))) == []
        assert _lines(await editor.edit(PATCH, text.replace("get_word_size", "get_wrold_size"))) == [
            (15, "dead-at-pin")
        ]

    drive(story)


def test_what_breaks_at_the_tip_is_an_error_until_our_replacement_takes_it(
    harbor: Path, drive: Callable[[Story], None]
) -> None:
    text = (harbor / CHECKPOINT).read_text()

    async def story(editor: Editor) -> None:
        told = await editor.open(CHECKPOINT)
        assert {one.severity for one in told.diagnostics} == {lsp.DiagnosticSeverity.Error}
        assert _lines(told) == [(20, "signature-changed"), (21, "signature-changed")]
        assert _lines(await editor.edit(CHECKPOINT, text + "\n\nbroken = (\n")) is not None, (
            "half a sentence is no crash"
        )

    drive(story)


def test_hover_tells_the_guard_of_a_registered_patch(drive: Callable[[Story], None]) -> None:
    async def story(editor: Editor) -> None:
        await editor.open(PATCH)
        asked = lsp.HoverParams(lsp.TextDocumentIdentifier(editor.uri(PATCH)), lsp.Position(14, 22))
        hover = await editor.client.text_document_hover_async(asked)
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert "- when: `crew_size > 1`" in hover.contents.value, hover.contents.value

    drive(story)


def test_hover_says_what_replaces_a_name_and_definition_leads_to_the_pin(drive: Callable[[Story], None]) -> None:
    async def story(editor: Editor) -> None:
        await editor.open(CHECKPOINT)
        document, place = lsp.TextDocumentIdentifier(editor.uri(CHECKPOINT)), lsp.Position(19, 10)
        hover = await editor.client.text_document_hover_async(lsp.HoverParams(document, place))
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        text = hover.contents.value
        assert "wraps keel.training.checkpointing.save_checkpoint (Keel)" in text
        assert "error[signature-changed]" in text
        assert "since 2da0785437fa (2026-05-12): feat(training): Keep only the last checkpoints (#88)" in text
        found = await editor.client.text_document_definition_async(lsp.DefinitionParams(document, place))
        assert isinstance(found, list)
        target = found[0]
        assert isinstance(target, lsp.Location)
        file = Path(unquote(urlparse(target.uri).path))
        assert "def save_checkpoint" in file.read_text().splitlines()[target.range.start.line]
        assert not file.stat().st_mode & stat.S_IWUSR, "a copy of upstream's text is not to be edited"

    drive(story)


def test_backends_that_cannot_be_compared_are_one_message(tmp_path: Path) -> None:
    write_sample(tmp_path / "demo")
    harbor = tmp_path / "demo/harbor"
    with (harbor / "layline.toml").open("a") as settings:
        settings.writelines(
            f'\n[backends.{key}]\npin = {{ revision = "v1" }}\npackages = ["{key}"]\n' for key in ("mast", "oar")
        )
    with _serve(harbor) as run:

        async def story(editor: Editor) -> None:
            await editor.open(PATCH)
            (said,) = editor.shown
            assert said == (
                "Layline: 2 of 5 backends cannot be compared: mast and oar. The log of the language server says why."
            )

        run(story)


STRAYS = """\
import keel.a
import other.x


def mine(x):
    return x


def go(model, old):
    other.x.run = mine
    model.forward = mine
    if old:
        return
    if old:
        keel.a.run = mine
"""


def test_what_no_upstream_is_compared_for_is_told_too(tmp_path: Path) -> None:
    """An editor showed nothing of a project whose patches are all on other packages or on single objects."""
    files: Files = {"own/late.py": STRAYS, "own/__init__.py": "from own.late import go\n"}
    project = make_project(tmp_path, [("Begin", {"keel/a.py": "def run(x):\n    return x\n"})], files)
    home = project.downstream.path
    (home / "layline.toml").write_text(CONFIG.replace('git = "down"\n', "").replace('"up"', '"../up"'))
    editor = open_editor(home / "layline.toml")
    for text in (STRAYS, STRAYS.replace("return x", "return 2 * x"), f"import os\n{STRAYS}"):
        at = len(text.splitlines()) - len(STRAYS.splitlines())
        found = editor.read("own/late.py", text)
        assert [(one.location.line, one.code) for one in build_diagnostics(found)] == [(15 + at, "never-active")]
        told = {one.effect.location.line - at: editor.explain(one) for one in found}
        assert "- not compared: the target is in a package that is not this upstream" in told[10]
        assert "- not compared: the target cannot be named without running the code" in told[11]
        assert "- never runs: conditions above this line make it unreachable" in told[15]


def test_a_second_file_is_not_read_anew_while_the_first_is_as_it_was(
    harbor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file that stood open in the editor had the next one read with all that it imports."""
    project = open_editor(harbor / "layline.toml")
    project.read(PATCH, (harbor / PATCH).read_text())
    text = (harbor / CHECKPOINT).read_text()
    with monkeypatch.context() as patched:
        patched.setattr(EditorProject, "_read_anew", lambda *_: pytest.fail("read anew"))
        assert project.read(CHECKPOINT, text)
    project.read(PATCH, f"import os\n{(harbor / PATCH).read_text()}")
    asked: list[str] = []

    def note(_: EditorProject, path: str, __: object) -> list[object]:
        asked.append(path)
        return []

    monkeypatch.setattr(EditorProject, "_read_anew", note)
    project.read(CHECKPOINT, text)
    assert asked == [CHECKPOINT]
