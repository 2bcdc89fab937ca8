from penstock.spark.decode.settings import JsonDecoder
from penstock.spark.pipeline.core.model import Output, Pipeline, TopicSource
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.outputs import TableTarget, TopicTarget
from penstock.spark.pipeline.run.topics import BROKER_DEFAULT, missing_inputs, topic_problems, topics_written


def to_topic(name: str, topic: str, partitions: int | None = None) -> Output:
    return Output(name=name, input="orders", target=TopicTarget(topic=topic, partitions=partitions))


def pipeline(*outputs: Output, sources: tuple[TopicSource, ...]) -> Pipeline:
    return Pipeline(name="shop", sources=sources, outputs=outputs)


ORDERS = TopicSource(name="orders", topics=("orders",), line=3)
STRICT = TopicSource(name="orders", topics=("orders",), decoder=JsonDecoder(schema="id STRING"))


def test_topics_that_are_written_are_created_with_the_partitions_of_the_file_or_the_brokers() -> None:
    shop = pipeline(to_topic("a", "one", 3), to_topic("b", "two"), to_topic("c", "one"), sources=(ORDERS,))
    assert topics_written(shop, plan_queries(shop)) == {"one": 3, "two": BROKER_DEFAULT}


def test_the_dead_letter_topic_is_created_where_something_can_be_rejected() -> None:
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


def test_an_unknown_topic_is_reported_with_the_command_that_creates_it() -> None:
    shop = pipeline(to_topic("a", "b"), sources=(ORDERS,))
    (problem,) = missing_inputs(shop, ["xyz"], {})
    assert problem.message.endswith("which does not exist: create it with `penstock topic create orders`")


def reading(*sources: TopicSource, target: TopicTarget | None = None) -> Pipeline:
    chosen = target or TopicTarget(topic="out")
    return Pipeline(
        name="p", sources=sources, outputs=(Output(name="o", input=sources[0].name, target=chosen, line=9),)
    )


def reported(pipeline: Pipeline, partitions: dict[str, int]) -> list[tuple[int, bool, str]]:
    return [(each.line, each.is_warning, each.message) for each in topic_problems(pipeline, partitions)]


def test_a_topic_that_is_read_and_not_there_is_an_error_with_its_line() -> None:
    source = TopicSource(name="orders", topics=("oders", "b"), line=3)
    assert reported(reading(source), {"orders": 1, "b": 1}) == [
        (3, False, "source orders reads topic oders, which does not exist; did you mean `orders`?"),
    ]


def test_a_topic_that_the_pipeline_writes_itself_may_be_missing() -> None:
    decoder = JsonDecoder(schema="a INT")
    sources = (
        TopicSource(name="a", topics=("out",), decoder=decoder),
        TopicSource(name="d", topics=("p.dlq",)),
    )
    assert reported(reading(*sources), {}) == []


def test_a_pattern_that_matches_nothing_yet_is_worth_a_warning() -> None:
    source = TopicSource(name="events", pattern="events\\..*", line=3)
    assert reported(reading(source), {"events.a": 1}) == []
    assert reported(reading(source), {"events": 1}) == [
        (3, True, "source events: no topic matches `events\\..*` yet")
    ]


def test_partitions_that_a_topic_will_not_get_are_worth_a_warning() -> None:
    pipeline = reading(
        TopicSource(name="a", topics=("a",)), target=TopicTarget(topic="out", partitions=3, line=10)
    )
    assert reported(pipeline, {"a": 1}) == []
    assert reported(pipeline, {"a": 1, "out": 3}) == []
    ((line, is_warning, message),) = reported(pipeline, {"a": 1, "out": 1})
    assert (line, is_warning) == (10, True)
    assert message.startswith("output o: topic out has 1 partition(s) already, not 3")
