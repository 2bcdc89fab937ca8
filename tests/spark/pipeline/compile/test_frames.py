"""A pipeline becomes frames: run as batches over a few rows, in the shared session."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.decode.settings import JsonDecoder, RawDecoder
from penstock.spark.pipeline.compile.frames import Compiled, compile_frames
from penstock.spark.pipeline.core.model import (
    DedupeStep,
    Expectation,
    FilterStep,
    JoinStep,
    Operation,
    Otherwise,
    Output,
    Pipeline,
    PythonStep,
    Source,
    SqlStep,
    StateStep,
    Step,
    TableSource,
    TopicSource,
    Watermark,
    WindowStep,
)
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.outputs import TopicTarget
from penstock.spark.pipeline.run.failures import is_expectation_stop, reason_of

pytestmark = pytest.mark.xdist_group("spark")

TOPIC_SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
ORDERS = TopicSource(
    name="orders", topics=("orders",), decoder=JsonDecoder(schema="id STRING, amount DOUBLE, at TIMESTAMP")
)
ROWS = (
    '{"id": "a", "amount": 5, "at": "2026-01-01T00:00:01Z"}',
    '{"id": "b", "amount": -1, "at": "2026-01-01T00:00:02Z"}',
    '{"id": "a", "amount": 7, "at": "2026-01-01T00:00:11Z"}',
)


def records(spark: SparkSession, topic: str, values: tuple[str | None, ...]) -> DataFrame:
    rows: list[tuple[Any, ...]] = [
        (None, value.encode() if value is not None else None, topic, 0, offset, datetime(2026, 1, 1), 0, [])
        for offset, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, TOPIC_SCHEMA)


class Bench:
    """Compiles steps over the orders and gives the rows of a frame."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.values: dict[str, tuple[str | None, ...]] = {"orders": ROWS}
        self.tables: dict[str, DataFrame] = {}

    def read(self, source: Source) -> DataFrame:
        if isinstance(source, TableSource):
            return self.tables[source.name]
        return records(self.spark, source.name, self.values[source.name])

    def compile(
        self,
        *steps: Step,
        sources: tuple[Source, ...] = (ORDERS,),
        directory: str = ".",
        collect: bool = False,
    ) -> Compiled:
        pipeline = Pipeline(
            name="shop",
            sources=sources,
            steps=steps,
            outputs=(Output(name="out", input=sources[0].name, target=TopicTarget(topic="t")),),
            directory=directory,
        )
        compiled = compile_frames(self.spark, pipeline, self.read)
        if not collect:
            compiled.raise_problems(pipeline)
        return compiled

    def rows(self, operation: Operation, *inputs: str, **more: Any) -> list[dict[str, Any]]:
        watermark = more.pop("watermark", None)
        step = Step(name="s", inputs=inputs or ("orders",), operation=operation, watermark=watermark, line=9)
        return rows_of(self.compile(step, **more).frames["s"])


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.drop("_record").collect()]


@pytest.fixture
def bench(spark: SparkSession) -> Bench:
    return Bench(spark)


# -- sources and steps


def test_a_source_gives_its_fields_and_the_record_they_came_from(bench: Bench) -> None:
    frame = bench.compile().frames["orders"]
    assert frame.columns[:3] == ["id", "amount", "at"]
    first = frame.orderBy("at").first()
    assert first is not None
    assert (first.id, first._record.topic, first._record.offset) == ("a", "orders", 0)


def test_sql_reads_earlier_names_and_may_have_a_with_of_its_own(bench: Bench) -> None:
    query = "WITH big AS (SELECT * FROM orders WHERE amount > 4) SELECT id, sum(amount) AS total FROM big GROUP BY id;"
    assert bench.rows(SqlStep(query=query)) == [{"id": "a", "total": 12.0}]


def test_no_view_is_left_behind(bench: Bench) -> None:
    before = {table.name for table in bench.spark.catalog.listTables()}
    bench.rows(SqlStep(query="SELECT * FROM orders"))
    assert {table.name for table in bench.spark.catalog.listTables()} == before


def test_a_filter_keeps_the_rows_of_its_condition(bench: Bench) -> None:
    assert [row["amount"] for row in bench.rows(FilterStep(condition="amount > 5"))] == [7.0]


