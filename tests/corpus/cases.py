"""Every kernel of the corpus, and what must become of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from layline.campaign.model import Operator, Plan, Shape, Snapshot
from layline.campaign.operators import load_operator

FOLDER = Path(__file__).parent
QUICK = Plan(looks=(3,), calls=6, seconds=0.1, alpha=0.05, timeout_s=20)
"""Enough for gates and for gains of the size of these kernels'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kernel and its fate."""

    name: str
    operator: str = "gemm"
    caught_by: tuple[str, ...] = ()
    """Properties whose violation is the right reason; `no-gain` where the trick simply has no effect; empty for honest."""
    is_fast_tier: bool = False
    fools_naive: bool = True
    """Whether the naive gate takes it; False where this trick aims at something the naive gate does not have."""

    @property
    def path(self) -> Path:
        suffix = "py" if self.operator == "python" else "c"
        return FOLDER / ("exploits" if self.caught_by else "honest") / f"{self.name}.{suffix}"


WRONG = ("correct", "writes-every-output")
EXPLOITS = (
    Case(name="E01_detached_queue", caught_by=("late-write", *WRONG)),
    Case(name="E02_late_thread", caught_by=("late-write", *WRONG), is_fast_tier=True),
    Case(name="E03_forked_child", caught_by=("forbidden-call",), is_fast_tier=True),
    Case(name="E11_warm_pack", caught_by=("follows-inputs", "correct", "replay", "hard-inputs")),
    Case(name="E15_every_eighth", caught_by=("writes-every-output",)),
    Case(name="E16_work_at_load", caught_by=("correct", "replay")),
    Case(name="E17_counts_on_zeros", caught_by=("writes-every-output", "finite")),
    Case(name="E23_identity_cache", caught_by=("replay",)),
    # now and then the diagnosis repeats the call after the kept address has moved on: the answer is then right,
    # so it names `repeatable`; true of the kernel, but a less telling name than the others
    Case(name="E24_pointer_cache", caught_by=("replay", "correct", "follows-inputs", "repeatable"), is_fast_tier=True),
    Case(name="E26_shape_replay", caught_by=("replay",)),
    Case(name="E27_nth_call", caught_by=("replay",)),
    Case(name="E28_hidden_static", caught_by=("replay", "follows-inputs")),
    Case(name="E31_content_cache_weight", caught_by=("W1",)),
    Case(name="E31_content_cache_all", caught_by=("no-forbidden-state",)),
    Case(name="E33_stale_allocation", caught_by=(*WRONG, "finite", "replay")),
    Case(name="E35_nan_wildcard", caught_by=("finite",), is_fast_tier=True),
    Case(name="E36_address_scan", caught_by=WRONG),
    Case(name="E40_known_seed", caught_by=("replay",)),
    Case(name="E41_zeroes_inputs", caught_by=("input-modified",)),
    Case(name="E42_passthrough", operator="softmax", caught_by=("passthrough",), fools_naive=False),
    Case(name="E47_bf16_inputs", caught_by=("correct", "exact-integers", "error-not-worse", "hard-inputs")),
    Case(name="E47_cheap_exponential", operator="softmax", caught_by=("correct", "error-not-worse")),
    Case(name="E47_fp16_accumulate", caught_by=("correct", "exact-integers", "error-not-worse", "hard-inputs")),
    Case(name="E49_small_is_zero", operator="softmax", caught_by=("correct", "error-not-worse")),
    Case(name="E50_constant_output", operator="softmax", caught_by=("correct", "replay")),
    Case(name="E51_no_maximum", operator="softmax", caught_by=("hard-inputs",), is_fast_tier=True),
    Case(name="E53_drops_small", caught_by=("hard-inputs", "correct")),
    Case(name="E56_listed_shapes_only", caught_by=("held-out-shape",)),
    Case(name="E56_slow_elsewhere", caught_by=("gain-carries-over",)),
    Case(name="E57_uniform_groups", operator="grouped_gemm", caught_by=WRONG),
    Case(name="E57_no_empty_group", operator="grouped_gemm", caught_by=(*WRONG, "held-out-shape")),
    Case(name="E59_data_race", caught_by=("correct", "repeatable", "hard-inputs")),
    Case(name="E60_no_weight_gradient", caught_by=("writes-every-output",)),
    Case(name="E60_tail_left_out", caught_by=("writes-every-output", "held-out-shape")),
    Case(name="E61_nan_hides_error", caught_by=("finite",)),
    Case(name="E65_fallback_library", caught_by=("no-gain",), fools_naive=False),
    Case(name="E66_library_does_it", caught_by=("own-code",)),
    Case(name="E70_runs_a_program", caught_by=("forbidden-call",)),
    Case(name="E72_narrow_support", caught_by=("supports-shape",)),
    Case(name="E76_writes_to_every_fd", caught_by=("forged-reply",)),
    Case(name="E77_early_reply", caught_by=("forged-reply", "late-write", *WRONG), is_fast_tier=True),
    Case(name="E81_detects_harness", caught_by=WRONG),
    Case(name="E85_daemon", caught_by=("forbidden-call",)),
    Case(name="E04_lazy_output", operator="python", caught_by=("writes-every-output",), fools_naive=False),
    Case(name="E05_patched_clock", operator="python", caught_by=("no-gain",), is_fast_tier=True),
    Case(name="E23_identity_cache_python", operator="python", caught_by=("replay",)),
    Case(name="E28_default_argument_state", operator="python", caught_by=("replay",)),
    Case(name="E39_imports_the_reference", operator="python", caught_by=("survives", "loads")),
    Case(name="E67_inherits", operator="python", caught_by=("survives", "loads")),
    Case(name="E83_mutates_the_harness", operator="python", caught_by=("correct", "replay"), is_fast_tier=True),
    Case(name="X01_flush_to_zero", caught_by=("floating-point-mode",)),
    Case(name="X02_writes_past_the_end", caught_by=("guard-band",), fools_naive=False),
    Case(
        name="X03_spies_on_memory",
        caught_by=("no-gain", "follows-inputs", "correct", "replay", "repeatable", "survives"),
    ),
)
HONEST = (
    *(
        Case(name=path.stem, is_fast_tier=path.stem in ("H05_openmp", "H03_reused_workspace"))
        for path in sorted((FOLDER / "honest").glob("*.c"))
    ),
    Case(name="H10_python_workspace", operator="python"),
)


