"""The same trick renamed, restructured or compiled differently: what a rule about the text would lose sight of."""

from __future__ import annotations

import ast
import base64
import hashlib
import marshal
import re
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from layline.campaign.values.operator import Operator, Snapshot

DISGUISES = ("renamed", "restructured", "compiled")
_WORD = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|<[\w/.]+\.h>|#pragma[^\n]*|\d[\w.]*|[A-Za-z_]\w*')
_KEPT = re.compile(
    r"__\w+|_mm\w*|forward|backward|include|define|pragma|GCC|optimize|O3|constructor|vector_size|aligned|may_alias|unused|omp|parallel|for|ll|ul|ull|[fxul]|defined|rw|v|rdtsc|memory|r|a|volatile|asm"
)
_KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "_Bool",
        "_Atomic",
        "_Alignas",
        "_Float16",
        "__int128",
        "NULL",
    ]
)


def disguise(text: str, operator: Operator, change: str) -> Snapshot:
    """The kernel's files, with `change` applied; none for the empty one."""
    if operator.language == "python":
        return Snapshot(files=(("kernel.py", _PYTHON[change](text)),))
    header = "softmax.h" if operator.name == "softmax" else "base.h"
    base = (Path(__file__).parent / header).read_text("utf-8")
    match change:
        case "renamed":
            text, base = _rename(text, base)
        case "restructured":  # the kernel in a unit of its own, called through a table of functions
            for step in operator.passes:
                text = re.sub(rf"\bint {step.symbol}\(", f"int inner_{step.symbol}(", text)
                base = re.sub(rf"\bint {step.symbol}\(", f"int inner_{step.symbol}(", base)
            return Snapshot(files=(("inner.c", text), (header, base), ("kernel.c", _write_caller(operator))))
        case "compiled":
            text = f'#pragma GCC optimize("O3,unroll-loops")\n{text}'
    return Snapshot(files=(("kernel.c", text), (header, base)))


def _rename(text: str, base: str) -> tuple[str, str]:
    """Every name that is the kernel's own, in both files; comments go."""
    text, base = (re.sub(r"/\*.*?\*/", "", one, flags=re.DOTALL) for one in (text, base))
    known = _KEYWORDS | _find_system_names(tuple(sorted(re.findall(r"#include <[^>]+>", text + base))))

    def change(found: re.Match[str]) -> str:
        word = found[0]
        if not (word[0].isalpha() or word[0] == "_") or word in known or _KEPT.fullmatch(word):
            return word
        return f"n{hashlib.sha256(word.encode()).hexdigest()[:7]}"

    return _WORD.sub(change, text), _WORD.sub(change, base)


@lru_cache
def _find_system_names(includes: tuple[str, ...]) -> frozenset[str]:
    """Every word the included system headers know."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.c"
        source.write_text("#define _GNU_SOURCE\n" + "\n".join(includes))
        done = subprocess.run(
            ("cc", "-E", "-dD", "-march=native", "-fopenmp", str(source)), capture_output=True, text=True, check=True
        )
    pasted = re.findall(r"Elf64_(\w+)", done.stdout)  # ElfW() puts these together
    return frozenset((*re.findall(r"[A-Za-z_]\w*", done.stdout), *pasted))


def _write_caller(operator: Operator) -> str:
    lines = ["#include <stdint.h>"]
    for step in operator.passes:
        kinds = ["void *"] * len(step.buffers) + ["int64_t"] * len(operator.shapes[0].sizes)
        named = ", ".join(f"{kind} p{at}" for at, kind in enumerate(kinds))
        passed = ", ".join(f"p{at}" for at in range(len(kinds)))
        lines += [
            f"int inner_{step.symbol}({', '.join(kinds)});",
            (
                f"static int (*volatile {step.symbol}_table[2])({', '.join(kinds)}) = {{inner_{step.symbol}, "
                f"inner_{step.symbol}}};"
            ),
            f"int {step.symbol}({named}) {{ return {step.symbol}_table[p{len(kinds) - 1} & 1]({passed}); }}",
        ]
    return "\n".join(lines) + "\n"


class _Renamer(ast.NodeTransformer):
    def __init__(self, own: frozenset[str]) -> None:
        self._own = own

    def _new(self, name: str) -> str:
        return f"n{hashlib.sha256(name.encode()).hexdigest()[:7]}" if name in self._own else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id=self._new(node.id), ctx=node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(arg=self._new(node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._new(node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._new(node.name)
        return self.generic_visit(node)


def _rename_python(text: str) -> str:
    tree = ast.parse(text)
    inside_classes = {
        part.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.FunctionDef)
    }
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    own -= {"forward", *inside_classes, *(alias.asname or alias.name for node in imports for alias in node.names)}
    return ast.unparse(ast.fix_missing_locations(_Renamer(frozenset(own)).visit(tree)))


def _hide_python(text: str) -> str:
    """The source in another form, run in a namespace of its own, the entry reached through a table."""
    coded = base64.b85encode(text.encode()).decode()
    return (
        "import base64\n_space = {'__name__': 'kernel'}\n"
        f"exec(base64.b85decode({coded!r}).decode(), _space)\n_table = {{0: _space['forward']}}\n"
        "def forward(*given):\n    return _table[len(given) * 0](*given)\n"
    )


def _compile_python(text: str) -> str:
    coded = base64.b85encode(marshal.dumps(compile(text, "k", "exec", optimize=2))).decode()
    return f"import base64, marshal\nexec(marshal.loads(base64.b85decode({coded!r})))\n"


_PYTHON: dict[str, Callable[[str], str]] = {
    "": str,
    "renamed": _rename_python,
    "restructured": _hide_python,
    "compiled": _compile_python,
}
