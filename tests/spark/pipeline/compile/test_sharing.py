"""Which outputs are made of the batches of one source, by Spark's own plans."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.decode.settings import JsonDecoder
from penstock.spark.pipeline.check.analysis import analyse
from penstock.spark.pipeline.core.model import (
    DedupeStep,
    Expectation,
    FilterStep,
    JoinStep,
    Operation,
    Output,
    Pipeline,
    PythonStep,
    SqlStep,
    Step,
    TopicSource,
    Watermark,
    WindowStep,
)
from penstock.spark.pipeline.outputs import ConsoleTarget

pytestmark = pytest.mark.xdist_group("spark")

SCHEMA = "id STRING NOT NULL, amount DOUBLE, at TIMESTAMP"


def source(name: str) -> TopicSource:
    watermark = Watermark(column="at", delay_ms=1_000)
    return TopicSource(name=name, topics=(name,), decoder=JsonDecoder(schema=SCHEMA), watermark=watermark)


def with_table(frame: DataFrame) -> DataFrame:
    return frame.join(frame.sparkSession.range(5).toDF("amount"), "amount")


def doubled(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("id", "amount * 2 AS amount")


def counted(frame: DataFrame) -> DataFrame:
    return frame.groupBy("id").count()


STATELESS: dict[str, Operation] = {
    "big": FilterStep(condition="amount > 5"),
    "picked": SqlStep(query="SELECT id, explode(array(1, 2)) AS n FROM orders WHERE amount > 1"),
    "both": SqlStep(query="SELECT id FROM orders UNION ALL SELECT upper(id) FROM orders"),
    "python": PythonStep(function=doubled),
    "with_table": PythonStep(function=with_table),
}
STATEFUL: dict[str, Operation] = {
    "totals": SqlStep(query="SELECT id, sum(amount) AS total FROM orders GROUP BY id"),
    "distinct": SqlStep(query="SELECT DISTINCT id FROM orders"),
    "window": WindowStep(on="at", size_ms=1_000, aggregates={"n": "count(*)"}),
    "dedupe": DedupeStep(by=("id",)),
    "itself": SqlStep(query="SELECT a.id FROM orders a JOIN orders b ON a.id = b.id AND a.at = b.at"),
    "counted": PythonStep(function=counted),
}


def test_what_works_row_by_row_shares_the_reads_of_its_source(spark: SparkSession) -> None:
    kinds = {**STATELESS, **STATEFUL}
    steps = [Step(name=name, inputs=("orders",), operation=each) for name, each in kinds.items()]
    steps.append(Step(name="later", inputs=("totals",), operation=FilterStep(condition="total > 1")))
    rule = Expectation(name="named", rule="id <> ''")
    steps.append(
        Step(name="checked", inputs=("big",), operation=FilterStep(condition="true"), expectations=(rule,))
    )
    joined = JoinStep(on="orders.id = returns.id AND orders.at = returns.at", select="orders.id")
    steps.append(Step(name="joined", inputs=("orders", "returns"), operation=joined))
    names = ["orders", *(step.name for step in steps)]
    outputs = [
        Output(
            name=f"to_{name}",
            input=name,
            target=ConsoleTarget(),
            mode="update" if name in ("totals", "counted", "later", "distinct") else "append",
        )
        for name in names
    ]
    pipeline = Pipeline(
        name="shop", sources=(source("orders"), source("returns")), steps=tuple(steps), outputs=tuple(outputs)
    )
    analysis = analyse(spark, pipeline)
    assert not analysis.problems
    assert set(analysis.checkpoints) == {
        "to_orders",
        *(f"to_{name}" for name in STATELESS),
        "to_checked",
        "dead-letters.orders",
        "dead-letters.checked",
        "dead-letters.returns",
    }
    assert analysis.checkpoints["to_python"] == "_source.orders"
    assert analysis.checkpoints["dead-letters.returns"] == "_source.returns"