def test_a_python_function_beside_the_file_gets_the_frames_in_order(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(
        "from pyspark.sql.functions import udf\n"
        "def shout(frame):\n"
        "    loud = udf(lambda text: _loud(text))\n"
        "    return frame.select(loud('id').alias('id'))\n"
        "def _loud(text):\n"
        "    return text.upper()\n"
    )
    result = bench.rows(PythonStep(function="steps.py:shout"), directory=str(tmp_path))
    assert sorted(row["id"] for row in result) == ["A", "A", "B"]


def test_duplicates_are_dropped_by_key(bench: Bench) -> None:
    step = DedupeStep(by=("id",), within_ms=1_000)
    result = bench.rows(step, watermark=Watermark(column="at", delay_ms=1_000))
    assert sorted(row["id"] for row in result) == ["a", "b"]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"size_ms": 10_000}, [("00:00", "00:10", 4.0), ("00:10", "00:20", 7.0)]),
        (
            {"size_ms": 10_000, "slide_ms": 5_000},
            [
                ("59:55", "00:05", 4.0),
                ("00:00", "00:10", 4.0),
                ("00:05", "00:15", 7.0),
                ("00:10", "00:20", 7.0),
            ],
        ),
        ({"size_ms": 0, "session_gap_ms": 3_000}, [("00:01", "00:05", 4.0), ("00:11", "00:14", 7.0)]),
    ],
    ids=["tumbling", "sliding", "session"],
)
def test_windows_have_a_start_an_end_and_their_aggregates(
    bench: Bench, window: dict[str, int], expected: list[tuple[str, str, float]]
) -> None:
    step = WindowStep(on="at", aggregates={"total": "sum(amount)"}, **window)  # type: ignore[arg-type]
    result = sorted(bench.rows(step), key=lambda row: row["window_start"])
    assert [
        (*(f"{row[end].astimezone(UTC):%M:%S}" for end in ("window_start", "window_end")), row["total"])
        for row in result
    ] == expected
    assert list(result[0]) == ["window_start", "window_end", "total"]


def test_a_window_may_be_kept_by_key(bench: Bench) -> None:
    step = WindowStep(on="at", size_ms=60_000, by=("id",), aggregates={"n": "count(*)"})
    assert sorted((row["id"], row["n"]) for row in bench.rows(step)) == [("a", 2), ("b", 1)]


CUSTOMERS = TableSource(name="customers", path="customers")


def test_a_join_with_a_table_has_the_columns_that_are_selected(bench: Bench) -> None:
    bench.tables["customers"] = bench.spark.createDataFrame([("a", "Ada")], "id STRING, name STRING")
    step = JoinStep(
        on="orders.id = customers.id", how="left", select="orders.id, customers.name, orders.amount"
    )
    result = bench.rows(step, "orders", "customers", sources=(ORDERS, CUSTOMERS))
    assert sorted((row["id"], row["name"], row["amount"]) for row in result) == [
        ("a", "Ada", 5.0),
        ("a", "Ada", 7.0),
        ("b", None, -1.0),
    ]


def test_a_join_of_everything_keeps_one_record_and_refuses_doubled_columns(bench: Bench) -> None:
    payments = TopicSource(
        name="payments", topics=("payments",), decoder=JsonDecoder(schema="orderId STRING, paid BOOLEAN")
    )
    bench.values["payments"] = ('{"orderId": "b", "paid": true}',)
    step = Step(
        name="s", inputs=("orders", "payments"), operation=JoinStep(on="orders.id = payments.orderId")
    )
    frame = bench.compile(step, sources=(ORDERS, payments)).frames["s"]
    assert frame.columns.count("_record") == 1
    assert [(row.id, row.paid, row._record.topic) for row in frame.collect()] == [("b", True, "orders")]
    itself = Step(name="s", inputs=("orders", "more"), operation=JoinStep(on="orders.id = more.id"))
    more = Step(name="more", inputs=("orders",), operation=FilterStep(condition="true"))
    with pytest.raises(
        PipelineError, match="both sides have amount, at, id: name the columns you want in `select`"
    ):
        bench.compile(more, itself)


