import pytest

from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.outputs import TopicTarget


@pytest.mark.parametrize(
    ("source_format", "delivery", "sink_format"),
    [
        ("kafka", "exactly-once", "penstock"),
        ("kafka", "at-least-once", "kafka"),
        ("penstock", "at-least-once", "penstock"),
    ],
)
def test_only_penstocks_own_sink_writes_exactly_once(
    source_format: str, delivery: str, sink_format: str
) -> None:
    pipeline = Pipeline(name="shop", source_format=source_format, sources=(), outputs=())
    sink = TopicTarget(topic="t", delivery=delivery).sink(pipeline)
    assert sink.format == sink_format
    assert sink.options.get("delivery", delivery) == delivery
