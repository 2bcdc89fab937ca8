import re
import subprocess
import sys

import pytest

import penstock
from penstock.cli.main import run
from tests.cli.conftest import run_command
from tests.support.broker import BrokerProcess

ANSI = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = ("up", "topic", "produce", "consume", "group", "txn", "config", "log")


def test_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"penstock {penstock.__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = ANSI.sub("", capsys.readouterr().out)
    for command in COMMANDS:
        assert re.search(rf"^\W*{command} ", out, re.MULTILINE), command


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    out = ANSI.sub("", capsys.readouterr().out)
    assert f"Usage: penstock {command}" in out


@pytest.mark.parametrize("command", [["up"], ["consume"], ["topic", "create"], ["group", "lag"]])
def test_help_shows_no_python_types_and_plain_defaults(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--help"]) == 0
    out = ANSI.sub("", capsys.readouterr().out)
    assert not re.search("<(bool|str)>", out)
    assert not re.search(r"default:\s+\(", out)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nonsense"], "penstock: No such command 'nonsense'. See `penstock --help`\n"),
        (["topic", "create"], "penstock: Missing argument 'TOPIC'. See `penstock topic create --help`\n"),
        (
            ["topic", "list", "--nonsense"],
            "penstock: No such option: --nonsense. See `penstock topic list --help`\n",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_that_points_to_the_help(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", line)


def test_a_group_of_commands_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topic"]) == 2
    captured = capsys.readouterr()
    assert "create" in captured.out
    assert captured.err == ""


def test_an_unhandled_error_is_still_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.delenv("PENSTOCK_DEBUG", raising=False)
    monkeypatch.setattr("penstock.cli.data_directory.os.path.isdir", fail)
    assert run(["log", "verify", "."]) == 1
    captured = capsys.readouterr()
    assert "unhandled error (RuntimeError: two lines)" in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["topic", "describe", "{topic}"], ""),
        (["produce", "{topic}"], "a\n"),
        (["consume", "{topic}", "--no-follow"], ""),
        (["group", "list"], ""),
        (["txn", "list"], ""),
        (["config", "describe", "topic", "{topic}"], ""),
        (["quota", "list"], ""),
        (["user", "list"], ""),
    ],
    ids=lambda given: " ".join(given[:2]) if isinstance(given, list) else "",
)
def test_a_command_ends_its_process_with_0_and_prints_no_errors(
    arguments: list[str], stdin: str, topic: str, shared_broker: BrokerProcess
) -> None:
    """Threads of a client may neither keep the process nor print, which only a process can tell."""
    given = [each.format(topic=topic) for each in arguments]
    done = run_command(*given, "--bootstrap-server", shared_broker.bootstrap, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_prints_no_error() -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli.main", "config", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    writer.stdout.close()
    _, errors = writer.communicate(timeout=30)
    assert errors == b""
    assert writer.returncode == 1


def test_up_imports_no_client_and_no_parser_library() -> None:
    """`penstock up` must be quick: what only other commands need stays out of it."""
    code = (
        "import sys; from penstock.cli.main import run; run(['up', '--set', 'nonsense']); "
        "print([m for m in ('rich', 'typer', 'confluent_kafka') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "[]\n"
