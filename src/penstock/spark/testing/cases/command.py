"""`penstock pipeline test`: reads all cases before it starts Spark, then runs them one after the other."""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence

from pyspark.sql import SparkSession

from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.testing.cases.find import CasesNotFound, find_cases, read_file, select_cases
from penstock.spark.testing.cases.model import CaseFile, CaseResult
from penstock.spark.testing.cases.report import junit_xml, result_lines, summary
from penstock.spark.testing.cases.run import run_case
from penstock.spark.testing.session import start_test_session


class BadCases(Exception):
    """Some cases files are wrong. The text lists all problems, one per line."""


def read_files(paths: Iterable[str], pattern: str | None = None) -> list[CaseFile]:
    """Return the cases to run. Raises `BadCases` and `CasesNotFound`."""
    files, problems = [], []
    for path in find_cases(paths):
        try:
            files.append(read_file(path))
        except PipelineError as error:
            problems.append(str(error))
    if problems:
        raise BadCases("\n".join(problems))
    selected = select_cases(files, pattern)
    if not selected:
        raise CasesNotFound(f"no case has `{pattern}` in its name or in the path of its file")
    return selected


def run_files(
    files: Sequence[CaseFile],
    junit: str | None = None,
    *,
    spark: SparkSession | None = None,
    report: Callable[[str], None] = print,
) -> bool:
    """Run the cases in one session, report each one when it has ended, and say whether all passed."""
    results: list[CaseResult] = []
    with contextlib.ExitStack() as closing:
        # Opened first: a file that cannot be written is noticed before the cases have run.
        output = None if junit is None else closing.enter_context(open(junit, "w", encoding="utf-8"))
        session = spark or closing.enter_context(_session())
        for file in files:
            for case in file.cases:
                results.append(run_case(file, case, session))
                report("\n".join(result_lines(results[-1])))
        if output is not None:
            output.write(junit_xml(results))
    report(summary(results))
    return not any(result.failures for result in results)


@contextlib.contextmanager
def _session() -> Iterator[SparkSession]:
    with tempfile.TemporaryDirectory(prefix="penstock-cases-") as directory:
        session = start_test_session(directory)
        try:
            yield session
        finally:
            session.stop()
