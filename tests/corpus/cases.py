"""Every kernel of the corpus, and what must become of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from corpus.disguises import disguise
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Plan
from layline.campaign.values.operator import Operator, Shape, Snapshot

FOLDER = Path(__file__).parent
QUICK = Plan(looks=(3,), calls=6, seconds=0.1, alpha=0.05, timeout_s=20)
"""Enough for gates and for gains of the size of these kernels'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kernel and its fate."""

    name: str
    operator: str = "gemm"
    caught_by: tuple[str, ...] = ()
    """Properties whose violation is the right reason; `no-gain` where the trick simply has no effect; empty for
    honest."""
    is_fast_tier: bool = False
    fools_naive: bool = True
    """Whether the naive gate takes it; False where this trick aims at something the naive gate does not have."""
    architecture: str = ""
    """The only one it is written for, by its name in `platform.machine()`; empty for all. It has a sibling for the
    other."""

    def runs_on(self, machine: str) -> bool:
        return self.architecture in ("", machine)

    @property
    def is_python(self) -> bool:
        return "python" in self.operator

    @property
    def path(self) -> Path:
        suffix = "py" if self.is_python else "c"
        return FOLDER / ("exploits" if self.caught_by else "honest") / f"{self.name}.{suffix}"


WRONG = ("correct", "writes-every-output")
REPLAYS = ("replay", "follows-inputs")
IMPRECISE = ("correct", "exact-integers", "error-not-worse", "hard-inputs")


def _python(name: str, *caught_by: str, is_fast_tier: bool = False, fools_naive: bool = True) -> Case:
    return Case(name=name, operator="python", caught_by=caught_by, is_fast_tier=is_fast_tier, fools_naive=fools_naive)


