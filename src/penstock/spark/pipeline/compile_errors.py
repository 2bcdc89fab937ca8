"""What Spark says about a part of a pipeline, as a problem with a line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from penstock.spark.pipeline.problems import Problem


class CompileError(Exception):
    """One part of the pipeline does not make a frame. `of` is the name of that part."""

    def __init__(self, of: str, problem: Problem) -> None:
        super().__init__(problem.message)
        self.of = of
        self.problem = problem


# Where in a text of SQL Spark found something wrong: `(line 2, pos 7)`, or `line 2 pos 7` after a semicolon.
_PLACE = re.compile(r"[;(]?\s*line (\d+),? pos(?:ition)? \d+\)?")


CLASS_PREFIX = re.compile(r"^\([\w.]+\) ")  # what Spark Connect puts before a message
_NOT_FOUND = "Failed to find the data source: penstock"
_NOT_INSTALLED = (
    "; Penstock must be installed in the Python that Spark runs (PYSPARK_PYTHON), on its server too"
)


@contextmanager
def part(kind: str, name: str, line: int, *, sql_line: int = 0) -> Iterator[None]:
    """Whatever is raised inside is about this part: `step paid: …`, with its line.

    `sql_line` is where in the file the first line of the SQL that Spark was given would be.
    """
    try:
        yield
    except CompileError:
        raise
    except PySparkException as error:
        told = told_by_spark(error)
        if sql_line and (place := _PLACE.search(str(error))):
            line = sql_line + int(place[1]) - 1
            told = _PLACE.sub("", told).rstrip(". ")
        raise CompileError(name, Problem(message=f"{kind} {name}: {told}", line=line)) from error
    except Exception as error:  # a function of the user's may raise anything
        reason = str(error) or type(error).__name__
        if not isinstance(error, (ValueError, ImportError, AttributeError, OSError)):
            reason = f"{type(error).__name__}: {reason}"
        raise CompileError(name, Problem(message=f"{kind} {name}: {reason}", line=line)) from error


def told_by_spark(error: BaseException) -> str:
    """The sentence in an error of Spark's, without its plan, its trace and its SQLSTATE."""
    text = CLASS_PREFIX.sub("", str(error))
    for end in ("\n\nJVM stacktrace:", ";\n", "\n== SQL", "\n== DataFrame"):
        text = text.partition(end)[0]
    told = " ".join(text.partition(" SQLSTATE:")[0].split()).rstrip(".")
    return told + (_NOT_INSTALLED if _NOT_FOUND in told else "")
