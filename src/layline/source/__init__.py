"""Python text → structure; AST only. Analysed code is never imported or run.

    cache = open_cache()                                  # in LAYLINE_CACHE, or where caches lie
    index = build_index([Part(tree=Tree(repository, commit), packages=backend.packages)], cache)
    symbols = Resolver(index)                             # layline.source.resolve
    symbol = symbols.resolve("megatron.training.training.get_model")   # → Symbol(kind, home, definition, location, …)
    symbols.resolve_in("pkg.module", "mpu.get_rank")      # a name as written inside a module of the index
    symbols.find_importers("pkg.f")                       # `from pkg import f`: who copies the object
    index.module("pkg.m").definitions / .imports / .find("C.m") / .best("C.m")
    index.evidence(symbol.module, symbol.definition.lines)   # Evidence with permalink
    index.read_node(symbol.module, symbol.definition)     # the syntax tree, for what the rows do not tell
    list(index.skipped())                                 # files that could not be read

What became of a name between two refs: `layline.change.compare.Comparer`. Whether calls, replacements and overrides
still fit: `layline.change.binding`.

Several repositories under one namespace are several `Part`s of one index; downstream and upstream together are too.
Everything is a plain value; `Index` and `Resolver` only remember.
"""

from layline.source.cache import Cache
from layline.source.definitions import Definition, DefinitionKind, Import, Module, Parameter, ParameterKind
from layline.source.index import Index, ModuleEntry, Part, build_index, build_indexes, open_cache
from layline.source.names import absolute_name, is_within, module_name
from layline.source.parsing import parse_module, parse_tree
from layline.source.symbols import Symbol, SymbolKind
from layline.source.tree import Tree

__all__ = [
    "Cache",
    "Definition",
    "DefinitionKind",
    "Import",
    "Index",
    "Module",
    "ModuleEntry",
    "Parameter",
    "ParameterKind",
    "Part",
    "Symbol",
    "SymbolKind",
    "Tree",
    "absolute_name",
    "build_index",
    "build_indexes",
    "is_within",
    "module_name",
    "open_cache",
    "parse_module",
    "parse_tree",
]
