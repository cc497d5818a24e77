"""The operator file of a KernelBench problem: a text with places for what its reader found."""

TEMPLATE = '''"""{title}, as an operator file. Made by `layline campaign new --emit`: correct what is wrong here.{told}"""

import ast
import math
import threading
from functools import cache
from pathlib import Path

import torch
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.utils._python_dispatch import TorchDispatchMode

from layline.operators import Axis, Tensor, Tolerance

PROBLEM = Path({path!r})
NAMES = {names!r}  # of the sizes
PLACES = {places!r}  # each size that an input has: that input and its dimension
PLAIN = {plain!r}  # inputs drawn by rand or randn alone; the others are drawn by the problem itself
TEXT = PROBLEM.read_text("utf-8")
CONVOLVES = set()
ROUNDS = set()
COUNTED = "num_batches_tracked"
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ONE = threading.Lock()  # all threads draw torch's random numbers from one sequence


def run(sizes):
    """The problem with these sizes in place of its own."""
    tree = ast.parse(TEXT)
    for node in (one for one in tree.body if isinstance(one, ast.Assign)):
        match node.targets[0], node.value:
            case ast.Name(id=name), _ if name in sizes:
                node.value = ast.Constant(int(sizes[name]))
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                known = [sizes.get(getattr(one, "id", None)) for one in names]
                node.value.elts = [old if new is None else ast.Constant(int(new)) for new, old in zip(known, values)]
    names = {{"__name__": "problem"}}
    exec(compile(ast.fix_missing_locations(tree), str(PROBLEM), "exec"), names)
    return names


@cache
def describe(*sizes):
    """Extents of the inputs, the weights by name, and the outputs; nothing is computed."""
    names = run(dict(zip(NAMES, sizes)))
    with torch.device("meta"):
        given = names["get_inputs"]()
        model = names["Model"](*names["get_init_inputs"]())
        weights = {{name: say(one) for name, one in find_state(model).items()}}
        out = model(*given)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    CONVOLVES.update({{True}} if any(isinstance(one, _ConvNd) for one in model.modules()) else ())
    return [say(one) for one in given], weights, [say(one) for one in outs]


def find_state(model):
    """What an answer depends on: not the running sums that normalisation in training only writes."""
    norms = [name for name, one in model.named_modules() if isinstance(one, _NormBase) and one.training]
    unread = {{f"{{name}}.{{sum}}" for name in norms for sum in ("running_mean", "running_var")}}
    return {{key: one for key, one in model.state_dict().items() if key not in unread and key.split(".")[-1] != COUNTED}}


def say(tensor):
    return tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")


def at(s):
    return describe(*(getattr(s, name) for name in NAMES))


def weigh(sizes):
    """Bytes of all that a call is given and gives."""
    inputs, weights, outs = describe(*sizes.values())
    return sum(math.prod(extent) * getattr(torch, dtype).itemsize for extent, dtype in [*inputs, *weights.values(), *outs])


def lighten(sizes):
    """The largest free size halved until a call can be made hundreds of times."""
    try:
        while weigh(sizes) > {most} and max(sizes.values()) > 64:
            largest = max((name for name in sizes if name not in FIXED), key=sizes.get)
            smaller = {{**sizes, largest: sizes[largest] // 2}}
            weigh(smaller)
            sizes = smaller
    except Exception:  # the problem does not allow it
        pass
    return sizes


FIXED = {fixed!r}  # sizes that every listed shape has
SIZES = lighten({sizes!r})
_inputs, _weights, _outs = describe(*SIZES.values())
_keys = list(_weights)
title = {title!r}
language = "torch"
contiguous = True  # as that harness hands them over
STEPS = {steps!r}  # what every listed extent is a multiple of
axes = {{
    name: Axis(const=FIXED[name]) if name in FIXED else Axis(low=1, multiple=STEPS.get(name, 1)) for name in NAMES
}}
tensors = {{
    **{{f"x{{i}}": Tensor(lambda s, i=i: at(s)[0][i][0], one[1]) for i, one in enumerate(_inputs)}},
    **{{f"w{{i}}": Tensor(lambda s, k=key: at(s)[1][k][0], _weights[key][1], role="constant") for i, key in enumerate(_keys)}},
    **{{f"out{{i}}": Tensor(lambda s, i=i: at(s)[2][i][0], one[1]) for i, one in enumerate(_outs)}},
}}
_given = [*(f"x{{i}}" for i in range(len(_inputs))), *(f"w{{i}}" for i in range(len(_keys)))]
passes = {{"forward": " ".join([*_given, "->", *(f"out{{i}}" for i in range(len(_outs)))])}}
shapes = {{label: lighten(row) for label, row in {shapes!r}.items()}}
if list(shapes) == ["given"]:
    _largest = max(SIZES, key=SIZES.get)
    shapes["half"] = {{**SIZES, _largest: SIZES[_largest] // 2}}


def find_place(name):
    """What has this size in every listed shape: an input, else a weight or an output, and the dimension of it."""
    if name in PLACES:
        return PLACES[name]
    told = [(row[name], [*xs, *ws.values(), *outs]) for row in shapes.values() for xs, ws, outs in [describe(*row.values())]]
    extents = [extent for extent, _dtype in told[0][1]]
    for i, d in ((i, d) for i, extent in enumerate(extents) for d in range(len(extent))):
        if all(tensors[i][0][d] == size for size, tensors in told):
            return i, d
    raise ValueError(f"shapes.py gives {{name}}, and no input, weight or output has that size")


_narrow = any(
    dtype.startswith(("bfloat16", "float16", "float8")) for _extent, dtype in [*_inputs, *_weights.values(), *_outs]
)
STATED = {stated!r}  # how far outputs of a type may be off, as the problem itself says
_stated = [STATED[dtype] for _extent, dtype in _outs if dtype in STATED]
if _stated:  # as a share of all outputs' size, so that zeros are refused; one of millions may be further off
    _share = max(_stated)
    tolerance = Tolerance(
        rtol=_share, atol=3 * _share, snr_db=-20 * math.log10(_share), error_ratio=math.inf, absolute=True
    )
elif _narrow or CONVOLVES:  # torch convolves in TF32, eleven bits, unless it is told not to
    tolerance = Tolerance(rtol=1.6e-2, atol=1e-2)
else:
    tolerance = Tolerance(rtol=1e-3, atol=1e-3)

if not all(dtype.startswith(("float", "bfloat")) for _extent, dtype in _outs):
    kinds = ("normal", "scaled", "uneven")  # equal values would leave several right places


def legal(s):
    """Whether the problem can be made with these sizes at all."""
    try:
        found = at(s)
    except Exception:
        return False
    return all(size for extent, _dtype in found[2] for size in extent)  # the "meta" device makes empty ones without a word


def reference(step, x, s):
    names = run(vars(s))
    with ONE, torch.device(x["x0"].device):  # its weights are drawn there, and not on the host for every answer
        model = names["Model"](*names["get_init_inputs"]())
    model.load_state_dict({{key: x[f"w{{i}}"] for i, key in enumerate(_keys)}}, strict=False)
    with torch.no_grad():
        out = ask(model.double(), [x[f"x{{i}}"] for i in range(len(_inputs))])
    outs = out if isinstance(out, (tuple, list)) else (out,)
    return {{f"out{{i}}": one for i, one in enumerate(outs)}}


class Rounding(TorchDispatchMode):
    """Where the problem casts to a narrower type, the value is rounded to it and stays in fp64."""

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        found = call(*args, **(kwargs or {{}}))
        is_cast = call is torch.ops.aten._to_copy.default and found.is_floating_point()
        return found.double() if is_cast else found


def ask(model, given):
    """A problem that casts its weights and not its sums would mix fp64 with what it casts to."""
    if not ROUNDS:
        try:
            return model(*given)
        except RuntimeError:
            ROUNDS.add(True)
    with Rounding():
        return model(*given)


def make(s, rng, ask):
    """What the problem with these sizes makes, its random numbers by a seed."""
    with ONE:
        torch.manual_seed(int(rng.integers(0, 1 << 62)))
        names = run(vars(s))
        with DEVICE:
            return ask(names)


def draw(kind, s, rng):
    """Inputs that are more than rand or randn, as the problem makes them."""
    given = make(s, rng, lambda names: names["get_inputs"]())
    return {{f"x{{i}}": one for i, one in enumerate(given) if not PLAIN[i]}}


def weights(kind, s, rng):
    """As the model makes them. Ones and zeros of a fresh one would let a kernel leave them out: they are moved."""
    state = make(s, rng, lambda names: names["Model"](*names["get_init_inputs"]()).state_dict())
    noise = torch.Generator(DEVICE).manual_seed(int(rng.integers(0, 1 << 62)))
    return {{f"w{{i}}": move(state[key].to(DEVICE), noise) for i, key in enumerate(_keys)}}


def move(weight, noise):
    """A little, where all of it is one number; a variance stays above zero."""
    wide = weight.float()
    if not weight.is_floating_point() or not weight.numel() or wide.min() != wide.max():
        return weight
    chance = 0.05 * torch.randn(weight.shape, generator=noise, device=weight.device)
    return torch.where(wide == 0, chance, wide * (1 + chance)).to(weight.dtype)


inputs = {{f"w{{i}}": weights for i in range(len(_keys))}} | {{f"x{{i}}": draw for i, p in enumerate(PLAIN) if not p}}
_shim = """

_SIZES, _FIXED, _KEYS, _COUNT, _INIT, _made = SIZES_, FIXED_, KEYS_, COUNT_, INIT_, {{}}


def _make(sizes, device):
    \\"\\"\\"A model for these sizes; its first weights are drawn without moving anybody\'s random generator.\\"\\"\\"
    import torch

    for line in _INIT:  # what follows from a size is another, too
        exec(line, globals())
        globals().update(_FIXED, **dict(zip(_SIZES, sizes)))
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        return globals().get("ModelNew", globals().get("Model"))(*get_init_inputs()).to(device)


def forward(*given):
    \\"\\"\\"Build the model for these sizes once, with their weights, put what it returns where it belongs.\\"\\"\\"
    import torch

    x, w, outs = given[:_COUNT], given[_COUNT : _COUNT + len(_KEYS)], given[_COUNT + len(_KEYS) :]
    sizes = tuple(given[i].shape[d] for i, d in _SIZES.values())
    if sizes not in _made:
        while len(_made) >= MOST_:  # their weights are no memory of the kernel
            del _made[next(iter(_made))]
        _made[sizes] = _make(sizes, x[0].device)
        state = _made[sizes].state_dict()
        for key, value in zip(_KEYS, w):
            if key in state:
                state[key].copy_(value)
    model = _made[sizes]
    with torch.no_grad():
        found = model(*x)
        for out, one in zip(outs, found if isinstance(found, (tuple, list)) else (found,)):
            out.copy_(one)
"""
_init = [ast.unparse(node) for node in ast.parse(TEXT).body if isinstance(node, ast.Assign)]
_asked = next(one for one in ast.parse(TEXT).body if getattr(one, "name", "") == "get_init_inputs")
_init.append(ast.unparse(_asked))  # the problem's own: that harness asks no other
_places = {{name: find_place(name) for name in NAMES if name in PLACES or name not in FIXED}}
shim = _shim.replace("SIZES_", repr(_places)).replace("FIXED_", repr(FIXED)).replace("KEYS_", repr(_keys))
shim = shim.replace("COUNT_", str(len(_inputs))).replace("INIT_", repr(_init)).replace("MOST_", "{kept}")
starts = {{"model": TEXT + shim}}
'''