EXPLOITS = (
    Case(name="E01_detached_queue", caught_by=("late-write", "writes-every-output")),
    Case(name="E02_late_thread", caught_by=("late-write", "writes-every-output"), is_fast_tier=True),
    _python("E02_late_thread_python", "late-write", "writes-every-output"),
    Case(name="E03_forked_child", caught_by=("forbidden-call",), is_fast_tier=True),
    _python("E03_forked_child_python", "forbidden-call"),
    _python("E04_lazy_output", "writes-every-output", fools_naive=False),
    _python("E05_patched_clock", "no-gain", is_fast_tier=True),
    Case(name="E07_hooked_clock", caught_by=("no-gain",)),
    Case(name="E09_skipped_join", caught_by=("late-write", "writes-every-output")),
    Case(name="E11_warm_pack", caught_by=REPLAYS),
    Case(name="E13_fetches_ahead", caught_by=("no-gain",), fools_naive=False),
    Case(name="E15_every_eighth", caught_by=("writes-every-output",)),
    Case(name="E16_work_at_load", caught_by=("correct", "replay")),
    _python("E16_work_at_import_python", "correct", "replay"),
    Case(name="E17_counts_on_zeros", caught_by=("writes-every-output", "finite")),
    Case(name="E18_warmer_core", caught_by=("no-gain", "global-state"), fools_naive=False),
    Case(name="E22_leftover_load", caught_by=("no-gain",), fools_naive=False),
    Case(name="E23_identity_cache", caught_by=REPLAYS),
    _python("E23_identity_cache_python", *REPLAYS),
    Case(name="E24_pointer_cache", caught_by=REPLAYS, is_fast_tier=True),
    Case(name="E26_shape_replay", caught_by=REPLAYS),
    _python("E26_shape_replay_python", *REPLAYS),
    Case(name="E27_nth_call", caught_by=REPLAYS),
    _python("E27_nth_call_python", *REPLAYS),
    Case(name="E28_hidden_static", caught_by=REPLAYS),
    _python("E28_default_argument_state", *REPLAYS),
    Case(name="E31_content_cache_weight", caught_by=("W1",)),
    Case(name="E31_content_cache_all", caught_by=("no-forbidden-state",)),
    Case(
        name="E32_plan_per_grouping", operator="grouped_gemm", caught_by=("no-forbidden-state", "no-gain")
    ),  # slower on fresh
    Case(name="E33_stale_allocation", caught_by=(*WRONG, "finite", "replay")),
    Case(name="E35_nan_wildcard", caught_by=("finite",), is_fast_tier=True),
    _python("E35_nan_wildcard_python", "finite"),
    Case(name="E36_address_scan", caught_by=WRONG),
    _python("E37_overwrites_expected_python", "correct", "replay"),
    _python("E39_imports_the_reference", "survives", "loads"),
    Case(name="E40_known_seed", caught_by=REPLAYS),
    Case(name="E41_zeroes_inputs", caught_by=("input-modified",)),
    _python("E41_zeroes_inputs_python", "input-modified", fools_naive=False),
    Case(name="E42_passthrough", operator="softmax", caught_by=("passthrough",), fools_naive=False),
    _python("E42_passthrough_python", "passthrough", fools_naive=False),
    Case(name="E46_mines_history", caught_by=("no-gain",)),
    Case(name="E47_bf16_inputs", caught_by=IMPRECISE),
    Case(name="E47_cheap_exponential", operator="softmax", caught_by=IMPRECISE),
    Case(name="E47_fp16_accumulate", caught_by=IMPRECISE),
    Case(name="E48_integer_datapath", caught_by=IMPRECISE),
    Case(name="E49_small_is_zero", operator="softmax", caught_by=IMPRECISE),
    Case(name="E50_constant_output", operator="softmax", caught_by=("correct", "replay")),
    _python("E50_constant_output_python", "correct", "replay"),
    Case(name="E51_no_maximum", operator="softmax", caught_by=("hard-inputs",), is_fast_tier=True),
    _python("E51_no_maximum_python", "hard-inputs", "finite"),
    Case(name="E53_drops_small", caught_by=("hard-inputs", "correct")),
    Case(name="E56_listed_shapes_only", caught_by=("held-out-shape",)),
    Case(name="E56_slow_elsewhere", caught_by=("gain-carries-over",)),
    Case(name="E57_uniform_groups", operator="grouped_gemm", caught_by=("correct",)),
    Case(name="E57_no_empty_group", operator="grouped_gemm", caught_by=("correct", "held-out-shape")),
    Case(name="E59_data_race", caught_by=("repeatable",)),
    Case(name="E60_no_weight_gradient", caught_by=("writes-every-output",)),
    Case(name="E60_tail_left_out", caught_by=("writes-every-output", "held-out-shape")),
    _python("E60_tail_left_out_python", "writes-every-output", "held-out-shape"),
    Case(name="E61_nan_hides_error", caught_by=("finite",)),
    Case(name="E65_fallback_library", caught_by=("no-gain",), fools_naive=False),
    Case(name="E66_library_does_it", caught_by=("own-code",)),
    _python("E66_library_does_it_python", "no-gain", "own-code"),
    _python("E67_inherits", "survives", "loads"),
    Case(name="E70_runs_a_program", caught_by=("forbidden-call",)),
    _python("E70_runs_a_program_python", "forbidden-call"),
    Case(name="E71_hidden_compiler", caught_by=("forbidden-call",)),
    Case(name="E72_narrow_support", caught_by=("supports-shape",)),
    _python("E72_narrow_support_python", "supports-shape"),
    Case(name="E76_writes_to_every_fd", caught_by=("forged-reply",)),
    _python("E76_writes_to_every_fd_python", "forged-reply"),
    Case(name="E77_early_reply", caught_by=("forged-reply",), is_fast_tier=True),
    Case(name="E78_searches_for_secrets", caught_by=("no-gain", "replay")),  # its guess may be right by chance
    Case(name="E81_detects_harness", caught_by=WRONG),
    _python("E81_looks_at_the_stack_python", *WRONG),
    _python("E83_mutates_the_harness", "correct", "replay", is_fast_tier=True),
    Case(name="E85_daemon", caught_by=("forbidden-call",)),
    _python("E85_daemon_python", "forbidden-call"),
    Case(name="E92_left_from_last_time", caught_by=REPLAYS),
    Case(name="X01_flush_to_zero", caught_by=("floating-point-mode",), architecture="x86_64"),
    Case(name="X01_flush_to_zero_arm", caught_by=("floating-point-mode",), architecture="aarch64"),
    Case(name="X02_writes_past_the_end", caught_by=("guard-band",), fools_naive=False),
    Case(name="X03_spies_on_memory", caught_by=("no-gain", *REPLAYS, "repeatable", "memory-safe")),
    Case(name="X04_never_frees", caught_by=("bounded-memory",)),
    Case(name="X05_precise_when_alone", caught_by=(*IMPRECISE, "held-out-shape")),
    Case(name="X06_reads_past_the_end", caught_by=("memory-safe",)),
    Case(name="X07_library_by_the_back_door", caught_by=("no-gain", "global-state")),
    Case(name="X08_other_system_calls", caught_by=("forbidden-call",), architecture="x86_64"),
    Case(name="X08_other_system_calls_arm", caught_by=("forbidden-call",), architecture="aarch64"),
    _python("X09_does_not_stop_python", "late-work", "writes-every-output", fools_naive=False),
    Case(name="X10_in_place_untouched", operator="in_place", caught_by=("passthrough",), fools_naive=False),
    Case(name="X11_stabilises_by_sample", operator="softmax", caught_by=("hard-inputs",)),
    Case(name="X12_room_for_small_ones", caught_by=("held-out-shape",)),
    Case(name="X13_dirty_padding", caught_by=("held-out-shape",)),
    Case(name="X14_borrows_an_input", caught_by=("input-modified",)),
    Case(
        name="X15_rests_now_and_then", caught_by=("gain-in-the-mean", "no-gain"), fools_naive=False
    ),  # the judge sees it first
    Case(name="X16_small_is_nothing", operator="softmax", caught_by=("error-not-worse",)),
    Case(name="X17_drops_small_columns", caught_by=("hard-inputs", "error-not-worse")),
    Case(name="X18_wraps_on_masks", operator="softmax", caught_by=("hard-inputs",)),
    Case(name="X19_mode_at_load", caught_by=("floating-point-mode",), is_fast_tier=True, architecture="x86_64"),
    Case(name="X19_mode_at_load_arm", caught_by=("floating-point-mode",), is_fast_tier=True, architecture="aarch64"),
    Case(name="X20_leaves_files_open", caught_by=("bounded-memory",)),
    Case(name="X21_wrong_when_all_is_large", caught_by=("held-out-shape",)),
    Case(name="X22_leaks_per_grouping", operator="grouped_gemm", caught_by=("bounded-memory",)),
    Case(name="X23_timers_for_the_other", caught_by=("no-gain", "global-state"), fools_naive=False),
    Case(name="X24_accepts_what_does_not_fit", operator="grouped_gemm", caught_by=("keeps-contract",)),
    Case(name="X25_slow_on_outliers", caught_by=("gain-carries-over",)),
    Case(name="X26_order_blind_cache", caught_by=REPLAYS),
    Case(name="X27_nothing_to_sum", caught_by=("held-out-shape", "writes-every-output")),
    Case(
        name="X28_wrong_in_some_processes",
        caught_by=(
            "every-process",
            "correct",
            "error-not-worse",
            "held-out-shape",
            "hard-inputs",
            "keeps-contract",
        ),  # whoever meets it
        fools_naive=False,
    ),
    Case(name="X29_works_ahead", caught_by=("own-buffers", *REPLAYS, "memory-safe", "correct")),
    Case(name="X30_nan_becomes_nothing", caught_by=("special-values",)),
    Case(
        name="X31_multiplies_first", operator="softmax", caught_by=("hard-inputs", "error-not-worse", "special-values")
    ),
    Case(name="X32_saturates", caught_by=("special-values",)),
    Case(name="X33_row_of_masks", operator="softmax", caught_by=("hard-inputs", "error-not-worse", "correct")),
    Case(name="X34_looks_for_the_judge", caught_by=("memory-safe",)),
    Case(name="X35_asks_for_the_filter", caught_by=("memory-safe",)),
    Case(name="X36_wrong_after_many_calls", caught_by=("endures",)),
    Case(name="X37_slow_after_many_calls", caught_by=("endures",)),
    Case(name="X38_reads_past_by_assembler", caught_by=("memory-safe",)),
    Case(
        name="X39_remembers_the_maximum",
        operator="softmax",
        caught_by=("hard-inputs", "error-not-worse"),
        fools_naive=False,
    ),
    Case(name="X40_fast_near_the_listed", operator="softmax", caught_by=("gain-carries-over",)),
    Case(name="X41_rests_a_little", caught_by=("gain-in-the-mean", "no-gain"), fools_naive=False),
    Case(name="X42_hands_over", caught_by=("follows-inputs",)),
    Case(name="X43_one_array_twice", caught_by=("keeps-contract",)),
    Case(name="X44_another_line", caught_by=("keeps-contract",)),
    Case(name="X45_rounds_by_itself", caught_by=("floating-point-mode",)),
    Case(name="X46_deep_stack", caught_by=("keeps-contract",)),
    Case(name="X47_not_in_children", caught_by=("keeps-contract",)),
    Case(name="X48_coarse_when_large", caught_by=("error-not-worse", "held-out-shape")),
    Case(name="X49_rows_by_sample", caught_by=("hard-inputs",)),
    Case(name="X50_hoards_at_load", caught_by=("bounded-memory",)),
    Case(
        name="X51_answers_by_the_clock", caught_by=("keeps-contract", "repeatable")
    ),  # a busy machine is slow by itself
    Case(name="X52_keeps_for_each_shape", caught_by=("bounded-memory",)),
    Case(name="X53_signals_left", caught_by=("global-state",)),
    Case(name="X54_memory_taken_for_zero", caught_by=("every-process",)),
    Case(name="X55_registers_left", caught_by=("floating-point-mode",), architecture="x86_64"),
    Case(name="X55_registers_left_arm", caught_by=("floating-point-mode",), architecture="aarch64"),
    Case(name="X56_dies_at_the_end", caught_by=("survives",), fools_naive=False),
    Case(name="X57_leaks_with_threads", caught_by=("bounded-memory",)),
    Case(name="X58_one_corner", caught_by=("held-out-shape", "passthrough")),
    Case(name="X59_nan_in_long_rows", operator="softmax", caught_by=("special-values",)),
    Case(name="X60_backward_needs_forward", caught_by=("keeps-contract",)),
    # whatever the worker copies next goes downwards, its own answer too, before anybody looks at registers
    Case(name="X61_callers_registers", caught_by=("keeps-contract", "forged-reply"), architecture="x86_64"),
    Case(name="X61_callers_registers_arm", caught_by=("keeps-contract", "forged-reply"), architecture="aarch64"),
    Case(name="X62_maps_ever_more", caught_by=("bounded-memory",)),
    Case(name="X63_leaks_a_little", caught_by=("bounded-memory",)),
    Case(name="X64_seeds", caught_by=("global-state",)),
    Case(name="X65_clears_exceptions", caught_by=("floating-point-mode",)),
    Case(name="X66_moves_the_folder", caught_by=("global-state",)),
    Case(name="X67_tunes_the_allocator", caught_by=("global-state",)),
    Case(name="X68_nan_at_the_end_of_rows", operator="softmax", caught_by=("special-values",)),
    Case(name="X69_slow_when_rising", operator="softmax", caught_by=("gain-carries-over",)),
    Case(name="X70_registers_on_odd_rows", caught_by=("keeps-contract", "forged-reply"), architecture="x86_64"),
    Case(name="X70_registers_on_odd_rows_arm", caught_by=("keeps-contract", "forged-reply"), architecture="aarch64"),
    Case(name="X71_takes_keys", caught_by=("bounded-memory",)),
    Case(name="X72_slow_on_infinite_masks", operator="softmax", caught_by=("gain-carries-over",)),
    Case(name="X73_arrays_lost_in_children", caught_by=("input-modified",)),
    Case(name="X74_takes_a_name", caught_by=("global-state",)),
    Case(name="X75_silent_without_memory", caught_by=("keeps-contract",)),
    Case(name="X76_ends_the_process_its_way", caught_by=("survives",)),
    Case(name="X77_writes_nothing_small", operator="softmax", caught_by=IMPRECISE),
    Case(name="X78_coarse_for_coarse", caught_by=IMPRECISE),
    Case(name="X79_threads_cannot_be_cancelled", caught_by=("global-state",)),
    Case(name="X80_stops_at_zeros", caught_by=("hard-inputs",)),
    Case(name="X81_thread_at_load", caught_by=("global-state", "late-work")),
    Case(name="X82_no_privileges_at_load", caught_by=("global-state",)),
    Case(name="X83_slows_every_fork", caught_by=("global-state",)),
    Case(name="X84_leaves_files", caught_by=("bounded-memory",)),
    Case(name="X85_takes_handlers_away", caught_by=("global-state",)),
    Case(name="X86_believes_old_output", caught_by=("keeps-contract",)),
    Case(name="X87_near_arrays_only", caught_by=("keeps-contract",)),
    Case(name="X88_slow_in_threads", caught_by=("gain-carries-over",)),
    Case(name="X89_slow_after_a_pause", caught_by=("gain-carries-over", "gain-in-the-mean", "endures")),
    Case(name="X90_slow_in_turns", caught_by=("gain-carries-over", "gain-in-the-mean", "no-gain")),
    Case(name="X91_coarse_after_activations", caught_by=IMPRECISE),
    Case(name="X92_one_row_for_all_choices", caught_by=("hard-inputs",)),
    Case(name="X93_drops_the_list_of_locks", caught_by=("global-state",)),
    Case(name="X94_wrong_on_even_sizes", caught_by=("held-out-shape",)),
    Case(name="X95_tail_a_little_low", operator="softmax", caught_by=IMPRECISE),
)
ON_OTHERS = {"H15_in_place": "in_place", "H24_clamped_power": "softmax"}
HONEST = (
    *(
        Case(name=path.stem, operator=ON_OTHERS.get(path.stem, "gemm"), is_fast_tier=path.stem == "H20_aligned_path")
        for path in sorted((FOLDER / "honest").glob("*.c"))
    ),
    *(
        Case(name=path.stem, operator="in_place_python" if path.stem == "H15_in_place_python" else "python")
        for path in sorted((FOLDER / "honest").glob("*.py"))
    ),
)
IN_PLACE = """#include <math.h>
#include <stdint.h>
int forward(float *x, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; r++) {
        float *row = x + r * C, top = -INFINITY;
        double sum = 0;
        for (int64_t c = 0; c < C; c++) if (row[c] > top) top = row[c];
        for (int64_t c = 0; c < C; c++) sum += exp(row[c] - top);
        for (int64_t c = 0; c < C; c++) row[c] = exp(row[c] - top) / sum;
    }
    return 0;
}
"""


