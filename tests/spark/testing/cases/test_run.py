"""Cases run against a pipeline, and what they report when it is wrong."""

import textwrap
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.testing.cases import command
from tests.cli.conftest import call_command

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

PIPELINE = """
pipeline: prices
sources:
  orders:
    topic: orders
    decode: {json: "id STRING NOT NULL, customer INT, amount DOUBLE"}
    expect: [{name: positive, rule: amount > 0}]
  customers: {table: ./customers}
steps:
  - name: priced
    sql: SELECT o.id, c.name, o.amount * ${FACTOR:-2} AS amount FROM orders o JOIN customers c ON o.customer = c.id
outputs:
  priced: {from: priced, console: true}
"""
CASES = """\
cases:
  - name: a broken pipeline fails
    environment: {FACTOR: "3"}
    given:
      customers: {rows: [{id: 1, name: Alice}, {id: 2, name: Bob}], schema: "id INT, name STRING"}
      orders:
        - {value: {id: a, customer: 1, amount: 5}}
        - {value: {id: b, customer: 2, amount: 7}}
        - {value: {id: c, customer: 2, amount: -7}}
    expect:
      priced:
        - {id: a, name: Alice, amount: 15}
        - {id: b, name: Bob, amount: 22}
      expectations: {orders: {positive: 2}}
"""
DEAD_LETTER = (
    '{"step": "orders", "error": "expectation broken: positive (amount > 0)", "value": {"id": "c", "customer": 2, '
    '"amount": -7}, "key": null, "topic": "orders", "partition": 0, "offset": 2}'
)


def test_a_broken_pipeline_fails_with_a_difference_that_names_the_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "prices.yaml").write_text(PIPELINE)
    path = tmp_path / "prices.tests.yaml"
    path.write_text(CASES)
    junit = tmp_path / "junit.xml"
    said: list[str] = []
    files = command.read_files([str(tmp_path)])
    assert not command.run_files(files, str(junit), spark=spark, report=said.append)
    failed, summary = said
    assert failed.splitlines()[1:] == [
        f"    {path}:11: output priced",
        "      row 2 (line 13): `amount` is 21.0, expected 22",
        '        in {"id": "b", "name": "Bob", "amount": 21.0}',
        f"    {path}:2: dead letters",
        f"      unexpected row: {DEAD_LETTER}",
        f"    {path}:14: 1 row(s) of orders broke `positive`, expected 2",
    ]
    assert summary.startswith("0 passed, 1 failed in ")
    assert 'tests="1" failures="1"' in junit.read_text()


def test_a_wrong_cases_file_ends_the_command_with_status_two(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PIPELINE)
    path = tmp_path / "prices.tests.yaml"
    path.write_text(
        textwrap.dedent("""\
        cases:
          - name: c
            given: {order: []}
        """)
    )
    done = call_command("pipeline", "test", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{path}:3: case c: the pipeline has no source `order`; did you mean `orders`?\n"


def test_nothing_to_run_ends_the_command_with_status_two(tmp_path: Path) -> None:
    assert call_command("pipeline", "test", str(tmp_path)).returncode == 2
    (tmp_path / "prices.yaml").write_text(PIPELINE)
    (tmp_path / "prices.tests.yaml").write_text("cases: [{name: c, given: {}}]")
    done = call_command("pipeline", "test", str(tmp_path), "-k", "other")
    assert (done.returncode, done.stderr.count("no case has `other` in its name")) == (2, 1)


def test_a_pipeline_that_does_not_load_fails_its_cases(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("pipeline: prices\nsource: {}\n")
    (tmp_path / "prices.tests.yaml").write_text("cases: [{name: c, given: {}}]")
    said: list[str] = []
    assert not command.run_files(command.read_files([str(tmp_path)]), spark=spark, report=said.append)
    assert (
        f"    {tmp_path}/prices.yaml:2: pipeline file: unknown key `source`; did you mean `sources`?"
        in said[0]
    )
