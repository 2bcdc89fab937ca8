"""Cases read from YAML, and every problem with its line."""

import textwrap
from pathlib import Path

import pytest

from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.testing.cases.find import read_file
from penstock.spark.testing.cases.model import CaseFile
from penstock.spark.testing.cases.read import read_cases
from penstock.spark.testing.compare import Containing

PIPELINE = """
pipeline: p
sources:
  orders: {topic: orders, expect: [{name: positive, rule: amount > 0}]}
  logs: {pattern: "logs[.].*"}
  customers: {table: ./customers}
outputs:
  paid: {from: orders, topic: paid}
  history: {from: orders, table: ./history}
"""


def cases(path: Path, text: str) -> CaseFile:
    file = path / "p.tests.yaml"
    file.write_text(textwrap.dedent(text))
    return read_cases(str(file), str(path / "p.yaml"), {"LIMIT": "7"})


def problems(path: Path, text: str) -> list[str]:
    (path / "p.yaml").write_text(PIPELINE)
    file = path / "p.tests.yaml"
    file.write_text(textwrap.dedent(text))
    with pytest.raises(PipelineError) as raised:
        read_file(str(file))
    return [line.removeprefix(f"{path}/p.tests.yaml:") for line in str(raised.value).splitlines()]


def test_values_of_records_are_json_text_bytes_or_null(tmp_path: Path) -> None:
    file = cases(
        tmp_path,
        """\
        cases:
          - name: values
            given:
              orders:
                - {value: {id: 5, at: 2026-03-01, ok: true, no: no, list: [1.50, null, "1"]}, key: 007}
                - {value: plain text, timestamp: "2026-03-01T12:00:00Z", partition: 2}
                - {value: !!binary "/w==", headers: {a: text, b: !!binary "/g==", c: null}, topic: other}
                - {value: null, key: {id: 1}, timestamp: 5}
        """,
    )
    (step,) = file.cases[0].steps
    records = [each.record for each in step.given[0].records]
    assert [each.value for each in records] == [
        b'{"id":5,"at":"2026-03-01","ok":true,"no":"no","list":[1.5,null,"1"]}',
        b"plain text",
        b"\xff",
        None,
    ]
    assert [each.key for each in records] == [b"007", None, None, b'{"id":1}']
    assert records[1].timestamp_ms == 1_772_366_400_000
    assert records[1].partition == 2
    assert records[2].headers == (("a", b"text"), ("b", b"\xfe"), ("c", None))
    assert step.given[0].records[2].topic == "other"
    assert records[3].timestamp_ms == 5


def test_a_case_expects_rows_dead_letters_and_counts(tmp_path: Path) -> None:
    file = cases(
        tmp_path,
        """\
        x-row: &row {a: 1}
        environment: {LIMIT: "${LIMIT}", OTHER: x}
        cases:
          - name: everything
            environment: {OTHER: y}
            steps:
              - given:
                  customers: {rows: [{id: 1}], schema: id BIGINT}
                restart_after: kill
                expect:
                  paid:
                    - *row
                    - {<<: *row, b: 2}
                  history: {contains: [{a: 1}], count: 3}
                  dead_letters: [{error: not JSON}]
                  expectations: {orders: {positive: 2}}
              - expect: {failure: broke the expectation, paid: {rows: [], ordered: true}}
        """,
    )
    (case,) = file.cases
    first, second = case.steps
    assert case.environment == {"LIMIT": "7", "OTHER": "y"}
    assert (first.given[0].rows, first.given[0].schema, first.restart_after) == (
        ({"id": 1},),
        "id BIGINT",
        "kill",
    )
    paid, history = first.outputs
    assert paid.rows is not None
    assert (paid.rows.rows, paid.rows.lines) == (({"a": 1}, {"a": 1, "b": 2}), (11, 13))
    assert history.rows is not None
    assert (history.rows.is_partial, history.rows.allows_others, history.count) == (True, True, 3)
    assert first.dead_letters.rows is not None
    assert first.dead_letters.rows.rows == ({"error": Containing("not JSON")},)
    assert [(each.owner, each.rule, each.rows) for each in first.broken] == [("orders", "positive", 2)]
    assert second.failure == "broke the expectation"
    assert second.dead_letters.rows is not None
    assert second.dead_letters.rows.rows == ()


