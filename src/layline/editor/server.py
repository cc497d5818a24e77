"""`layline lsp`: findings as one types, what stands behind a patched name, and upstream's text at the pin."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from layline import __version__
from layline.core.bugs import say_bug
from layline.core.environment import explain
from layline.core.evidence import Severity
from layline.core.listing import Diagnostic
from layline.core.prose import count, listed
from layline.editor.patched import Patched, build_diagnostics
from layline.editor.project import EditorProject, open_editor
from layline.errors import Error

_MOST = 4
"""So many backends are named in one message."""
_PAUSE_S = 0.15
"""Who types faster than this is not interrupted."""
_SEVERITIES = {
    Severity.BREAKS: lsp.DiagnosticSeverity.Error,
    Severity.LOOK: lsp.DiagnosticSeverity.Warning,
    Severity.OK: lsp.DiagnosticSeverity.Information,
}


class Server:
    """One project, read and asked by one thread: questions wait until it is read, and are answered in their order."""

    def __init__(self, config: Path | None) -> None:
        self.server = LanguageServer("layline", __version__)
        self._config = config
        self._project: EditorProject | None = None
        self._asker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="layline")
        self._versions: dict[str, int] = {}
        self._warmed: set[str] = set()

    def start(self) -> None:
        self._asker.submit(self.open)

    def open(self) -> None:
        """Read the project; what goes wrong is told once, in the editor."""
        try:
            self._project = open_editor(self._config, self._tell)
        except Error as error:
            self._say(error)
        except Exception as error:  # noqa: BLE001  the boundary: what reaches it is the machine's fault, or our bug
            self._say(explain(error) or Error(say_bug(error)))
        else:
            self._say_problems(self._project)
            self._tell(f"ready: {count(len(self._project.known), 'file')} with patches", 0, 0)

    def _say_problems(self, project: EditorProject) -> None:
        """One message: of several backends the log says why each cannot be compared."""
        if len(project.problems) == 1:
            self._say(project.problems[0][1])
        elif project.problems:
            for key, problem in project.problems:
                self._tell(f"{key}: {_word(problem)}", 0, 0)
            some = f"{len(project.problems)} of {len(project.reading.workspace.settings.backends)} backends cannot be compared"
            keys = listed([key for key, _ in project.problems], most=_MOST)
            self._say(Error(f"{some}: {keys}.", hint="The log of the language server says why."))

    def refresh_soon(self, uri: str) -> None:
        """After a moment without typing."""
        version = self.server.workspace.get_text_document(uri).version or 0
        self._versions[uri] = version
        timer = threading.Timer(_PAUSE_S, lambda: self._asker.submit(self.refresh, uri, version))
        timer.daemon = True
        timer.start()

    def refresh(self, uri: str, version: int) -> None:
        """Publish what is to be said about a file as it stands in the editor, unless it has changed meanwhile."""
        project, path = self._project, self._find_path(uri)
        if project is None or path is None or self._versions[uri] != version:
            return
        source = self.server.workspace.get_text_document(uri).source
        found: list[Diagnostic] = self._guard(lambda: build_diagnostics(project.read(path, source)), [])
        lines = source.splitlines()
        published = lsp.PublishDiagnosticsParams(
            uri=uri, version=version, diagnostics=[_as_diagnostic(one, lines) for one in found]
        )
        self.server.text_document_publish_diagnostics(published)
        if path not in self._warmed:  # whoever edits first does not wait for what every edit needs
            self._warmed.add(path)
            self._asker.submit(self._warm, project.warm(path))
        else:
            self._asker.submit(gc.collect)  # what this edit left behind, before the next one

    def _warm(self, steps: Iterator[None]) -> None:
        """One step; an edit that came meanwhile is answered before the next."""
        if self._guard(lambda: next(steps, steps), steps) is not steps:
            self._asker.submit(self._warm, steps)

    def hover(self, uri: str, position: lsp.Position) -> lsp.Hover | None:
        """What stands behind the name under the cursor."""

        def ask() -> str:
            project, found = self._find(uri, position)
            return "\n\n".join(project.explain(one) for one in found[:4]) if project is not None else ""

        text = self._asker.submit(self._guard, ask, "").result()
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None

    def define(self, uri: str, position: lsp.Position) -> list[lsp.Location]:
        """The target at the pin."""

        def ask() -> list[tuple[Path, int]]:
            project, found = self._find(uri, position)
            places = [project.find_definition(one) for one in found] if project is not None else []
            return list(dict.fromkeys(one for one in places if one is not None))

        found = self._asker.submit(self._guard, ask, []).result()
        return [_as_location(file, line) for file, line in found]

    def _find(self, uri: str, position: lsp.Position) -> tuple[EditorProject | None, list[Patched]]:
        project, path = self._project, self._find_path(uri)
        if project is None or path is None:
            return None, []
        word = self.server.workspace.get_text_document(uri).word_at_position(position)
        return project, project.find_at(path, position.line + 1, word)

    def _find_path(self, uri: str) -> str | None:
        """The file's path inside the downstream; None for files of others."""
        place = to_fs_path(uri)
        if place is None or self._project is None or not place.endswith(".py"):
            return None
        workspace = self._project.reading.workspace
        root = (workspace.root / workspace.settings.project.git).resolve()
        try:
            return Path(place).resolve().relative_to(root).as_posix()
        except ValueError:
            return None

    def _guard(self, ask: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return ask()
        except Error as error:
            self._say(error)
            return otherwise

    def _say(self, error: Error) -> None:
        text = f"Layline: {_word(error)}"
        self.server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, text))

    def _tell(self, what: str, done: int, total: int, at: str = "") -> None:  # noqa: ARG002  the shape of a progress
        self.server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, f"layline: {what}"))


def build_server(config: Path | None = None) -> LanguageServer:
    """A language server over one layline.toml."""
    own = Server(config)
    server = own.server

    @server.feature(lsp.INITIALIZED)
    def initialized(_: lsp.InitializedParams) -> None:
        own.start()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        own.refresh_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        own.refresh_soon(params.text_document.uri)

    @server.thread()
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        return own.hover(params.text_document.uri, params.position)

    @server.thread()
    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def define(params: lsp.DefinitionParams) -> list[lsp.Location]:
        return own.define(params.text_document.uri, params.position)

    return server


def _word(error: Error) -> str:
    return error.message + (f" {error.hint}" if error.hint else "")


def _as_diagnostic(one: Diagnostic, lines: list[str]) -> lsp.Diagnostic:
    number = one.location.line - 1
    text = lines[number] if number < len(lines) else ""
    begin = len(text) - len(text.lstrip())
    details = "".join(f"\n{label}: {said}" for label, said in one.details)
    return lsp.Diagnostic(
        range=lsp.Range(lsp.Position(number, begin), lsp.Position(number, len(text))),
        message=f"{one.message}{details}",
        severity=_SEVERITIES[one.severity],
        code=one.code,
        source="layline",
    )


def _as_location(file: Path, line: int) -> lsp.Location:
    place = lsp.Position(line - 1, 0)
    return lsp.Location(from_fs_path(str(file)) or file.as_uri(), lsp.Range(place, place))
