"""The cases of all examples, in one session, as `penstock pipeline test examples/` runs them."""

import pytest
from pyspark.sql import SparkSession

from examples.run import EXAMPLES, SCENARIOS, pipeline_file
from penstock.spark.testing.cases import command
from penstock.spark.testing.cases.find import read_file
from penstock.spark.testing.cases.model import CaseFile
from penstock.spark.testing.cases.run import run_case

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]


def cases_file(scenario: str) -> CaseFile:
    return read_file(str(pipeline_file(scenario).with_suffix(".tests.yaml")))


CASES = [(scenario, number) for scenario in SCENARIOS for number in range(len(cases_file(scenario).cases))]


@pytest.mark.parametrize(("scenario", "number"), CASES)
def test_the_examples_do_what_their_cases_say(scenario: str, number: int, spark: SparkSession) -> None:
    file = cases_file(scenario)
    result = run_case(file, file.cases[number], spark)
    assert result.failures == ()


def test_every_example_has_cases() -> None:
    found = {file.pipeline for file in command.read_files([str(EXAMPLES)])}
    assert found == {str(pipeline_file(scenario)) for scenario in SCENARIOS}
