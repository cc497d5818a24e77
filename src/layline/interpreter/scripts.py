"""What a file does only where it is run as a program."""

from __future__ import annotations

import ast

from layline.source.sites import read_setattr
from layline.source.walking import walk


def find_script_writes(node: ast.If) -> list[ast.stmt]:
    """The writes that stand below `if __name__ == "__main__":` themselves, and the imports they may need; what is called
    there is read as the function it is.
    """
    match node.test:
        case ast.Compare(
            left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
        ) if not node.orelse:
            return [statement for statement in node.body if _is_plain(statement)]
    return []


def _is_plain(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Call() as call):
            return bool(read_setattr(call))
        case ast.Assign() | ast.AugAssign() | ast.Delete():
            targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
            writes = all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
            return writes and not any(isinstance(part, ast.Call) for part in walk(node))
    return False
