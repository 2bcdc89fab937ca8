"""What Spark finds wrong: each case is a file, with `#!` on the line that the message must name."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.pipeline.check.analysis import Analysis, analyse
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.load import load
from penstock.spark.pipeline.yaml.file import read_yaml

pytestmark = pytest.mark.xdist_group("spark")

FILES = Path(__file__).parent.parent / "files"

ORDERS = (
    "pipeline: p\n"
    "sources:\n"
    "  orders:\n"
    "    topic: orders\n"
    "    decode: {json: 'id STRING, amount DOUBLE, at TIMESTAMP'}\n"
)
LATE = "    watermark: {column: at, delay: 1 m}\n"


def step(*lines: str, head: str = ORDERS, mode: str = "append") -> str:
    """A file whose step `s` has these lines, over the source `orders`."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{head}steps:\n  - name: s\n{body}outputs:\n  out:\n    from: s\n    console: true\n    mode: {mode}\n"


def output(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"{ORDERS}outputs:\n  out:\n    from: orders\n{body}"


def marked(text: str, line: str) -> str:
    return text.replace(f"{line}\n", f"{line}  #!\n", 1)


BROKEN = [
    # -- columns and SQL
    (
        step("sql: |", "  SELECT id,", "         amuont  --#!", "    FROM orders"),
        "`amuont` cannot be resolved. Did you",
    ),
    (step("sql: SELECT id, amuont FROM orders  #!"), "[`amount`, "),
    (
        step("sql: |", "  SELECT id", "  FRM orders  --#!", "  WHERE x IN (SELECT 1 FROM orders)"),
        "Syntax error at or near",
    ),
    (step("sql: SELECT id, FROM orders  #!"), "step s: is not valid SQL: [PARSE_SYNTAX_ERROR] Syntax error"),
    (step("from: orders", "filter: amount >  #!"), "step s: is not valid SQL: "),
    (step("sql: SELECT nofunction(id) FROM orders  #!"), "Cannot resolve routine `nofunction`"),
    (step("sql: SELECT id + at FROM orders  #!"), "id + at"),
    (step("from: orders", "filter: amuont > 0  #!"), "step s: "),
    (step("from: orders", "filter: amount  #!"), "boolean"),
    (step("from: orders", "dedupe: order  #!"), "order"),
    (
        step("from: orders", "watermark: {column: when, delay: 1 m}", "filter: 'true'  #!"),
        "the watermark is on `when`, which no input of the step has",
    ),
    (
        step(
            "from: orders",
            "window: {on: at, size: 1 m, aggregates: {n: sum(amuont)}}  #!",
            head=ORDERS + LATE,
        ),
        "`amuont`",
    ),
    (
        step("from: orders", "window: {on: at, size: 1 m, aggregates: {n: amount}}  #!", head=ORDERS + LATE),
        "amount",
    ),
    (
        step(
            "from: [orders, other]",
            "join: {on: orders.id = other.nothing}  #!",
            head=ORDERS + "  other: {topic: other, decode: {json: 'id STRING'}}\n",
        ),
        "`other`.`nothing`",
    ),
    (
        step(
            "from: [orders, other]",
            "join: {on: orders.id = other.id}  #!",
            head=ORDERS + "  other: {topic: other, decode: {json: 'id STRING'}}\n",
        ),
        "both sides have id",
    ),
    # -- sources
    (
        output("console: true").replace("amount DOUBLE, at TIMESTAMP'}", "amount DUBBLE'}  #!"),
        "source orders: ",
    ),
    (ORDERS + "    expect:\n      - amuont > 0  #!\n" + output("console: true")[len(ORDERS) :], "`amuont`"),
    (
        ORDERS + "    expect:\n      - amount  #!\n" + output("console: true")[len(ORDERS) :],
        "is not a condition: its type is",
    ),
    (
        ORDERS + "  gone:  #!\n    table: ./nowhere\n" + output("console: true")[len(ORDERS) :],
        "source gone: there is no table at",
    ),
    # -- outputs
    (output("topic: t  #!", "key: nothing"), "output out: "),
    (output("topic: t  #!", "value: to_json(nothing)"), "`nothing`"),
    (output("topic: t  #!", "headers: {a: nothing}"), "`nothing`"),
    (output("table: t  #!", "partition_by: [day]"), "partition_by names `day`, which the rows do not have"),
    # -- functions
    (step("from: orders", "python: 'nowhere.py:f'  #!"), "there is no file"),
    (step("from: orders", "python: 'steps.py:nothing'  #!"), "steps.py has no `nothing`"),
    (
        step("from: orders", "python: 'steps.py:tag'  #!"),
        "missing 1 required positional argument",
    ),
    (step("from: orders", "python: 'builtins:id'  #!"), "returned int, not a DataFrame"),
    (
        step("from: orders", "state: {by: id, processor: 'steps.py:Counter', schema: n NUMBR}  #!"),
        "NUMBR",
    ),
    # -- what streams cannot do
    (
        marked(step("sql: SELECT * FROM orders ORDER BY amount"), "  out:"),
        "output out: Sorting is not supported on streaming DataFrames",
    ),
    (
        marked(step("sql: SELECT id, count(*) AS n FROM orders GROUP BY id"), "  out:"),
        "aggregations without watermark",
    ),
    (
        marked(step("sql: SELECT id FROM orders", mode="complete"), "  out:"),
        "Invalid streaming output mode: complete",
    ),
    (
        marked(
            step("sql: 'SELECT id, count(*) AS n FROM orders GROUP BY id'", "expect: [n > 0]", mode="update"),
            "- name: s",
        ),
        "dead letters of s: [STREAMING_OUTPUT_MODE",
    ),
]


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[f"{n}-{m}" for n, (_t, m) in enumerate(BROKEN)])
def test_sparks_errors_are_reported_with_their_line(spark: SparkSession, text: str, message: str) -> None:
    (problem,) = _analysed(spark, text).problems
    assert message in problem.message
    assert "\n" not in problem.message
    assert text.split("\n")[problem.line - 1].rstrip().endswith("#!")


