import io
import json
import logging
from collections.abc import Iterator

import pytest

from penstock.observability.logs import configure_logging


@pytest.fixture(autouse=True)
def root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


def test_a_text_line_has_time_level_logger_and_message() -> None:
    stream = io.StringIO()
    configure_logging("info", "text", stream)
    logging.getLogger("penstock.storage").warning("cut %d bytes", 12)
    date, time, level, rest = stream.getvalue().rstrip("\n").split(" ", 3)
    assert len(date) == len("2026-05-04")
    assert len(time) == len("12:00:00.000")
    assert (level, rest) == ("WARNING", "penstock.storage: cut 12 bytes")


def test_a_json_line_is_one_object_with_extra_fields_beside_the_fixed_ones() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    logging.getLogger("penstock.server").info(
        "closed %s", "a\nb", extra={"peer": "127.0.0.1:5", "odd": object}
    )
    (line,) = stream.getvalue().splitlines()
    fields = json.loads(line)
    assert fields["message"] == "closed a\nb"
    assert fields["level"] == "INFO"
    assert fields["logger"] == "penstock.server"
    assert fields["peer"] == "127.0.0.1:5"
    assert fields["time"].endswith("Z")
    assert fields["odd"] == repr(object)
    assert set(fields) == {"time", "level", "logger", "message", "peer", "odd"}


def test_an_exception_stays_within_its_json_line() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    try:
        int("no such thing")
    except ValueError:
        logging.getLogger("penstock").exception("failed")
    (line,) = stream.getvalue().splitlines()
    assert "ValueError: invalid literal" in json.loads(line)["exception"]


def test_a_line_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    configure_logging("warning", "text", stream)
    logging.getLogger("penstock").info("quiet")
    assert stream.getvalue() == ""


def test_configuring_again_replaces_the_handler_instead_of_duplicating_lines() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logging("info", "text", first)
    configure_logging("info", "json", second)
    logging.getLogger("penstock").info("once")
    assert first.getvalue() == ""
    assert len(second.getvalue().splitlines()) == 1


def test_lines_go_to_standard_error_by_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging()
    logging.getLogger("penstock").info("hello")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("INFO penstock: hello\n")
