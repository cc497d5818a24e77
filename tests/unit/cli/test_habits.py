"""What users of other command lines expect: hints, examples, whole summaries, -V -q -v, help, completion."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import click
import pytest

from commands import layline
from layline.cli.examples import EXAMPLES
from layline.cli.group import summarise
from layline.cli.main import COMMANDS
from layline.cli.main import layline as root
from layline.cli.show import offer_file, parse_month
from layline.sample import Sample


def _find_commands(context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    command = context.command
    yield context.command_path.removeprefix("layline").strip(), command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _find_commands(click.Context(inner, info_name=name, parent=context))


ALL = list(_find_commands(click.Context(root, info_name="layline")))


@pytest.mark.parametrize(("path", "command", "context"), ALL, ids=[path or "layline" for path, _, _ in ALL])
def test_help_is_whole_and_has_examples(path: str, command: click.Command, context: click.Context) -> None:
    help_ = command.get_help(context)
    assert "…" not in help_
    assert "..." not in re.sub(r"\[?[A-Z]+\]?\.\.\.", "", help_), "no summary is cut"
    assert "\nExamples:\n  layline " in help_
    if path:
        assert 10 < len(summarise(command)) <= 68, summarise(command)
        assert summarise(command).endswith((".", "?"))


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_examples_parse(line: str) -> None:
    words = shlex.split(line.partition(" | ")[0])
    context = click.Context(root, info_name="layline")
    while isinstance(context.command, click.Group) and words:
        name, command, words = context.command.resolve_command(context, words)
        assert command is not None
        context = click.Context(command, info_name=name, parent=context)
    if not isinstance(context.command, click.Group):
        made = [
            word for word in words if not word.endswith((".csv", ".md", ".json")) and word not in {"site", "../keel"}
        ]
        context.command.make_context("x", made, resilient_parsing=True)


def test_there_is_an_example_for_every_command_and_for_no_other() -> None:
    assert {path for path, _, _ in ALL} == set(EXAMPLES)


def test_the_summaries_of_the_first_help_are_those_of_the_commands() -> None:
    context = click.Context(root, info_name="layline")
    for name, (_, summary) in COMMANDS.items():
        command = root.get_command(context, name)
        assert command is not None
        assert summary == summarise(command), name


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["patch"], "Did you mean `layline patches`?"),
        (["dashbord"], "Did you mean `layline dashboard`?"),
        (["patches", "drft"], "Did you mean `layline patches drift`?"),
        (["help", "gap", "shw"], "Did you mean `layline gap show`?"),
        (["drift", "keel"], "Did you mean `layline patches drift`?"),
        (["drft"], "Did you mean `layline patches drift`?"),
        (["verify"], "Did you mean `layline gap verify` or `layline campaign verify`?"),
        (["qqqq"], "Commands: init, doctor,"),
        (["gap", "show", "--formt", "json"], "--format"),
        (["gap", "show", "kell"], "Did you mean 'keel'?"),
        (["patches", "show", "keel.schedule.tack"], "Did you mean 'keel.schedule.tacks'?"),
    ],
)
def test_a_typing_error_gets_the_nearest_name(sample: Sample, words: list[str], hint: str) -> None:
    told = layline(*words, cwd=sample.harbor)
    assert told.code == 2
    assert hint in told.err
    last = told.err.rstrip().splitlines()[-2:]
    assert [line.partition(":")[0] for line in last] == ["error", "hint"], "the error stands last"


@pytest.mark.parametrize("words", [(), ("gap",), ("patches",)])
def test_a_group_alone_prints_its_help_once(sample: Sample, words: tuple[str, ...]) -> None:
    told = layline(*words, cwd=sample.harbor)
    assert (told.code, told.err.count("Usage:"), "error:" in told.err) == (2, 1, False)
    assert "\nExamples:\n" in told.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(tmp_path: Path, shell: str) -> None:
    told = layline("completion", shell, cwd=tmp_path)
    assert told.code == 0, told.err
    assert f"_LAYLINE_COMPLETE={shell}_complete" in told.out


def test_the_beginning_of_an_id_names_a_patch_and_a_wrong_one_suggests_no_other(sample: Sample) -> None:
    listed = layline("patches", "list", "keel", "--format", "json", cwd=sample.harbor).json
    whole = listed["unregistered"][0]["id"]
    told = layline("patches", "show", whole[:7], "--format", "json", cwd=sample.harbor)
    assert told.code == 0, told.err
    assert whole in told.out
    wrong = layline("patches", "show", "e-0000", cwd=sample.harbor)
    assert (wrong.code, "Did you mean" in wrong.err) == (2, False)


def test_a_search_without_a_match_offers_the_nearest_word_once(sample: Sample) -> None:
    told = layline("patches", "find", "get_wrold_size", cwd=sample.harbor)
    assert told.out.splitlines()[0] == "0 matches for 'get_wrold_size'"
    assert (told.out.count("Did you mean"), "No match" in told.out) == (1, False)
    none = layline("patches", "find", "zzzzzzzz", cwd=sample.harbor).out.splitlines()
    assert none[0] == "0 matches for 'zzzzzzzz'"
    assert none[1] == "No patch of ours names or uses 'zzzzzzzz'."
    backends = re.findall(r"`layline gap find zzzzzzzz (\w+)`", none[2])
    assert backends, none[2]
    for backend in backends:  # each command works as it is written
        assert layline("gap", "find", "zzzzzzzz", backend, cwd=sample.harbor).code == 0


def test_version_help_quiet_and_verbose(sample: Sample, tmp_path: Path) -> None:
    assert layline("-V", cwd=sample.harbor).out.startswith("layline, version ")
    assert layline("help", "patches", "drift", cwd=sample.harbor).out.startswith("Usage: layline patches drift ")
    # an answer that another test has kept is given in silence
    loud = layline("patches", "drift", "keel", "-v", cwd=sample.harbor, env={"LAYLINE_CACHE": str(tmp_path)})
    assert "layline: part 1 of 3, our patches: reading the patches" in loud.err
    assert "layline: part 2 of 3, what they replace in Keel: comparing targets" in loud.err
    assert "layline: part 3 of 3, our other uses of Keel: " in loud.err
    assert layline("-q", "patches", "drift", "keel", cwd=sample.harbor).err == ""


def test_labels_are_names_and_the_only_backend_need_not_be_named(sample: Sample, tmp_path: Path) -> None:
    assert layline("gap", "show", "KEEL", "--format", "json", cwd=sample.harbor).json["backend"] == "keel"
    told = layline("gap", "show", cwd=sample.harbor)
    assert (told.code, "Name one of keel, spar, rivet, or use --all." in told.err) == (2, True)
    config = (sample.harbor / "layline.toml").read_text()
    alone = config[: config.index("[backends.spar]")].replace("../", f"{sample.root}/")
    (tmp_path / "layline.toml").write_text(alone.replace("[project]", f'[project]\ngit = "{sample.harbor}"', 1))
    assert layline("gap", "show", "--format", "json", cwd=tmp_path).json["backend"] == "keel"
    assert layline("patches", "drift", cwd=tmp_path).out.startswith("Keel: ")


def _complete(words: str, cwd: Path) -> list[str]:
    env = {
        "_LAYLINE_COMPLETE": "bash_complete",
        "COMP_WORDS": f"layline {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    told = layline(cwd=cwd, env=env)
    return [line.partition(",")[2] for line in told.out.splitlines() if line]


@pytest.mark.usefixtures("empty_cache")
def test_backends_and_patches_complete(sample: Sample) -> None:
    assert _complete("gap show k", sample.harbor) == ["keel"]
    assert _complete("patches show keel.sched", sample.harbor) == [], "nothing is read for a shell that waits"
    layline("patches", "list", cwd=sample.harbor)
    assert _complete("patches show keel.sched", sample.harbor) == ["keel.schedule.tacks"]


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time in /proc")
def test_interrupting_takes_less_than_a_second(sample: Sample) -> None:
    """Of a processor, from the signal on, while worker processes and threads are at work."""
    command = [sys.executable, "-m", "layline", "patches", "drift", "--all", "-v"]
    process = subprocess.Popen(
        command,
        cwd=sample.harbor,
        env={**os.environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  a shell's background jobs ignore it
    )
    with process:
        assert process.stderr is not None
        process.stderr.readline()  # it has begun
        before = _read_spent(process.pid)
        process.send_signal(signal.SIGINT)
        ended = os.pidfd_open(process.pid)
        assert select.select([ended], [], [], 300)[0], "it goes on"
        os.close(ended)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 130
        assert used.ru_utime + used.ru_stime - before < 1


def _read_spent(process: int) -> float:
    """Processor seconds of a process and of those it has waited for: other work does not change them."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(("told", "offered"), [(24, None), (25, "layline: 25 lines; `-o FILE` saves them.")])
def test_a_long_list_on_a_terminal_offers_a_file(told: int, offered: str | None) -> None:
    assert offer_file("a line\n" * told, 24) == offered


def test_an_option_before_its_command_is_told_where_it_stands(tmp_path: Path) -> None:
    told = layline("-c", "layline.toml", "gap", "show", cwd=tmp_path)
    assert told.code == 2
    assert "hint: Options come after the command, as in `layline gap show -c …`" in told.err


@pytest.mark.parametrize(("text", "day"), [("2026-05", date(2026, 5, 1)), ("2026-05-07", date(2026, 5, 7))])
def test_a_month_is_its_first_day(text: str, day: date) -> None:
    assert parse_month(text) == day


def test_help_of_the_patch_commands_reads_no_judge() -> None:
    """Start-up stays short: the words that `--kind` takes are known without the code that finds them."""
    script = (
        "import sys, layline.cli.patches_drift; print(*(name for name in sys.modules if name.startswith('layline.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms <= {"cli", "core", "patches", "errors"}, sorted(rooms)
