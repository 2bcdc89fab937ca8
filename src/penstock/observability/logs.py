"""Logging to standard error, as text or as one JSON object per line.

The standard library's `logging`, because a call below the level costs one comparison. Nothing here is global but
the root logger's handler, which `configure_logging` replaces, so calling it twice does not double the lines.

    text   2026-05-04 12:00:01.250 WARNING penstock.storage.segment: Rebuilt the indexes of ...
    json   {"time":"2026-05-04T12:00:01.250Z","level":"WARNING","logger":"penstock.storage.segment","message":"..."}
"""

import logging
import sys
import time
from typing import Any, Literal, TextIO

import msgspec

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

# The attributes of every LogRecord: the caller added any others with `extra=`, and they belong in the JSON.
_OWN_FIELDS = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"))


class TextFormatter(logging.Formatter):
    """Local time, level, logger, message; a traceback follows on its own lines."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        line = f"{seconds}.{int(record.msecs):03d} {record.levelname} {record.name}: {record.getMessage()}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JsonFormatter(logging.Formatter):
    """One object a line, in UTC; fields given with `extra=` stand beside the fixed ones."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields: dict[str, Any] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in vars(record).items():
            if name not in _OWN_FIELDS:
                fields.setdefault(name, value)
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        # A value that JSON cannot encode must not lose the line.
        return msgspec.json.encode(fields, enc_hook=repr).decode()


def configure_logging(
    level: LogLevel = "info", form: LogFormat = "text", stream: TextIO | None = None
) -> None:
    """Send every log line at `level` or above to `stream`, standard error unless it is given."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        if isinstance(old, logging.StreamHandler) and isinstance(
            old.formatter, TextFormatter | JsonFormatter
        ):
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    # Thread, process and task names are not logged: collecting them is the larger part of the cost of a record.
    logging.logThreads = False
    logging.logProcesses = False
    logging.logMultiprocessing = False
