"""Reports the results of cases: lines for people, and JUnit's XML for build servers. No I/O."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from penstock.spark.testing.cases.model import CaseResult, Failure


def result_lines(result: CaseResult) -> list[str]:
    state = "FAILED" if result.failures else "ok"
    lines = [f"{state:7}{result.path}: {result.case.name} ({result.duration_s:.1f} s)"]
    for failure in result.failures:
        lines += [f"    {line}" for line in failure_text(result, failure).splitlines()]
    return lines


def failure_text(result: CaseResult, failure: Failure) -> str:
    return f"{result.path}:{failure.line}: {failure.message}" if failure.line else failure.message


def summary(results: Sequence[CaseResult]) -> str:
    failed = sum(bool(result.failures) for result in results)
    seconds = sum(result.duration_s for result in results)
    return f"{len(results) - failed} passed, {failed} failed in {seconds:.1f} s"


def junit_xml(results: Sequence[CaseResult]) -> str:
    """Return a test suite for each cases file, with a test case for each case."""
    suites = []
    for path in dict.fromkeys(result.path for result in results):
        inside = [result for result in results if result.path == path]
        failed = sum(bool(result.failures) for result in inside)
        seconds = sum(result.duration_s for result in inside)
        suites.append(
            f'  <testsuite name={_attribute(path)} tests="{len(inside)}" failures="{failed}" errors="0" '
            f'skipped="0" time="{seconds:.3f}">'
        )
        for result in inside:
            suites += _junit_case(result)
        suites.append("  </testsuite>")
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>", ""])


def _junit_case(result: CaseResult) -> list[str]:
    begin = (
        f"    <testcase classname={_attribute(result.path)} name={_attribute(result.case.name)} "
        f'file={_attribute(result.path)} line="{result.case.line}" time="{result.duration_s:.3f}"'
    )
    if not result.failures:
        return [begin + "/>"]
    texts = [failure_text(result, failure) for failure in result.failures]
    failure = f"      <failure message={_attribute(texts[0].splitlines()[0])}>"
    return [begin + ">", failure + escape(_printable("\n".join(texts))) + "</failure>", "    </testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(_printable(text))


def _printable(text: str) -> str:
    """XML has no control characters but tabs and line ends."""
    return "".join(
        each if each in "\t\n" or each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text
    )
