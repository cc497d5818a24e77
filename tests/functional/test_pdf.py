from __future__ import annotations

import io
from pathlib import Path

import pypdf
import pytest

from commands import layline
from record_samples import write
from sites import SETTINGS


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "layline.toml", SETTINGS)
    write(tmp_path / "docs/a.md", "# A report\n\nwords\n")
    return tmp_path


def test_header_names_the_project_of_the_settings(project: Path) -> None:
    done = layline("pdf", "docs/a.md", "-o", "out/a.pdf", "--date", "2026-05-08", "--commit", "d3528a21", cwd=project)
    assert (done.code, done.err) == (0, "")
    text = pypdf.PdfReader(io.BytesIO((project / "out/a.pdf").read_bytes())).pages[0].extract_text()
    assert "Harbor · d3528a21" in text
    assert "2026-05-08" in text


def test_mistakes_get_one_sentence(project: Path) -> None:
    write(project / "notes.txt", "precious")
    (project / "link.pdf").symlink_to(project / "notes.txt")
    write(project / "bytes.md", b"\xff\xfe")
    for arguments, reason in [
        (("docs/a.md", "-o", "notes.txt"), "exists and is not a PDF"),
        (("docs/a.md", "-o", "link.pdf"), "not a plain file"),
        (("docs/gone.md", "-o", "a.pdf"), "cannot be read"),
        (("bytes.md", "-o", "a.pdf"), "is not UTF-8"),
        (("docs/a.md", "-o", "a.pdf", "--style", "docs/a.md"), "needs the weasyprint engine"),
    ]:
        done = layline("pdf", *arguments, cwd=project)
        assert done.code == 2, arguments
        assert reason in done.err
        assert "Traceback" not in done.err
    assert (project / "notes.txt").read_text() == "precious"
    assert not (project / "a.pdf").exists()
