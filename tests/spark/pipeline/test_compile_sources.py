"""The options of sources: the same for both formats."""

from pathlib import Path

from penstock.spark.pipeline.compile_outputs import topic_sink
from penstock.spark.pipeline.compile_sources import beside, range_options, topic_options
from penstock.spark.pipeline.model import Pipeline, TopicSource

SHOP = Pipeline(
    name="shop",
    bootstrap_servers="a:1,b:2",
    kafka={"security.protocol": "SSL", "kafka.client.id": "me"},
    directory="/files",
    sources=(),
    outputs=(),
)


def options(**source: object) -> dict[str, str]:
    return topic_options(SHOP, TopicSource(name="s", topics=("x", "y"), **source))  # type: ignore[arg-type]


def test_a_source_is_told_its_topics_its_brokers_and_the_clients_properties() -> None:
    assert options() == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.security.protocol": "SSL",
        "kafka.client.id": "me",
        "kafka.isolation.level": "read_committed",
        "subscribe": "x,y",
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def test_a_file_may_ask_for_what_was_not_committed() -> None:
    asking = Pipeline(name="shop", kafka={"isolation.level": "read_uncommitted"}, sources=(), outputs=())
    told = topic_options(asking, TopicSource(name="s", topics=("x",)))
    assert told["kafka.isolation.level"] == "read_uncommitted"


def test_a_pattern_is_subscribed_to_as_one() -> None:
    told = topic_options(SHOP, TopicSource(name="s", pattern="x-.*"))
    assert told["subscribePattern"] == "x-.*"
    assert "subscribe" not in told


def test_a_source_may_begin_at_offsets_or_at_a_time() -> None:
    assert options(starting='{"x":{"0":4}}')["startingOffsets"] == '{"x":{"0":4}}'
    told = options(starting="2026-01-01T00:00:00Z")
    assert told["startingTimestamp"] == "1767225600000"
    assert "startingOffsets" not in told


def test_the_users_options_win() -> None:
    told = options(max_offsets_per_trigger=10, options={"includeHeaders": "false", "minPartitions": "4"})
    assert (told["maxOffsetsPerTrigger"], told["includeHeaders"], told["minPartitions"]) == (
        "10",
        "false",
        "4",
    )


def test_a_range_has_both_ends_and_nothing_about_streams() -> None:
    source = TopicSource(name="s", topics=("x",), options={"maxOffsetsPerTrigger": "5", "minPartitions": "4"})
    told = range_options(SHOP, source, {"x": {0: 1}}, {"x": {0: 9}})
    assert (told["startingOffsets"], told["endingOffsets"]) == ('{"x": {"0": 1}}', '{"x": {"0": 9}}')
    assert "maxOffsetsPerTrigger" not in told
    assert told["minPartitions"] == "4"


def test_paths_are_relative_to_the_file_and_urls_are_not(tmp_path: Path) -> None:
    assert beside(SHOP, "lake/x") == "/files/lake/x"
    assert beside(SHOP, str(tmp_path)) == str(tmp_path)
    assert beside(SHOP, "s3a://bucket/x") == "s3a://bucket/x"


def test_exactly_once_is_written_by_our_sink_whatever_reads() -> None:
    kafka = Pipeline(name="shop", source_format="kafka", sources=(), outputs=())
    assert topic_sink(kafka, "t", "exactly-once").format == "penstock"
    assert topic_sink(kafka, "t", "at-least-once").format == "kafka"
    assert topic_sink(SHOP, "t", "at-least-once").options["delivery"] == "at-least-once"