def test_all_problems_are_reported_with_their_lines(tmp_path: Path) -> None:
    assert problems(
        tmp_path,
        """\
        cases:
          - name: wrong keys
            given:
              orders:
                - {valeu: 5, key: k}
                - {value: 5, timestamp: tomorrow}
                - plain
            expects: {}
          - given: {}
            restart_after: crash
            expect:
              paid: {contain: []}
              dead_letters: [{reason: x}]
              history: [5, {a: 1, a: 2}]
              expectations: {orders: {positive: few}}
        """,
    ) == [
        "5: case wrong keys: given: orders: `value` is missing: write `value: …`, or `value: null` for a record without one",  # noqa: E501
        "5: case wrong keys: given: orders: unknown key `valeu`; did you mean `value`?",
        "6: case wrong keys: given: orders: `timestamp` `tomorrow` is not a time: write it like 2026-01-31T08:00:00Z",
        "7: case wrong keys: given: orders: must be a mapping (`key: value` lines), not text",
        "8: case wrong keys: unknown key `expects`; did you mean `expect`?",
        "9: case 2: `name` is missing",
        "10: case 2: `restart_after` cannot be `crash`: write one of `stop`, `kill`",
        "12: case 2: expect: paid: has none of `rows`, `contains` and `count`",
        "12: case 2: expect: paid: unknown key `contain`; did you mean `contains`?",
        "13: case 2: expect: dead_letters: unknown key `reason`: a dead letter has `step`, `error`, `topic`, `partition`, `offset`, `key`, `value`",  # noqa: E501
        "14: case 2: expect: row: must be a mapping (`key: value` lines), not text",
        "14: case 2: expect: row: `a` is here twice (first on line 14): keep one",
        "15: case 2: expect: expectations: orders: `positive` must be a whole number of at least 0, not `few`",
    ]


def test_names_that_the_pipeline_does_not_have_are_reported(tmp_path: Path) -> None:
    assert problems(
        tmp_path,
        """\
        cases:
          - name: c
            given:
              order: []
              logs:
                - {value: x}
              customers:
                - {value: x}
              orders: {rows: []}
            expect:
              payed: []
              history: {rows: [], ordered: true}
              expectations: {orders: {negative: 1}, paid: {x: 1}}
        """,
    ) == [
        "4: case c: the pipeline has no source `order`; did you mean `orders`?",
        "5: case c: source logs reads several topics: write `topic: …` in each of its records",
        "7: case c: `customers` is a table: write `customers: {rows: […]}`",
        "9: case c: `orders` is a topic: write a list of records, each with a `value`",
        "11: case c: the pipeline has no output `payed`; did you mean `paid`?",
        "12: case c: `ordered` is for topics: the rows of table history have no order",
        "13: case c: the pipeline has no expectation of orders named `negative`: it has `positive`",
        "13: case c: the pipeline has no source or step `paid`: it has `orders`, `logs`",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty: write `cases:`"),
        ("cases: []", "`cases` is missing"),
        ("case: []", "unknown key `case`; did you mean `cases`?"),
        ("cases: [{name: c}]", "has neither `given` and `expect` nor `steps`"),
        ("cases: [{name: c, steps: [], given: {}}]", "move it into a step"),
        ('cases: [{name: c, given: {orders: [{value: !!binary "%"}]}}]', "`!!binary` is not base64"),
        ('cases: [{name: c, given: {orders: [{value: {a: !!binary "/w=="}}]}}]', "cannot be inside JSON"),
        ("cases: [{name: c, expect: {paid: {contains: [], ordered: true}}}]", "cannot be beside `contains`"),
        ("cases: [{", "is not YAML"),
    ],
)
def test_a_file_that_is_wrong_says_how(tmp_path: Path, text: str, problem: str) -> None:
    assert any(problem in each for each in problems(tmp_path, text)), problems(tmp_path, text)
