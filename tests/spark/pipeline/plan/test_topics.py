"""Offsets of a checkpoint, compared with topics as they are."""

from collections.abc import Mapping

from penstock.client.metadata import TopicPartition
from penstock.spark.pipeline.plan.checkpoints import Checkpoint
from penstock.spark.pipeline.plan.findings import Finding, Verdict, Ways
from penstock.spark.pipeline.plan.record import SourceRecord
from penstock.spark.pipeline.plan.topics import fetch_topics, topic_findings
from penstock.spark.source.offsets import StreamOffsets
from tests.spark.source.cluster_model import ClusterModel

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
OLD = "AQEBAQEBAQEBAQEBAQEBAQ"


def found(
    logs: Mapping[TopicPartition, tuple[int, int]],
    offsets: Mapping[TopicPartition, int],
    topic_id: str = "",
    *,
    lenient: bool = False,
) -> list[Finding]:
    model = ClusterModel(logs)
    model.topic_ids["a"] = bytes([2]) * 16
    source = StreamOffsets(offsets=offsets, topic_ids={"a": topic_id} if topic_id else {})
    checkpoint = Checkpoint(sources=(source,))
    state = fetch_topics(model, {"table": checkpoint})
    sources = [SourceRecord(name="a", topics=("a",), leaves_losses_behind=lenient)]
    return list(topic_findings(checkpoint, state, sources, Ways(file="shop.yaml", key="table")))


def message(findings: list[Finding]) -> str:
    (finding,) = findings
    assert finding.verdict is Verdict.CANNOT_GO_ON
    assert any("failOnDataLoss" in way for way in finding.advice)
    assert any("penstock pipeline reset" in way for way in finding.advice)
    return finding.message


def test_topics_that_go_on_are_not_mentioned() -> None:
    assert found({A0: (0, 10), A1: (5, 20)}, {A0: 10, A1: 5}) == []
    assert found({A0: (0, 10)}, {A0: 3}, topic_id="AgICAgICAgICAgICAgICAg") == []


def test_a_topic_that_was_created_again_is_known_by_its_id() -> None:
    assert "topic a was deleted and created again" in message(found({A0: (0, 10)}, {A0: 3}, topic_id=OLD))


def test_missing_topics_and_partitions_are_named() -> None:
    assert message(found({}, {A0: 3})) == "topic a no longer exists"
    assert "a-1 no longer exists: was the topic created again with fewer" in message(
        found({A0: (0, 9)}, {A0: 3, A1: 3})
    )


def test_an_end_before_the_checkpoint_is_a_topic_created_again() -> None:
    assert "a-0 was read up to offset 30 and ends at 10 now" in message(found({A0: (0, 10)}, {A0: 30}))


def test_records_deleted_by_retention_are_counted() -> None:
    assert message(found({A0: (2_000, 9_000)}, {A0: 500})).endswith("not read yet: a-0 (1,500 records)")


def test_what_the_source_may_leave_behind_goes_on() -> None:
    (finding,) = found({A0: (2_000, 9_000)}, {A0: 500}, lenient=True)
    assert finding.verdict is Verdict.GOES_ON
    assert "left behind, because of `failOnDataLoss: false`" in finding.message
