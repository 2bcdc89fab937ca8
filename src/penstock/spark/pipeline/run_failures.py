"""What a person is told of a failed query: one line out of Spark's many. Pure."""

import re

from penstock.spark.pipeline.compile_errors import CLASS_PREFIX, told_by_spark
from penstock.spark.pipeline.compile_expectations import STOP_MARK

_WRAPPER = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ")
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w+)(?:: (.*))?$")
_CHARACTERS_MAX = 600


def is_stop(text: str) -> bool:
    """Whether an expectation stopped the query: trying again would only stop it again."""
    return STOP_MARK in _without_plan(text)


def _without_plan(text: str) -> str:
    """Spark adds the query's plan, in which the words of every expectation stand."""
    return text.partition("\n=== Streaming Query")[0]


def reason_of(text: str) -> str:
    """The cause in the text of an exception of Spark's."""
    text = CLASS_PREFIX.sub("", _without_plan(text))
    if is_stop(text):
        told = text[text.index(STOP_MARK) + len(STOP_MARK) :]
        return _one_line(told.partition(" SQLSTATE:")[0].partition("\n")[0])
    if _TRACEBACK in text:
        return _raised_in(text)
    return _one_line(told_by_spark(_Told(_WRAPPER.sub("", text.strip()))))


def _raised_in(text: str) -> str:
    """The last line of the last Python traceback: what was raised, in its own words."""
    lines = text[text.rindex(_TRACEBACK) :].splitlines()[1:]
    for place, line in enumerate(lines):
        if line and not line[0].isspace() and (raised := _RAISED.match(line)):
            more = [each for each in _until_blank(lines[place + 1 :]) if not each.startswith("SQLSTATE")]
            told = " ".join(filter(None, (raised[2], *more))).partition(" SQLSTATE:")[0]
            return _one_line(told or raised[1])
    return _one_line(lines[-1] if lines else text)


def _until_blank(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith(("at ", "SQLSTATE", "===")):
            break
        found.append(line)
    return found


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS_MAX else f"{line[: _CHARACTERS_MAX - 1]}…"


class _Told(Exception):
    """A text for a function that wants an exception."""
