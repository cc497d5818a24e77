from __future__ import annotations

import importlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdf
import pytest

from layline.core.environment import install
from layline.errors import ConfigError, Error
from layline.render.pdf import ENGINES, Engine, TooLong, print_pdf, print_somehow, render_pdf
from layline.render.sheet import Sheet
from layline.render.typst import quote
from printed import find_outside, find_overlaps, read_words

ROW_COUNT = 48  # more than a page holds
ROWS = "".join(
    f"| row {number} with some words in it | `path/to/a_long_file_name_{number}.py` | {number} |\n"
    for number in range(ROW_COUNT)
)
LONG = (
    "# The <b>title</b>\n\nSee [the commit](https://example.org/commit/1).\n\n## Table\n\n| name | path | n |\n"
    f"|---|---|--:|\n{ROWS}"
)
A4_WIDTH, MARGIN = 595.3, 56.7
SHEET = Sheet(project="Harbor", commit="Engine d3528a21", date="2026-05-08")


def read(data: bytes) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(data))


@dataclass(frozen=True)
class Made:
    """The long document, printed and read once by each engine."""

    reader: pypdf.PdfReader
    pages: list[str]


@pytest.fixture(scope="module", params=ENGINES)
def made(request: pytest.FixtureRequest) -> Made:
    reader = read(render_pdf(LONG, SHEET, Engine(name=request.param)))
    return Made(reader, [page.extract_text() for page in reader.pages])


def test_pages_carry_header_numbers_and_the_table_head(made: Made) -> None:
    assert len(made.pages) > 1
    for number, text in enumerate(made.pages, 1):
        assert "Harbor · Engine d3528a21" in text
        assert "2026-05-08" in text
        assert f"{number} / {len(made.pages)}" in text
        assert re.search(r"\bname\s+path\s+n\b", text)


def test_title_stands_once_and_html_is_text(made: Made) -> None:
    assert "".join(made.pages).count("The <b>title</b>") == 1
    assert str(dict(made.reader.metadata or {}).get("/Title")) == "The <b>title</b>"


def test_no_row_is_split(made: Made) -> None:
    for number in range(ROW_COUNT):
        assert any(
            f"row {number} with some words in it" in text.replace("\n", " ")
            and f"file_name_{number}" in text.replace("\n", "")
            for text in made.pages
        )


def test_pdf_is_tagged_with_live_links_and_embedded_fonts(made: Made) -> None:
    reader = made.reader
    root: Any = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"] == True  # noqa: E712  pypdf's own boolean
    assert "/StructTreeRoot" in root
    links = [
        note.get_object()["/A"]["/URI"]
        for page in reader.pages
        for note in page.get("/Annots", [])
        if "/A" in note.get_object()
    ]
    assert "https://example.org/commit/1" in links
    fonts = [font.get_object() for page in reader.pages for font in page["/Resources"]["/Font"].values()]  # type: ignore[index]
    assert fonts
    for font in fonts:
        inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        assert any(key.startswith("/FontFile") for key in inner["/FontDescriptor"].get_object())


