"""Outputs that share the reads of a source: one refuses, a driver dies between two commits, checkpoints are old."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from penstock.spark import batch_write
from penstock.spark.lake.formats import TABLE_FORMATS, open_table
from penstock.spark.pipeline.core.model import (
    Expectation,
    Otherwise,
    Output,
    Pipeline,
    Restart,
    SqlStep,
    Step,
)
from penstock.spark.pipeline.outputs import TableTarget, TopicTarget
from penstock.spark.pipeline.progress.status import DONE, FAILED
from penstock.spark.pipeline.run import runner, shared
from tests.spark.lake.support import read
from tests.spark.pipeline.run.test_runner import Shop, ids, order, states
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


@pytest.fixture
def shop(shared_broker: BrokerProcess, tmp_path: Path, spark: SparkSession) -> Shop:
    shop = Shop(shared_broker, tmp_path, spark)
    shop.create("orders")
    return shop


def table(name: str, **more: Any) -> Output:
    return Output(name=name, input="orders", target=TableTarget(path=f"lake/{name}", **more))


def copy(shop: Shop) -> Output:
    target = TopicTarget(topic=shop.topic("copy"), key="id", partitions=1)
    return Output(name="copy", input="orders", target=target)


def pipeline_of(shop: Shop, *outputs: Output) -> Pipeline:
    pipeline = shop.pipeline(*outputs, sources=(shop.source("orders"),))
    return replace(pipeline, restart=Restart(attempts=0, backoff_ms=100))


def test_an_output_that_refuses_its_batches_gets_them_later_and_holds_nobody_up(shop: Shop) -> None:
    pipeline = pipeline_of(shop, table("good"), table("blocked"), copy(shop))
    blocked = shop.directory / "lake" / "blocked"
    blocked.parent.mkdir()
    blocked.write_text("a file where the table should be")
    for number in range(2):
        shop.produce("orders", [order(number), f"no json {number}"])
        result = shop.run_once(pipeline)
        assert states(result) == {
            "good": DONE,
            "blocked": FAILED,
            "copy": DONE,
            "dead-letters.orders": DONE,
        }
        assert "blocked" in result.given_up[f"{shop.name}.blocked"]
    assert ids(shop.table("lake/good")) == ids(shop.read(shop.topic("copy"))) == ["o0", "o1"]

    blocked.unlink()
    shop.produce("orders", [order(2)])
    assert shop.run_once(pipeline).exit_code == 0
    assert ids(shop.table("lake/blocked")) == ["o0", "o1", "o2"]

    shop.produce("orders", [order(3)])
    last = shop.run_once(pipeline)  # in step again, and an output is added, which gets everything
    more = replace(pipeline, outputs=(*pipeline.outputs, table("added")))
    assert (last.exit_code, shop.run_once(more).exit_code) == (0, 0)
    for name in ("good", "blocked", "added"):
        assert ids(shop.table(f"lake/{name}")) == ["o0", "o1", "o2", "o3"]
    assert len(shop.messages(f"{shop.name}.dlq")) == 2


def test_checkpoints_of_single_outputs_are_continued_where_each_of_them_is(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_of(shop, table("ahead"), table("behind"), table("replayed"))
    with monkeypatch.context() as before:  # as it was when every output was a query
        before.setattr(runner, "sources_to_share", lambda *_: {})
        shop.produce("orders", [order(0)])
        assert shop.run_once(pipeline).exit_code == 0
        shop.produce("orders", [order(1), "no json"])
        assert (
            shop.run_once(replace(pipeline, outputs=(pipeline.outputs[0], pipeline.outputs[2]))).exit_code
            == 0
        )
    checkpoints = shop.directory / ".penstock" / shop.name
    for name in ("1", ".1.crc"):  # as if Spark had died before it wrote this
        (checkpoints / "replayed" / "commits" / name).unlink()

    shop.produce("orders", [order(2)])
    assert shop.run_once(pipeline).exit_code == 0
    assert shop.run_once(pipeline).exit_code == 0
    for name in ("ahead", "behind", "replayed"):
        assert ids(shop.table(f"lake/{name}")) == ["o0", "o1", "o2"]
    assert len(shop.messages(f"{shop.name}.dlq")) == 1


def test_rows_that_break_a_rule_of_a_step_are_counted_once(shop: Shop) -> None:
    step = Step(
        name="big",
        inputs=("orders",),
        operation=SqlStep(query="SELECT * FROM orders"),
        expectations=(Expectation(name="positive", rule="amount > 0", otherwise=Otherwise.DROP),),
    )
    outputs = [replace(table(name), input="big") for name in ("a", "b")]
    pipeline = replace(pipeline_of(shop, *outputs), steps=(step,))
    shop.produce("orders", [order(1), order(2, -1)])
    result = shop.run_once(pipeline)
    broken = [query.broken["big"]["positive"] for query in result.status.queries if query.broken.get("big")]
    assert broken == [1]
    assert [query.rows for query in result.status.queries] == [2, 2, 2]


# -- drivers that die


class Killed(Exception):
    """The driver is gone."""


class Steps:
    """Kills the driver before one of the steps with which batches are written: none of the later ones is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None  # steps until the kill; None: nobody is killed
        for owner, name in (
            (shared.SharedBatches, "_write"),
            (shared.SharedBatches, "_refuse"),
            (batch_write, "_commit"),
            (batch_write, "_observed"),
        ):
            monkeypatch.setattr(owner, name, self._before(getattr(owner, name)))

    def _before(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise Killed
            return step(*arguments)

        return run


def write_through_kills(
    shop: Shop, outputs: tuple[Output, ...], steps: Steps, first: int, stride: int
) -> int:
    """Let each run die one step later than the last one, until one gets to its end; return the number of kills."""
    pipeline = pipeline_of(shop, *outputs)
    at, number = first, 0
    while True:
        shop.produce("orders", [order(number), f"no json {number}"])
        number += 1
        steps.left = at
        shop.run_once(pipeline)
        was_killed = steps.left < 0
        steps.left = None
        assert shop.run_once(pipeline).exit_code == 0
        if not was_killed:
            break
        at += stride
    expected = sorted(f"o{each}" for each in range(number))
    for output in outputs:
        if isinstance(output.target, TableTarget):
            found = sorted(
                row["id"] for row in read(open_table(str(shop.directory / output.target.path)), "id")
            )
        else:
            found = ids(shop.read(shop.topic("copy")))
        assert found == expected, output.name
    assert len(shop.messages(f"{shop.name}.dlq")) == number
    return number - 1


def every_kind(shop: Shop) -> tuple[Output, ...]:
    return (*(table(name, format=name) for name in TABLE_FORMATS), copy(shop))


def test_a_driver_that_dies_between_two_commits_leaves_nothing_out_and_nothing_twice(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = (table("delta", format="delta"), copy(shop))
    assert write_through_kills(shop, outputs, Steps(monkeypatch), 2, 3) >= 2


@pytest.mark.soak
def test_a_driver_may_die_before_every_step_of_every_kind_of_output(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_through_kills(shop, every_kind(shop), Steps(monkeypatch), 0, 1) >= 11