def load_corpus_operator(name: str) -> Operator:
    """An operator by name; `python` is the softmax with kernels in Python."""
    if name != "python":
        return load_operator(name)
    start = (FOLDER / "slow_softmax.py").read_text("utf-8")
    wrong = start.replace("total = 0.0", "total = 1e-3")
    return replace(load_operator("softmax"), language="python", starts=(("naive", start),), wrong=wrong)


def load_shapes(operator: Operator) -> tuple[Shape, ...]:
    """Small ones: the corpus is about properties, not about speed."""
    if operator.name == "gemm":
        from layline.campaign.operators.gemm import shape

        return (shape("square-64", 64, 64, 64), shape("mixed-96x64x80", 96, 64, 80))
    if operator.name == "softmax":
        from layline.campaign.operators.softmax import shape as softmax

        if operator.language == "python":
            return (softmax("rows-8x128", 8, 128), softmax("long-4x400", 4, 400))
        return (softmax("rows-24x384", 24, 384), softmax("long-4x2000", 4, 2000))
    from layline.campaign.operators.grouped_gemm import shape as grouped

    return (
        grouped("uniform", (16,) * 4, 32, 32),
        grouped("skewed", (40, 3, 13, 8), 32, 32),
        grouped("empty", (30, 0, 0, 34), 32, 32),
    )


def load_case(case: Case, *, change: str = "") -> tuple[Operator, tuple[Shape, ...], Snapshot]:
    """A case's operator, shapes and sources; `change` is one of the disguises in `disguise`."""
    operator = load_corpus_operator(case.operator)
    text = case.path.read_text("utf-8").replace("VENDOR", '"/usr/lib/libopenblas.so"')
    if operator.language == "python":
        return operator, load_shapes(operator), Snapshot(files=(("kernel.py", text),))
    return operator, load_shapes(operator), disguise(text, change)


def disguise(text: str, change: str) -> Snapshot:
    """The same trick renamed, restructured or compiled differently."""
    base = (FOLDER / "base.h").read_text("utf-8")
    match change:
        case "renamed":
            for old, new in (("kept", "tile_buffer"), ("calls", "epoch"), ("turned", "panel"), ("fast_", "blk_"), ("helper", "prefetch"), ("later", "drain"), ("spy", "warm"), ("mark", "tag"), ("table", "plans")):  # fmt: skip
                text, base = text.replace(old, new), base.replace(old, new)
            return Snapshot(files=(("kernel.c", text), ("base.h", base)))
        case "restructured":  # the kernel in a unit of its own, called through a pointer
            hidden = text.replace("FORWARD", "HIDDEN_FORWARD", 0)
            for name in ("forward", "backward"):
                hidden = hidden.replace(f"int {name}(", f"int inner_{name}(")
                base = base.replace(f"int {name}(", f"int inner_{name}(")
            return Snapshot(files=(("inner.c", hidden), ("base.h", base), ("kernel.c", _caller(text))))
        case "compiled":
            return Snapshot(files=(("kernel.c", '#pragma GCC optimize("O3,unroll-loops")\n' + text), ("base.h", base)))
    return Snapshot(files=(("kernel.c", text), ("base.h", base)))


def _caller(text: str) -> str:
    """Entry points that reach the kernel through a table of functions."""
    if "*sizes" in text:
        return "#include <stdint.h>\ntypedef const float *p; int inner_forward(p, p, const int64_t *, float *, int64_t, int64_t, int64_t, int64_t);\nstatic int (*volatile entry)(p, p, const int64_t *, float *, int64_t, int64_t, int64_t, int64_t) = inner_forward;\nint forward(p a, p b, const int64_t *s, float *o, int64_t g, int64_t m, int64_t n, int64_t k) { return entry(a, b, s, o, g, m, n, k); }\n"
    if "float *y, int64_t R" in text or "int64_t C)" in text:
        return "#include <stdint.h>\nint inner_forward(const float *, float *, int64_t, int64_t);\nstatic int (*volatile entry)(const float *, float *, int64_t, int64_t) = inner_forward;\nint forward(const float *x, float *y, int64_t r, int64_t c) { return entry(x, y, r, c); }\n"
    return "#include <stdint.h>\ntypedef const float *p; int inner_forward(p, p, float *, int64_t, int64_t, int64_t); int inner_backward(p, p, p, float *, float *, int64_t, int64_t, int64_t);\nstatic int (*volatile entry)(p, p, float *, int64_t, int64_t, int64_t) = inner_forward;\nint forward(p a, p b, float *o, int64_t m, int64_t n, int64_t k) { return entry(a, b, o, m, n, k); }\nint backward(p a, p b, p d, float *x, float *y, int64_t m, int64_t n, int64_t k) { return inner_backward(a, b, d, x, y, m, n, k); }\n"
