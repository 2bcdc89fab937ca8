import io
import sys

import pytest

from penstock.cli.output import print_json, print_table
from penstock.cli.produce import _progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_table_in_a_pipe_is_plain_columns_that_are_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "count"), [("x" * 300, 1), ("y", None)])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "COUNT"]
    assert first == "x" * 300 + "  1"
    assert second == "y" + " " * 301 + "-"


def test_a_table_on_a_terminal_shows_brackets_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    print_table(("name", "doc"), [("a", "[bold]not markup[/bold] " + "long " * 30)])
    assert "[bold]not markup[/bold]" in terminal.getvalue()
    assert terminal.getvalue().count("long") == 30


def test_json_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": ["b\n"]})
    assert capsys.readouterr().out == '{"a":["b\\n"]}\n'


def test_a_file_that_is_sent_shows_a_bar_on_a_terminal_and_nothing_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with _progress(1_000_000) as advance:
        advance(1_000_000)
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with _progress(1_000_000) as advance:
        advance(1_000_000)
    assert "1.0/1.0 MB" in terminal.getvalue()
