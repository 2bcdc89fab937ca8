"""Extracts the cause of a failed query, one line, from Spark's exception. No I/O."""

import re

from penstock.spark.pipeline.compile.errors import CLASS_PREFIX, short_message
from penstock.spark.pipeline.compile.expectations import STOP_MARK
from penstock.spark.text import one_line

_WRAPPER = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ")
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w+)(?:: (.*))?$")
_CHARACTERS_MAX = 600


def is_expectation_stop(text: str) -> bool:
    return STOP_MARK in _without_plan(text)


def _without_plan(text: str) -> str:
    """Remove the query's plan, which contains the text of every expectation."""
    return text.partition("\n=== Streaming Query")[0]


def reason_of(text: str) -> str:
    text = CLASS_PREFIX.sub("", _without_plan(text))
    if is_expectation_stop(text):
        reason = text[text.index(STOP_MARK) + len(STOP_MARK) :]
        return one_line(reason.partition(" SQLSTATE:")[0].partition("\n")[0], _CHARACTERS_MAX)
    if _TRACEBACK in text:
        return _last_traceback_message(text)
    return one_line(short_message(_WRAPPER.sub("", text.strip())), _CHARACTERS_MAX)


def _last_traceback_message(text: str) -> str:
    lines = text[text.rindex(_TRACEBACK) :].splitlines()[1:]
    for place, line in enumerate(lines):
        if line and not line[0].isspace() and (raised := _RAISED.match(line)):
            more = [each for each in _until_blank(lines[place + 1 :]) if not each.startswith("SQLSTATE")]
            reason = " ".join(filter(None, (raised[2], *more))).partition(" SQLSTATE:")[0]
            return one_line(reason or raised[1], _CHARACTERS_MAX)
    return one_line(lines[-1] if lines else text, _CHARACTERS_MAX)


def _until_blank(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith(("at ", "SQLSTATE", "===")):
            break
        found.append(line)
    return found
