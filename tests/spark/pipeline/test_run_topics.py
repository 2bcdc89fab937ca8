"""The topics of a pipeline before it starts."""

from penstock.spark.pipeline.model import JsonDecoder, Output, Pipeline, TableTarget, TopicSource, TopicTarget
from penstock.spark.pipeline.queries import plan_queries
from penstock.spark.pipeline.run_topics import BROKER_DEFAULT, missing_inputs, topics_written


def to_topic(name: str, topic: str, partitions: int | None = None) -> Output:
    return Output(name=name, input="orders", target=TopicTarget(topic=topic, partitions=partitions))


def pipeline(*outputs: Output, sources: tuple[TopicSource, ...]) -> Pipeline:
    return Pipeline(name="shop", sources=sources, outputs=outputs)


ORDERS = TopicSource(name="orders", topics=("orders",), line=3)
STRICT = TopicSource(name="orders", topics=("orders",), decoder=JsonDecoder(schema="id STRING"))


def test_topics_that_are_written_are_made_with_the_partitions_of_the_file_or_the_brokers() -> None:
    shop = pipeline(to_topic("a", "one", 3), to_topic("b", "two"), to_topic("c", "one"), sources=(ORDERS,))
    assert topics_written(shop, plan_queries(shop)) == {"one": 3, "two": BROKER_DEFAULT}


def test_the_topic_of_dead_letters_is_made_where_something_can_be_rejected() -> None:
    table = Output(name="table", input="orders", target=TableTarget(path="t"))
    strict, raw = pipeline(table, sources=(STRICT,)), pipeline(table, sources=(ORDERS,))
    assert topics_written(strict, plan_queries(strict)) == {"shop.dlq": BROKER_DEFAULT}
    assert topics_written(raw, plan_queries(raw)) == {}


def test_a_topic_that_is_read_must_be_there_or_be_written_by_the_pipeline() -> None:
    both = TopicSource(name="both", topics=("payments", "ordres"), line=5)
    shop = pipeline(to_topic("a", "payments"), sources=(ORDERS, both))
    (problem,) = missing_inputs(shop, ["orders"], {"payments": 1})
    assert (problem.line, problem.message) == (
        5,
        "source both reads topic ordres, which does not exist; did you mean `orders`?",
    )


def test_a_pattern_may_match_nothing_yet() -> None:
    shop = pipeline(to_topic("a", "b"), sources=(TopicSource(name="logs", pattern="logs-.*"),))
    assert missing_inputs(shop, [], {}) == []


def test_a_topic_like_no_other_is_told_how_to_be_made() -> None:
    shop = pipeline(to_topic("a", "b"), sources=(ORDERS,))
    (problem,) = missing_inputs(shop, ["xyz"], {})
    assert problem.message.endswith("which does not exist: make it with `penstock topic create orders`")
