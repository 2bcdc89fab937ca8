"""The checker of metadata: one controller in an epoch, the same records on all nodes, nothing lost."""

from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_simulation.cluster.checkers.metadata import MetadataChecker
from penstock_simulation.violation import ViolationLog


class Case:
    def __init__(self) -> None:
        self.violations = ViolationLog()
        self.checker = MetadataChecker(self.violations)

    @property
    def invariant(self) -> str | None:
        return None if self.violations.first is None else self.violations.first.invariant


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


def test_nodes_with_equal_metadata_pass(case: Case) -> None:
    for node in ("node-1", "node-2"):
        case.checker.on_leader(1, 5)
        case.checker.on_leader(None, 6)
        case.checker.on_applied(node, batch("a"))
        case.checker.on_image(node, image(7, orders=3))
    case.checker.on_created("orders", 2)
    case.checker.check_final("node-1", image(9, orders=3))
    case.violations.check()


def test_two_controllers_in_an_epoch_are_noticed(case: Case) -> None:
    case.checker.on_leader(1, 5)
    case.checker.on_leader(2, 5)
    assert case.invariant == "one controller"


@pytest.mark.parametrize("other", [batch("b"), batch("a", epoch=2)])
def test_another_record_at_an_offset_is_noticed(case: Case, other: bytes) -> None:
    case.checker.on_applied("node-1", batch("a"))
    case.checker.on_applied("node-2", other)
    assert case.invariant == "committed metadata"


def test_another_image_at_an_offset_is_noticed(case: Case) -> None:
    case.checker.on_image("node-1", image(7, orders=3))
    case.checker.on_image("node-2", image(7, orders=2))
    assert case.invariant == "committed metadata"


@pytest.mark.parametrize("found", [image(9), image(9, orders=2)])
def test_a_lost_acknowledged_topic_or_partition_is_noticed(case: Case, found: MetadataImage) -> None:
    case.checker.on_created("orders", 3)
    case.checker.check_final("node-1", found)
    assert case.invariant == "committed metadata"


def test_a_deleted_topic_that_still_exists_is_noticed(case: Case) -> None:
    case.checker.on_created("orders", 3)
    case.checker.on_delete_sent("orders")
    case.checker.check_final("node-1", image(8))
    case.checker.check_final("node-1", image(8, orders=3))
    case.violations.check()
    case.checker.on_deleted("orders")
    case.checker.check_final("node-1", image(9, orders=3))
    assert case.invariant == "committed metadata"


@pytest.mark.parametrize(("acknowledged", "found"), [("1", "2"), ("1", None), (None, "1")])
def test_a_change_of_a_setting_that_was_acknowledged_and_is_lost_is_noticed(
    case: Case, acknowledged: str | None, found: str | None
) -> None:
    for value in (found, acknowledged):
        case.checker.on_changed(case.checker.on_change_sent(2, "pair", MIN_ISR, value))
    case.checker.check_final("node-1", with_min_isr(acknowledged))
    case.violations.check()
    case.checker.check_final("node-1", with_min_isr(found))
    assert case.invariant == "committed metadata"


@pytest.mark.parametrize("last", ["1", "2"])
def test_overlapping_changes_of_a_setting_may_be_applied_in_either_order(case: Case, last: str) -> None:
    """The first is carried out first, and its answer takes longer than that of the second."""
    first, second = (case.checker.on_change_sent(2, "pair", MIN_ISR, value) for value in ("1", "2"))
    case.checker.on_changed(second)
    case.checker.on_changed(first)
    case.checker.check_final("node-1", with_min_isr(last))
    case.violations.check()
    case.checker.check_final("node-1", with_min_isr(None))
    assert case.invariant == "committed metadata"


def test_a_change_of_a_setting_replaces_all_that_were_acknowledged_before_it_was_sent(case: Case) -> None:
    for change in [case.checker.on_change_sent(2, "pair", MIN_ISR, value) for value in ("1", "2")]:
        case.checker.on_changed(change)
    case.checker.on_changed(case.checker.on_change_sent(2, "pair", MIN_ISR, "3"))
    case.checker.check_final("node-1", with_min_isr("3"))
    case.violations.check()
    case.checker.check_final("node-1", with_min_isr("2"))
    assert case.invariant == "committed metadata"


def test_an_unanswered_change_of_a_setting_may_be_applied_at_any_time(case: Case) -> None:
    case.checker.on_change_sent(2, "pair", MIN_ISR, "1")
    case.checker.on_changed(case.checker.on_change_sent(2, "pair", MIN_ISR, "2"))
    for value in ("1", "2"):
        case.checker.check_final("node-1", with_min_isr(value))
    case.violations.check()
    case.checker.check_final("node-1", with_min_isr("3"))
    assert case.invariant == "committed metadata"
