"""Turns exceptions of Spark into problems with a line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from penstock.spark.pipeline.core.problems import Problem


class CompileError(Exception):
    """A part of the pipeline does not compile."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


# The position of an error in SQL: `(line 2, pos 7)`, or `line 2 pos 7` after a semicolon.
_SQL_POSITION = re.compile(r"[;(]?\s*line (\d+),? pos(?:ition)? \d+\)?")


CLASS_PREFIX = re.compile(r"^\([\w.]+\) ")  # Spark Connect's prefix of a message
_SYNTAX = "[PARSE_"
_NOT_FOUND = "Failed to find the data source: penstock"
_NOT_INSTALLED = (
    "; Penstock must be installed in the Python that Spark runs (PYSPARK_PYTHON), on its server too"
)


@contextmanager
def report_as(kind: str, name: str, line: int, *, sql_line: int = 0) -> Iterator[None]:
    """Report exceptions inside as problems of this part: `step paid: …`, with its line.

    `sql_line` is the line in the file of the first line of the SQL that Spark gets.
    """
    try:
        yield
    except CompileError:
        raise
    except PySparkException as error:
        message = short_message(error)
        if sql_line and (place := _SQL_POSITION.search(str(error))):
            line = sql_line + int(place[1]) - 1
            message = _SQL_POSITION.sub("", message).rstrip(". ")
        if _SYNTAX in message:
            message = f"is not valid SQL: {message}"
        raise CompileError(Problem(message=f"{kind} {name}: {message}", line=line)) from error
    except Exception as error:  # user code may raise anything
        reason = str(error) or type(error).__name__
        if not isinstance(error, (ValueError, ImportError, AttributeError, OSError)):
            reason = f"{type(error).__name__}: {reason}"
        raise CompileError(Problem(message=f"{kind} {name}: {reason}", line=line)) from error


def short_message(error: BaseException | str) -> str:
    """Return the message of an error of Spark, without its plan, its trace and its SQLSTATE."""
    text = CLASS_PREFIX.sub("", str(error))
    for end in ("\n\nJVM stacktrace:", ";\n", "\n== SQL", "\n== DataFrame"):
        text = text.partition(end)[0]
    message = " ".join(text.partition(" SQLSTATE:")[0].split()).rstrip(".")
    return message + (_NOT_INSTALLED if _NOT_FOUND in message else "")
