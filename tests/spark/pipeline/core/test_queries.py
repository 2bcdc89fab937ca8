"""Which queries a pipeline is, and in which order `--once` runs them."""

import pytest

from penstock.spark.decode.settings import JsonDecoder, RawDecoder
from penstock.spark.pipeline.core.model import (
    Expectation,
    FilterStep,
    Otherwise,
    Output,
    Pipeline,
    Step,
    TopicSource,
)
from penstock.spark.pipeline.core.queries import (
    checkpoint_root,
    group_queries,
    plan_queries,
    plan_rounds,
    state_directory,
)
from penstock.spark.pipeline.outputs import ConsoleTarget, TableTarget, TopicTarget

JSON = JsonDecoder(schema="id STRING")


def pipeline(*outputs: Output, sources: tuple[TopicSource, ...], steps: tuple[Step, ...] = ()) -> Pipeline:
    return Pipeline(name="shop", sources=sources, steps=steps, outputs=outputs)


def source(topic: str, **more: object) -> TopicSource:
    return TopicSource(name=topic.replace("-", "_"), topics=(topic,), **more)  # type: ignore[arg-type]


def to_topic(name: str, reads: str, topic: str) -> Output:
    return Output(name=name, input=reads, target=TopicTarget(topic=topic))


def names_of(shop: Pipeline) -> list[tuple[list[str], bool]]:
    return [
        ([group.key for group in round_.groups], round_.repeats)
        for round_ in plan_rounds(group_queries(shop, plan_queries(shop), {}))
    ]


def test_each_output_and_each_place_that_rejects_is_a_query_of_its_own() -> None:
    shop = pipeline(
        Output(name="table", input="big", target=TableTarget(path="t")),
        Output(name="screen", input="orders", target=ConsoleTarget()),
        sources=(source("orders", decoder=JSON),),
        steps=(
            Step(
                name="big",
                inputs=("orders",),
                operation=FilterStep(condition="true"),
                expectations=(Expectation(name="e", rule="true", otherwise=Otherwise.DEAD_LETTER),),
            ),
        ),
    )
    assert [query.name for query in plan_queries(shop)] == [
        "shop.table",
        "shop.screen",
        "shop.dead-letters.orders",
        "shop.dead-letters.big",
    ]


def test_raw_bytes_reject_nothing_and_need_no_query_for_dead_letters() -> None:
    shop = pipeline(to_topic("copy", "orders", "copies"), sources=(source("orders", decoder=RawDecoder()),))
    assert [query.key for query in plan_queries(shop)] == ["copy"]


def test_a_source_that_no_output_reads_has_no_query_for_dead_letters() -> None:
    shop = pipeline(
        to_topic("copy", "orders", "copies"), sources=(source("orders"), source("unread", decoder=JSON))
    )
    assert [query.key for query in plan_queries(shop)] == ["copy"]


def test_an_output_has_its_own_trigger_or_the_pipelines() -> None:
    shop = Pipeline(
        name="shop",
        trigger_ms=500,
        sources=(source("orders"),),
        outputs=(
            to_topic("a", "orders", "x"),
            Output(name="b", input="orders", target=ConsoleTarget(), trigger_ms=9),
        ),
    )
    assert [query.trigger_ms for query in plan_queries(shop)] == [500, 9]


def test_queries_that_share_a_source_are_one_group_and_the_others_are_groups_of_their_own() -> None:
    shop = pipeline(
        Output(name="table", input="orders", target=TableTarget(path="t")),
        Output(name="seldom", input="orders", target=TableTarget(path="u"), trigger_ms=60_000),
        Output(name="totals", input="orders", target=TableTarget(path="v")),
        Output(name="copy", input="returns", target=TableTarget(path="w")),
        sources=(source("orders", decoder=JSON), source("returns")),
    )
    sources = {"table": "orders", "seldom": "orders", "dead-letters.orders": "orders", "copy": "returns"}
    groups = group_queries(shop, plan_queries(shop), sources)
    assert [(group.key, [member.key for member in group.members]) for group in groups] == [
        ("_source.orders", ["table", "dead-letters.orders"]),
        ("seldom", ["seldom"]),
        ("totals", ["totals"]),
        ("_source.returns", ["copy"]),
    ]


def test_a_group_comes_after_the_groups_that_write_what_it_reads() -> None:
    shop = pipeline(
        Output(name="history", input="paid", target=TableTarget(path="t")),
        to_topic("copy", "orders", "copies"),
        to_topic("pay", "orders", "paid"),
        sources=(source("orders"), source("paid")),
    )
    sources = {"history": "paid", "copy": "orders", "pay": "orders"}
    rounds = plan_rounds(group_queries(shop, plan_queries(shop), sources))
    assert [[group.key for group in each.groups] for each in rounds] == [["_source.orders"], ["_source.paid"]]


def test_a_query_comes_after_those_that_write_what_it_reads() -> None:
    shop = pipeline(
        to_topic("notify", "payments", "notifications"),
        to_topic("pay", "orders", "payments"),
        Output(name="ledger", input="notifications", target=TableTarget(path="t")),
        sources=(source("orders"), source("payments"), source("notifications")),
    )
    assert names_of(shop) == [(["pay"], False), (["notify"], False), (["ledger"], False)]


def test_a_pattern_reads_what_is_written_to_a_topic_that_it_matches() -> None:
    everything = TopicSource(name="everything", pattern="shop-.*")
    shop = pipeline(
        Output(name="audit", input="everything", target=TableTarget(path="t")),
        to_topic("pay", "orders", "shop-payments"),
        sources=(source("orders"), everything),
    )
    assert names_of(shop) == [(["pay"], False), (["audit"], False)]


def test_queries_that_feed_each_other_share_a_round_that_repeats() -> None:
    shop = pipeline(
        to_topic("ask", "replies", "requests"),
        to_topic("answer", "requests", "replies"),
        to_topic("begin", "orders", "requests"),
        Output(name="history", input="replies", target=TableTarget(path="t")),
        sources=(source("orders"), source("requests"), source("replies")),
    )
    assert names_of(shop) == [(["begin"], False), (["ask", "answer"], True), (["history"], False)]


def test_two_circles_are_two_rounds() -> None:
    shop = pipeline(
        to_topic("a", "x", "x"),
        to_topic("b", "y", "y"),
        sources=(source("x"), source("y")),
    )
    assert names_of(shop) == [(["a"], True), (["b"], True)]


def test_a_pipeline_that_reads_its_own_dead_letters_does_so_last() -> None:
    shop = pipeline(
        Output(name="letters", input="shop.dlq", target=TableTarget(path="t")),
        Output(name="table", input="orders", target=TableTarget(path="t")),
        sources=(source("orders", decoder=JSON), source("shop.dlq")),
    )
    assert names_of(shop) == [(["table", "dead-letters.orders"], False), (["letters"], False)]


@pytest.mark.parametrize(
    ("checkpoints", "root", "state"),
    [
        ("", "/files/.penstock/shop", "/files/.penstock/shop"),
        ("state", "/files/state", "/files/state"),
        ("/var/state", "/var/state", "/var/state"),
        ("file:///var/state/", "file:///var/state", "/var/state"),
        ("s3a://bucket/state", "s3a://bucket/state", "/files/.penstock/shop"),
    ],
)
def test_checkpoints_lie_beside_the_file_unless_it_says_where(
    checkpoints: str, root: str, state: str
) -> None:
    shop = Pipeline(name="shop", checkpoints=checkpoints, directory="/files", sources=(), outputs=())
    assert (checkpoint_root(shop), state_directory(shop)) == (root, state)
