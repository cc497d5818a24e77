"""`python -m bench NAME …`: one module of this folder, or without a name all that need no argument."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    names = sorted(file.stem for file in Path(__file__).parent.glob("*.py") if not file.stem.startswith("_"))
    if not arguments or arguments[0] not in names:
        print(f"usage: python -m bench {{{','.join(names)}}} …   (see bench/README.md)")
        return 2 if arguments else 0
    module = importlib.import_module(f"bench.{arguments[0]}")
    return int(module.main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
