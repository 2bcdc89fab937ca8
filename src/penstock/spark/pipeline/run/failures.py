"""Extracts the cause of a failed query from Spark's exception, and decides whether a restart can help. No I/O.

A permanent failure comes back with every restart: wrong SQL, another state schema, a missing right, lost records. Such
a query is given up at once, with the whole message and with advice. `_PERMANENT` lists the kinds; any other failure is
retried.
"""

import re
from collections.abc import Callable

import msgspec

from penstock.spark.pipeline.compile.errors import CLASS_PREFIX, short_message
from penstock.spark.pipeline.compile.expectations import STOP_MARK
from penstock.spark.pipeline.core.secrets import redact
from penstock.spark.text import one_line

_WRAPPER = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ")
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w+)(?:: (.*))?$")
_CHARACTERS_MAX = 600
_PERMANENT_CHARACTERS_MAX = 4_000

_RESET = "`penstock pipeline reset FILE --output NAME` starts the output anew"


class Permanent(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of failure that a restart cannot help."""

    is_in: Callable[[str], bool]
    advice: str  # empty: the message says what to do


def _conditions(*names: str) -> Callable[[str], bool]:
    """Match Spark's error conditions, by the beginning of their names: `[UNRESOLVED_COLUMN.WITH_SUGGESTION]`."""
    pattern = re.compile(rf"\[(?:{'|'.join(names)})[A-Z0-9_.]*\]")
    return lambda text: pattern.search(text) is not None


def _raised(*names: str) -> Callable[[str], bool]:
    """Match exceptions of Python by the names of their classes, at the beginning of a line."""
    pattern = re.compile(rf"^\s*(?:[\w.]+\.)?(?:{'|'.join(names)}): ", re.MULTILINE)
    return lambda text: pattern.search(text) is not None


def _text(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.search(text) is not None


_PERMANENT = (
    Permanent(is_in=lambda text: STOP_MARK in text, advice=""),
    Permanent(
        is_in=_conditions(
            "STATE_STORE_KEY_", "STATE_STORE_VALUE_", "STATE_STORE_INVALID_", "STREAMING_STATEFUL_OPERATOR_"
        ),
        advice="The state in the checkpoint is that of another query. `penstock pipeline plan FILE` says what has "
        f"changed. Undo the change, or give the state up: {_RESET}",
    ),
    Permanent(
        is_in=_text(r"sources in the checkpoint offsets"),
        advice="The checkpoint is that of a query with other sources. `penstock pipeline plan FILE` says what has "
        f"changed. Undo the change, or give the checkpoint up: {_RESET}",
    ),
    Permanent(
        is_in=_conditions(
            "PARSE_",
            "UNRESOLVED_",
            "DATATYPE_MISMATCH",
            "TABLE_OR_VIEW_NOT_FOUND",
            "MISSING_AGGREGATION",
            "MISSING_GROUP_BY",
            "AMBIGUOUS_REFERENCE",
            "INVALID_SQL_SYNTAX",
            "WRONG_NUM_ARGS",
            "COLUMN_NOT_FOUND",
            "GROUP_BY_",
            "UNSUPPORTED_",
        ),
        advice="`penstock pipeline check FILE` finds such errors before a run",
    ),
    Permanent(
        is_in=_conditions(
            "DIVIDE_BY_ZERO",
            "CAST_INVALID_INPUT",
            "CAST_OVERFLOW",
            "ARITHMETIC_OVERFLOW",
            "DATETIME_OVERFLOW",
            "INVALID_ARRAY_INDEX",
            "NUMERIC_VALUE_OUT_OF_RANGE",
            "CANNOT_PARSE_TIMESTAMP",
            "INTERVAL_ARITHMETIC_OVERFLOW",
        ),
        advice="The same records are read again after a restart: let the SQL accept them (`try_divide`, "
        "`try_cast`, …), or sort them out with an expectation on the source",
    ),
    Permanent(
        is_in=_raised("SchemaMismatch"),
        advice="`penstock pipeline plan FILE` compares the file with its tables",
    ),
    Permanent(
        is_in=_raised("DataLoss", "OptionError", "SettingsError", "RowError", "DecoderError"), advice=""
    ),
    Permanent(
        is_in=_text(r"[Ss]ome data may have been (?:lost|missed)"),  # Spark's connector
        advice=f"Set option failOnDataLoss to false to continue without these records, or {_RESET}",
    ),
    Permanent(
        is_in=_text(
            r"[A-Z]_AUTHORIZATION_FAILED|(?:Topic|Group|Cluster|TransactionalId)AuthorizationException"
        ),
        advice="The user of the pipeline lacks a right: grant it with `penstock acl add`, and start the pipeline again",
    ),
    Permanent(
        is_in=_raised("AuthenticationFailed"),
        advice="Check the credentials under `kafka`, and start the pipeline again",
    ),
    Permanent(is_in=_text(r"MESSAGE_TOO_LARGE|RECORD_LIST_TOO_LARGE"), advice=""),
)


def _kind_of(text: str) -> Permanent | None:
    without_plan = _without_plan(text)
    return next((each for each in _PERMANENT if each.is_in(without_plan)), None)


def is_permanent(text: str) -> bool:
    return _kind_of(text) is not None


def is_expectation_stop(text: str) -> bool:
    return STOP_MARK in _without_plan(text)


def _without_plan(text: str) -> str:
    """Remove the query's plan, which contains the text of every expectation."""
    return text.partition("\n=== Streaming Query")[0]


def reason_of(text: str) -> str:
    """Return the cause in one line; of a permanent failure the whole message, with advice."""
    kind = _kind_of(text)
    if kind is None:
        return redact(one_line(_message_of(text), _CHARACTERS_MAX))
    message = redact(one_line(_message_of(text), _PERMANENT_CHARACTERS_MAX))
    return f"{message}. {kind.advice}" if kind.advice else message


def _message_of(text: str) -> str:
    text = CLASS_PREFIX.sub("", _without_plan(text))
    if STOP_MARK in text:
        reason = text[text.index(STOP_MARK) + len(STOP_MARK) :]
        return reason.partition(" SQLSTATE:")[0].partition("\n")[0]
    if _TRACEBACK in text:
        return _last_traceback_message(text)
    return short_message(_WRAPPER.sub("", text.strip()))


def _last_traceback_message(text: str) -> str:
    lines = text[text.rindex(_TRACEBACK) :].splitlines()[1:]
    for place, line in enumerate(lines):
        if line and not line[0].isspace() and (raised := _RAISED.match(line)):
            more = [each for each in _until_blank(lines[place + 1 :]) if not each.startswith("SQLSTATE")]
            return " ".join(filter(None, (raised[2], *more))).partition(" SQLSTATE:")[0] or raised[1]
    return lines[-1] if lines else text


def _until_blank(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith(("at ", "SQLSTATE", "===")):
            break
        found.append(line)
    return found
