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


MIN_ISR = "min.insync.replicas"


def with_min_isr(value: str | None) -> MetadataImage:
    found = image(9)
    found.configs[2, "pair"] = {} if value is None else {MIN_ISR: value}
    return found


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


@pytest.mark.parametrize(("acknowledged", "found"), [("1", "2"), ("1", None), (None, "1")])
def test_a_change_of_a_setting_that_was_acknowledged_and_is_lost_is_noticed(
    case: Case, acknowledged: str | None, found: str | None
) -> None:
    for value in (found, acknowledged):
        case.checker.acknowledges_change(case.checker.sends_change(2, "pair", MIN_ISR, value))
    case.checker.ends_with("node-1", with_min_isr(acknowledged))
    case.verdict.check()
    case.checker.ends_with("node-1", with_min_isr(found))
    assert case.invariant == "committed metadata"


@pytest.mark.parametrize("last", ["1", "2"])
def test_changes_of_a_setting_that_overlap_may_be_carried_out_in_either_order(case: Case, last: str) -> None:
    """The first is carried out first, and its answer takes longer than that of the second."""
    first, second = (case.checker.sends_change(2, "pair", MIN_ISR, value) for value in ("1", "2"))
    case.checker.acknowledges_change(second)
    case.checker.acknowledges_change(first)
    case.checker.ends_with("node-1", with_min_isr(last))
    case.verdict.check()
    case.checker.ends_with("node-1", with_min_isr(None))
    assert case.invariant == "committed metadata"


def test_a_change_of_a_setting_replaces_all_that_were_acknowledged_before_it_was_sent(case: Case) -> None:
    for change in [case.checker.sends_change(2, "pair", MIN_ISR, value) for value in ("1", "2")]:
        case.checker.acknowledges_change(change)
    case.checker.acknowledges_change(case.checker.sends_change(2, "pair", MIN_ISR, "3"))
    case.checker.ends_with("node-1", with_min_isr("3"))
    case.verdict.check()
    case.checker.ends_with("node-1", with_min_isr("2"))
    assert case.invariant == "committed metadata"


def test_a_change_of_a_setting_that_was_not_answered_may_be_carried_out_at_any_time(case: Case) -> None:
    case.checker.sends_change(2, "pair", MIN_ISR, "1")
    case.checker.acknowledges_change(case.checker.sends_change(2, "pair", MIN_ISR, "2"))
    for value in ("1", "2"):
        case.checker.ends_with("node-1", with_min_isr(value))
    case.verdict.check()
    case.checker.ends_with("node-1", with_min_isr("3"))
    assert case.invariant == "committed metadata"
