"""Results as lines and as JUnit's XML."""

from xml.etree import ElementTree as ET

from penstock.spark.testing.cases.model import Case, CaseResult, CaseStep, ExpectedOutput, Failure
from penstock.spark.testing.cases.report import junit_xml, result_lines, summary

STEP = CaseStep(dead_letters=ExpectedOutput(name="dead_letters"))
GOOD = CaseResult(path="a.tests.yaml", case=Case(name="good", line=2, steps=(STEP,)), duration_s=1.25)
BAD = CaseResult(
    path="b.tests.yaml",
    case=Case(name='<bad> & "quoted"', line=3, steps=(STEP,)),
    duration_s=0.5,
    failures=(Failure(message="output x\n  row 1 is missing: \x00", line=7), Failure(message="no line")),
)


def test_a_failed_case_has_its_lines() -> None:
    assert result_lines(GOOD) == ["ok     a.tests.yaml: good (1.2 s)"]
    assert result_lines(BAD) == [
        'FAILED b.tests.yaml: <bad> & "quoted" (0.5 s)',
        "    b.tests.yaml:7: output x",
        "      row 1 is missing: \x00",
        "    no line",
    ]
    assert summary([GOOD, BAD]) == "1 passed, 1 failed in 1.8 s"


def test_junit_has_a_suite_for_each_file() -> None:
    suites = ET.fromstring(junit_xml([GOOD, BAD]))
    assert [(each.get("name"), each.get("tests"), each.get("failures")) for each in suites] == [
        ("a.tests.yaml", "1", "0"),
        ("b.tests.yaml", "1", "1"),
    ]
    case = suites[1][0]
    assert (case.get("name"), case.get("line"), case.get("time")) == ('<bad> & "quoted"', "3", "0.500")
    assert case[0].get("message") == "b.tests.yaml:7: output x"
    assert case[0].text == "b.tests.yaml:7: output x\n  row 1 is missing: \N{REPLACEMENT CHARACTER}\nno line"