def test_all_causes_are_reported_and_their_consequences_are_not(spark: SparkSession) -> None:
    text = (
        f"{ORDERS}steps:\n"
        "  - {name: a, sql: SELECT nothing FROM orders}\n"
        "  - {name: b, sql: SELECT * FROM a}\n"
        "  - {name: c, from: orders, filter: nobody > 0}\n"
        "outputs:\n"
        "  b: {from: b, console: true}\n"
        "  c: {from: c, console: true}\n"
        "  d: {from: orders, topic: d, key: nowhere}\n"
    )
    analysis = _analysed(spark, text)
    assert [problem.line for problem in analysis.problems] == [7, 9, 13]
    assert set(analysis.columns) == {"orders"}


def test_a_file_with_one_of_everything_passes_and_its_columns_are_known(
    spark: SparkSession, tmp_path: Path
) -> None:
    analysis = analyse(spark, _every_kind(spark, tmp_path, "every_kind.yaml"))
    assert analysis.problems == ()
    assert analysis.columns["per_minute"] == (
        ("window_start", "timestamp"),
        ("window_end", "timestamp"),
        ("customer", "string"),
        ("total", "double"),
        ("n", "bigint"),
    )
    assert analysis.columns["invoices"] == (("number", "string"), ("cents", "bigint"))
    assert analysis.columns["tagged"][-1] == ("country", "string")
    assert analysis.columns["counted"] == (("customer", "string"), ("n", "bigint"))


def test_both_forms_are_found_to_have_the_same_columns(spark: SparkSession, tmp_path: Path) -> None:
    in_yaml = analyse(spark, _every_kind(spark, tmp_path, "every_kind.yaml"))
    assert analyse(spark, load(str(tmp_path / "every_kind.py"))) == in_yaml


def _analysed(spark: SparkSession, text: str) -> Analysis:
    return analyse(spark, read_yaml(text, str(FILES / "broken.yaml"), {}))


def _every_kind(spark: SparkSession, directory: Path, name: str) -> Pipeline:
    """The pipeline in a directory that also has the table it reads."""
    shutil.copytree(FILES, directory, dirs_exist_ok=True)
    table = spark.createDataFrame([("c1", "NZ")], "id STRING, country STRING")
    table.write.format("penstock_lake").option("path", str(directory / "customers")).option(
        "format", "parquet"
    ).mode("append").save()
    return load(str(directory / name), {})