def test_a_processor_keeps_state_by_key(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "totals.py").write_text(
        "import pandas as pd\n"
        "from pyspark.sql.streaming import StatefulProcessor\n"
        "class Totals(StatefulProcessor):\n"
        "    def init(self, handle):\n"
        "        self._total = handle.getValueState('total', 'total DOUBLE')\n"
        "    def handleInputRows(self, key, rows, timerValues):\n"
        "        total = self._total.get()[0] if self._total.exists() else 0.0\n"
        "        total += sum(frame['amount'].sum() for frame in rows)\n"
        "        self._total.update((total,))\n"
        "        yield pd.DataFrame({'id': [key[0]], 'total': [total]})\n"
        "    def close(self):\n"
        "        pass\n"
    )
    step = StateStep(by=("id",), processor="totals.py:Totals", schema="id STRING, total DOUBLE")
    only = SqlStep(query="SELECT id, amount FROM orders")
    steps = (
        Step(name="few", inputs=("orders",), operation=only),
        Step(name="s", inputs=("few",), operation=step),
    )
    result = rows_of(bench.compile(*steps, directory=str(tmp_path)).frames["s"])
    assert sorted((row["id"], row["total"]) for row in result) == [("a", 12.0), ("b", -1.0)]


# -- expectations and rejected rows


def rule(otherwise: Otherwise, text: str = "amount > 0", name: str = "positive") -> Expectation:
    return Expectation(name=name, rule=text, otherwise=otherwise, line=7)


def orders(*expectations: Expectation) -> tuple[Source, ...]:
    return (
        TopicSource(name="orders", topics=("orders",), decoder=ORDERS.decoder, expectations=expectations),
    )


@pytest.mark.parametrize(
    ("otherwise", "amounts"),
    [(Otherwise.WARN, [-1.0, 5.0, 7.0]), (Otherwise.DROP, [5.0, 7.0]), (Otherwise.DEAD_LETTER, [5.0, 7.0])],
)
def test_rows_that_break_a_rule_go_on_only_after_a_warning(
    bench: Bench, otherwise: Otherwise, amounts: list[float]
) -> None:
    frame = bench.compile(sources=orders(rule(otherwise))).frames["orders"]
    assert sorted(row["amount"] for row in rows_of(frame)) == amounts


def test_what_does_not_decode_or_breaks_a_rule_is_rejected_with_its_reason(bench: Bench) -> None:
    bench.values["orders"] = (*ROWS, "no json", None)
    compiled = bench.compile(sources=orders(rule(Otherwise.DEAD_LETTER)))
    rejected = {row._record.offset: row._error for row in compiled.rejected["orders"].collect()}
    assert sorted(rejected) == [1, 3, 4]
    assert rejected[1] == "expectation broken: positive (amount > 0)"
    assert "null" in rejected[4]
    assert sorted(row["amount"] for row in rows_of(compiled.frames["orders"])) == [5.0, 7.0]


def test_the_first_broken_rule_decides(bench: Bench) -> None:
    first_drops = orders(
        rule(Otherwise.DROP, name="first"), rule(Otherwise.DEAD_LETTER), rule(Otherwise.STOP)
    )
    compiled = bench.compile(sources=first_drops)
    assert compiled.rejected["orders"].collect() == []
    assert len(rows_of(compiled.frames["orders"])) == 2


def test_a_rule_that_gives_null_is_broken(bench: Bench) -> None:
    bench.values["orders"] = ('{"id": "a"}',)
    assert rows_of(bench.compile(sources=orders(rule(Otherwise.DROP))).frames["orders"]) == []


def test_a_stop_names_the_rule_its_line_and_the_record(bench: Bench) -> None:
    frame = bench.compile(sources=orders(rule(Otherwise.STOP))).frames["orders"]
    with pytest.raises(PySparkException) as caught:
        frame.filter("amount > 100").select("id").collect()  # what follows does not save it
    assert is_expectation_stop(str(caught.value))
    assert reason_of(str(caught.value)) == (
        "orders broke the expectation `positive` (line 7): amount > 0; by the record at offset 1 of orders-0"
    )


def test_a_stop_without_a_record_shows_the_row(bench: Bench) -> None:
    step = Step(
        name="totals",
        inputs=("orders",),
        operation=SqlStep(query="SELECT id, sum(amount) AS total FROM orders GROUP BY id"),
        expectations=(rule(Otherwise.STOP, "total > 0"),),
    )
    with pytest.raises(PySparkException, match=r'by the row \{"id":"b","total":-1.0\}'):
        bench.compile(step).frames["totals"].collect()