@pytest.mark.parametrize("engine", ENGINES)
def test_same_input_same_bytes(engine: str) -> None:
    short = LONG[:1_000]
    assert render_pdf(short, SHEET, Engine(name=engine)) == render_pdf(short, SHEET, Engine(name=engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_summary_is_exactly_one_page(engine: str) -> None:
    body = "# Summary\n\n" + "".join(f"- point {number}\n" for number in range({"typst": 60, "weasyprint": 50}[engine]))
    one = Sheet(project="Harbor", date="2026-05-08", one_page=True)
    assert len(read(render_pdf(body, Sheet(project="Harbor"), Engine(name=engine))).pages) > 1
    assert len(read(render_pdf(body, one, Engine(name=engine))).pages) == 1
    long = print_somehow(body * 2, one, Engine(name=engine))
    assert long.overlong
    assert len(read(long.data).pages) > 1
    if engine == ENGINES[0]:  # who raises it is no engine
        with pytest.raises(TooLong, match="does not fit on one page"):
            render_pdf(body * 2, one, Engine(name=engine))


ATTACKS = [
    '#read("/etc/passwd")',
    '#image("/etc/passwd")',
    '#include "/etc/passwd"',
    '") #read("/etc/passwd") #("',
    '\\") #panic("x")',
    '`#raw(read("/etc/passwd"))`',
    "![x](/etc/passwd)",
    "![x](file:///etc/passwd)",
    '<img src="file:///etc/passwd">',
    '<link rel="attachment" href="file:///etc/passwd">',
    '<object data="file:///etc/passwd">',
    '<style>@import url("file:///etc/passwd")</style>',
    "[x](file:///etc/passwd)",
    "$sum$ #[x] @label <label> /* c */ // d",
    '```typst\n#read("/etc/passwd")\n```',
    '| a |\n|---|\n| #read("/etc/passwd") |',
    '# #read("/etc/passwd")\n',
]


def test_nothing_of_a_summary_is_smaller_than_nine_points() -> None:
    """Paths too, in the face of code; the header above the page is no part of it."""
    pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed")
    text = "# A\n\n" + "Words and `src/a/path.py:12`, again.\n\n" * 30
    page = pdfium.PdfDocument(render_pdf(text, Sheet(project="H", date="2026-05-08", one_page=True)))[0].get_textpage()
    sizes = [pdfium.raw.FPDFText_GetFontSize(page.raw, index) for index in range(page.count_chars())]
    at = page.get_text_range().index("src/a/path.py")
    assert min(sizes[at : at + 13]) >= 9


@pytest.mark.parametrize("engine", ENGINES)
def test_a_document_reads_nothing_and_is_shown_as_it_is(engine: str) -> None:
    """Each attack between words of its own, which stay: none has swallowed what follows it."""
    document = "".join(f"before{number}\n\n{attack}\n\nafter{number}\n\n" for number, attack in enumerate(ATTACKS))
    data = render_pdf(document, SHEET, Engine(name=engine))
    reader = read(data)
    text = "".join(page.extract_text() for page in reader.pages)
    assert "root:" not in text
    for number, attack in enumerate(ATTACKS):
        assert f"before{number}" in text, attack
        assert f"after{number}" in text, attack
    assert not reader.attachments
    assert b"/EmbeddedFile" not in data


@pytest.mark.parametrize("text", ['a"b', "a\\", '\\"', "x\ny", "\x00", '"); read("/etc/passwd")'])
def test_quoted_text_is_one_string_literal(text: str) -> None:
    inner = quote(text)[1:-1]
    assert re.fullmatch(r'(?:[^"\\\n]|\\["\\])*', inner)


def test_own_stylesheet_may_not_fetch_and_needs_its_engine() -> None:
    with pytest.raises(ConfigError, match="names a file"):
        render_pdf("x", SHEET, Engine(name="weasyprint", style="@import 'x.css';"))
    with pytest.raises(ConfigError, match="weasyprint"):
        render_pdf("x", SHEET, Engine(style="p { color: red }"))
    assert render_pdf("x", SHEET, Engine(name="weasyprint", style="p { color: red }")).startswith(b"%PDF-")


def test_charts_are_vectors() -> None:
    chart = "# T\n\n```csv chart=trend title=Behind\nseries,x,y\na,2026-01-01,1\na,2026-02-01,5\n```\n"
    reader = read(render_pdf(chart, SHEET))
    assert not list(reader.pages[0].images)
    assert "Behind" in reader.pages[0].extract_text()


def test_unwritable_places_are_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("root:")
    data = render_pdf('#read("secret.txt") ![x](secret.txt)', SHEET)
    assert 'read("secret.txt")' in read(data).pages[0].extract_text()


def make_font(folder: Path, character: str) -> Path:
    """A font with one glyph: enough to set that character."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    pen = TTGlyphPen(None)
    for step, point in enumerate([(0, 0), (0, 700), (700, 700), (700, 0)]):
        (pen.lineTo if step else pen.moveTo)(point)
    pen.closePath()
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", "square"])
    font.setupCharacterMap({ord(character): "square"})
    font.setupGlyf({".notdef": pen.glyph(), "square": pen.glyph()})
    font.setupHorizontalMetrics({".notdef": (800, 0), "square": (800, 0)})
    font.setupHorizontalHeader(ascent=800, descent=-200)
    names = ("familyName", "fullName", "psName", "uniqueFontIdentifier")
    font.setupNameTable({"styleName": "Regular", **dict.fromkeys(names, "Square")})
    font.setupOS2()
    font.setupPost()
    folder.mkdir(exist_ok=True)
    font.save(folder / "square.ttf")
    return folder


def test_a_script_without_a_font_is_told_and_set_with_one(tmp_path: Path) -> None:
    bare = print_pdf("# 标 report\n\nwords 标 words\n", SHEET)
    assert bare.replaced == ("标",)
    assert "1 character has no glyph" in (bare.note or "")
    assert "words □ words" in read(bare.data).pages[0].extract_text()
    made = print_pdf("# 标\n\nwords\n", SHEET, Engine(fonts=make_font(tmp_path / "fonts", "标")))
    assert made.replaced == ()
    assert "标" in read(made.data).pages[0].extract_text()


def test_emoji_are_named() -> None:
    made = print_pdf("# Ready 🚀\n\n✅ done, 👩‍💻 works ⚠️\n\n| 🚀 |\n|---|\n| `🚀` |\n", SHEET)
    text = read(made.data).pages[0].extract_text()
    assert "Ready [rocket]" in text
    assert "[white heavy check mark] done" in text
    assert "🚀" in made.replaced


def test_a_stylesheet_the_engine_cannot_bear_is_no_bug_of_ours() -> None:
    with pytest.raises(Error, match="WeasyPrint fails on 'T' with AssertionError") as refused:
        render_pdf("# T\n\nwords\n", SHEET, Engine(name="weasyprint", style="* { display: inline }"))
    assert "stylesheet" in (refused.value.hint or "")


NAMES = "harbor.backends.keel.patches.core.parallel_state.initialize_model_parallel_with_everything"
WIDE = {
    "names beside short words": f"| state | ours | upstream |\n|---|---|---|\n| removed | `{NAMES}` | {NAMES} |\n",
    "many columns": "|" + "requirement|" * 11 + "\n" + "|---" * 11 + "|\n" + "|" + "any version of it|" * 11 + "\n",
    "more columns than fit": "|" + "requirement|" * 24 + "\n" + "|---" * 24 + "|\n" + "|" + "unchanged|" * 24 + "\n",
    "one endless word": f"| a | b |\n|---|---|\n| {'x' * 300} | {'W' * 200} |\n",
    "code and text": f"| package | scope | change |\n|---|---|---|\n| `soundcheck` | extra dev | **{NAMES}** moved |\n",
    "no table": f"# {NAMES}{NAMES}\n\n{'y' * 400}\n\n- `{'z' * 300}`\n\n```\n{'line of code; ' * 40}\n```\n",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WIDE)
def test_no_word_is_printed_over_another_or_off_the_page(engine: str, name: str) -> None:
    words = read_words(render_pdf(WIDE[name], Sheet(title="T"), Engine(name=engine)))
    assert words
    assert find_overlaps(words) == []
    assert find_outside(words, MARGIN, A4_WIDTH - MARGIN) == []


@pytest.mark.parametrize("name", ENGINES[1:])
def test_another_engine_is_a_module_of_its_name(name: str) -> None:
    assert callable(getattr(importlib.import_module(f"layline.render.{name}"), f"render_{name}"))
    assert name in install(name)