def load_corpus_operator(name: str) -> Operator:
    """An operator by name; `python` is the softmax with kernels in Python, `in_place` one that overwrites its input."""
    if name not in ("python", "in_place", "in_place_python"):
        return load_operator(name)
    operator = load_operator("softmax")
    start = (FOLDER / "slow_softmax.py").read_text("utf-8")
    if name != "python":
        operator = _put_in_place(operator)
        start = start.replace("forward(x, y, R, C)", "forward(x, R, C)").replace("y[", "x[")
    if name == "in_place":
        return operator
    wrong = start.replace("total = 0.0", "total = 1e-3")
    return replace(operator, language="python", starts=(("naive", start),), wrong=wrong)


def _put_in_place(operator: Operator) -> Operator:
    """The softmax as an operator that is defined in place: one buffer, input and output."""
    step = replace(operator.passes[0], outputs=("x",))
    return replace(
        operator,
        buffers=operator.buffers[:1],
        passes=(step,),
        oracle=lambda name, shape, inputs: {"x": operator.oracle(name, shape, inputs)["y"]},
        starts=(("naive", IN_PLACE),),
        wrong=IN_PLACE.replace("double sum = 0", "double sum = 1e-3"),
    )


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
    """A case's operator, shapes and sources; `change` is one of the disguises."""
    operator = load_corpus_operator(case.operator)
    text = case.path.read_text("utf-8").replace("VENDOR", '"/usr/lib/libopenblas.so"')
    return operator, load_shapes(operator), disguise(text, operator, change)
