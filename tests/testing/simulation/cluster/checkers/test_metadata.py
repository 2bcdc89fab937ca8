"""The checker of metadata: one controller in an epoch, the same records for all, nothing forgotten."""

from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.testing.simulation.cluster.checkers.metadata import MetadataChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict


class Case:
    def __init__(self) -> None:
        self.verdict = Verdict()
        self.checker = MetadataChecker(self.verdict)

    @property
    def invariant(self) -> str | None:
        return None if self.verdict.violation is None else self.verdict.violation.invariant


@pytest.fixture
def case() -> Case:
    return Case()


def image(offset: int, **partition_counts: int) -> MetadataImage:
    topics = {
        name: SimpleNamespace(topic_id=name, partitions=dict.fromkeys(range(count)))
        for name, count in partition_counts.items()
    }
    features = SimpleNamespace(finalized={})
    found = SimpleNamespace(
        offset=offset, topics=topics, brokers={}, configs={}, features=features, next_producer_id=0
    )
    return cast("MetadataImage", found)


def batch(value: str, epoch: int = 1) -> bytes:
    return build_batch([NewRecord(value=value.encode())], base_offset=7, leader_epoch=epoch)


def test_nodes_that_know_the_same_pass(case: Case) -> None:
    for node in ("node-1", "node-2"):
        case.checker.is_led_by(1, 5)
        case.checker.is_led_by(None, 6)
        case.checker.applies(node, batch("a"))
        case.checker.has_image(node, image(7, orders=3))
    case.checker.created("orders", 2)
    case.checker.ends_with("node-1", image(9, orders=3))
    case.verdict.check()


def test_two_controllers_in_an_epoch_are_noticed(case: Case) -> None:
    case.checker.is_led_by(1, 5)
    case.checker.is_led_by(2, 5)
    assert case.invariant == "one controller"


@pytest.mark.parametrize("other", [batch("b"), batch("a", epoch=2)])
def test_another_record_at_an_offset_is_noticed(case: Case, other: bytes) -> None:
    case.checker.applies("node-1", batch("a"))
    case.checker.applies("node-2", other)
    assert case.invariant == "committed metadata"


def test_another_image_at_an_offset_is_noticed(case: Case) -> None:
    case.checker.has_image("node-1", image(7, orders=3))
    case.checker.has_image("node-2", image(7, orders=2))
    assert case.invariant == "committed metadata"


@pytest.mark.parametrize("found", [image(9), image(9, orders=2)])
def test_a_topic_or_partition_that_somebody_was_told_of_and_is_gone_is_noticed(
    case: Case, found: MetadataImage
) -> None:
    case.checker.created("orders", 3)
    case.checker.ends_with("node-1", found)
    assert case.invariant == "committed metadata"


def test_a_topic_that_was_deleted_and_is_there_is_noticed(case: Case) -> None:
    case.checker.created("orders", 3)
    case.checker.deleting("orders")
    case.checker.ends_with("node-1", image(8))
    case.checker.ends_with("node-1", image(8, orders=3))
    case.verdict.check()
    case.checker.deleted("orders")
    case.checker.ends_with("node-1", image(9, orders=3))
    assert case.invariant == "committed metadata"