def test_a_steps_rejected_rows_are_its_own(bench: Bench) -> None:
    step = Step(
        name="big",
        inputs=("orders",),
        operation=FilterStep(condition="amount > 0"),
        expectations=(rule(Otherwise.DEAD_LETTER, "amount < 6"),),
    )
    compiled = bench.compile(step)
    assert [row._record.offset for row in compiled.rejected["big"].collect()] == [2]
    assert compiled.rejected["orders"].collect() == []


# -- problems


@pytest.mark.parametrize(
    ("step", "line", "message"),
    [
        (Step(name="s", line=9, inputs=("orders",), operation=FilterStep(condition="amout > 1")), 9, "amout"),
        (
            Step(
                name="s",
                line=9,
                inputs=("orders",),
                operation=SqlStep(line=11, query="SELECT id\nFROM orders\nWHERE id = = 3"),
            ),
            13,
            "Syntax error at or near '='",
        ),
        (
            Step(
                name="s",
                line=9,
                inputs=("orders",),
                operation=SqlStep(line=11, query="SELECT id,\n  idd\nFROM orders"),
            ),
            12,
            "`idd` cannot be resolved",
        ),
        (
            Step(name="s", line=9, inputs=("orders",), operation=PythonStep(function="nowhere.py:f")),
            9,
            "there is no file",
        ),
        (
            Step(name="s", line=9, inputs=("orders",), operation=PythonStep(function=lambda _: 3)),
            9,
            "returned int, not a DataFrame",
        ),
        (
            Step(
                name="s",
                line=9,
                inputs=("orders",),
                operation=FilterStep(condition="true"),
                watermark=Watermark(column="when", delay_ms=1),
            ),
            9,
            "the watermark is on `when`, which no input of the step has",
        ),
        (
            Step(
                name="s",
                line=9,
                inputs=("orders",),
                operation=FilterStep(condition="true"),
                expectations=(Expectation(name="e", rule="amount + 1", line=10),),
            ),
            10,
            "is not a condition: its type is double",
        ),
    ],
)
def test_a_problem_is_reported_with_the_step_and_its_line(
    bench: Bench, step: Step, line: int, message: str
) -> None:
    with pytest.raises(PipelineError) as caught:
        bench.compile(step)
    (problem,) = caught.value.problems
    assert (problem.line, message in problem.message, "s" in problem.message) == (line, True, True), problem
    assert "\n" not in problem.message


def test_causes_are_reported_and_not_the_problems_that_follow_from_them(bench: Bench) -> None:
    steps = (
        Step(name="one", inputs=("orders",), operation=FilterStep(condition="nothing > 1")),
        Step(name="two", inputs=("one",), operation=FilterStep(condition="amount > 1")),
        Step(name="three", inputs=("orders",), operation=FilterStep(condition="nobody > 1")),
        Step(name="four", inputs=("orders",), operation=FilterStep(condition="amount > 1")),
    )
    compiled = bench.compile(*steps, collect=True)
    assert [problem.message.split(":")[0] for problem in compiled.problems] == ["step one", "step three"]
    assert sorted(compiled.frames) == ["four", "orders"]


def test_raw_bytes_pass_as_they_are(bench: Bench) -> None:
    bench.values["raw"] = (json.dumps({"x": 1}), None)
    source = TopicSource(name="raw", topics=("raw",), decoder=RawDecoder())
    result = rows_of(bench.compile(sources=(source,)).frames["raw"])
    assert [row["value"] and bytes(row["value"]) for row in result] == [b'{"x": 1}', None]


def test_a_source_that_may_stop_can_be_read_twice_in_one_query(bench: Bench) -> None:
    query = "SELECT a.id, b.amount FROM orders a JOIN orders b ON a.id = b.id AND a.at = b.at"
    step = Step(name="s", inputs=("orders",), operation=SqlStep(query=query))
    sources = orders(rule(Otherwise.STOP, "amount > -5"))
    assert len(rows_of(bench.compile(step, sources=sources).frames["s"])) == 3
