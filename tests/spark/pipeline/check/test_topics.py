from penstock.spark.pipeline.check.topics import topic_problems
from penstock.spark.pipeline.model import (
    JsonDecoder,
    Output,
    Pipeline,
    TopicSource,
    TopicTarget,
)


def pipeline(*sources: TopicSource, target: TopicTarget | None = None) -> Pipeline:
    chosen = target or TopicTarget(topic="out")
    return Pipeline(
        name="p", sources=sources, outputs=(Output(name="o", input=sources[0].name, target=chosen, line=9),)
    )


def told(checked: Pipeline, partitions: dict[str, int]) -> list[tuple[int, bool, str]]:
    return [(each.line, each.is_warning, each.message) for each in topic_problems(checked, partitions)]


def test_a_topic_that_is_read_and_not_there_is_an_error_with_its_line() -> None:
    source = TopicSource(name="orders", topics=("oders", "b"), line=3)
    assert told(pipeline(source), {"orders": 1, "b": 1}) == [
        (3, False, "source orders reads topic oders, which does not exist; did you mean `orders`?"),
    ]


def test_a_topic_that_the_pipeline_writes_itself_may_be_missing() -> None:
    decoder = JsonDecoder(schema="a INT")
    sources = (
        TopicSource(name="a", topics=("out",), decoder=decoder),
        TopicSource(name="d", topics=("p.dlq",)),
    )
    assert told(pipeline(*sources), {}) == []


def test_a_pattern_that_matches_nothing_yet_is_worth_a_warning() -> None:
    source = TopicSource(name="events", pattern="events\\..*", line=3)
    assert told(pipeline(source), {"events.a": 1}) == []
    assert told(pipeline(source), {"events": 1}) == [
        (3, True, "source events: no topic matches `events\\..*` yet")
    ]


def test_partitions_that_a_topic_will_not_get_are_worth_a_warning() -> None:
    checked = pipeline(
        TopicSource(name="a", topics=("a",)), target=TopicTarget(topic="out", partitions=3, line=10)
    )
    assert told(checked, {"a": 1}) == []
    assert told(checked, {"a": 1, "out": 3}) == []
    ((line, is_warning, message),) = told(checked, {"a": 1, "out": 1})
    assert (line, is_warning) == (10, True)
    assert message.startswith("output o: topic out has 1 partition(s) already, not 3")
