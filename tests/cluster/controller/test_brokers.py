import msgspec
import pytest

from penstock.cluster.controller.broker_health import decide_fence
from penstock.cluster.controller.brokers import (
    ProducerIdBlock,
    decide_amend_registration,
    decide_producer_id_block,
    decide_register_broker,
)
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import PartitionChangeRecord
from tests.cluster.support import CONFIG, commit, image_of, registration, with_topic


def test_a_broker_registers_with_its_addresses_rack_and_features() -> None:
    image = image_of(brokers=0)
    records, epoch = decide_register_broker(image, CONFIG, registration(4, "r1"), epoch=17, fenced=False)
    commit(image, records)
    broker = image.brokers[4]
    assert (epoch, broker.epoch, broker.rack, broker.fenced) == (17, 17, "r1", False)
    assert broker.endpoints == tuple(registration(4).endpoints)
    assert broker.features == {
        "metadata.version": (25, 30),
        "kraft.version": (0, 1),
        "streams.version": (0, 1),
        "transaction.version": (0, 2),
        "group.version": (0, 1),
        "eligible.leader.replicas.version": (0, 1),
        "share.version": (0, 1),
        "penstock.version": (0, 1),
    }


def test_a_broker_that_does_not_support_a_level_of_the_cluster_is_refused() -> None:
    image = image_of(brokers=0)
    image.features.finalized["metadata.version"] = 30
    old = msgspec.structs.replace(registration(4), features={"metadata.version": (7, 29)})
    with pytest.raises(Refusal, match="does not support finalized version 30") as refused:
        decide_register_broker(image, CONFIG, old, epoch=9, fenced=True)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
    image.features.finalized["metadata.version"] = 29
    assert decide_register_broker(image, CONFIG, old, epoch=9, fenced=True).result == 9


def test_the_same_incarnation_amends_its_registration_in_its_epoch() -> None:
    image = image_of()
    known = image.brokers[1]
    assert decide_amend_registration(image, registration(1), known) == ([], known.epoch)
    amended = msgspec.structs.replace(registration(1), log_dirs=[bytes([5] * 16), bytes([6] * 16)])
    records, epoch = decide_amend_registration(image, amended, known)
    commit(image, records)
    assert epoch == known.epoch
    assert image.brokers[1] == msgspec.structs.replace(known, log_dirs=tuple(amended.log_dirs))


def test_a_crashed_broker_leads_its_partitions_again_in_a_new_epoch() -> None:
    image = image_of()
    with_topic(image, "t", partitions=2)
    commit(image, decide_register_broker(image, CONFIG, registration(1), epoch=9, fenced=False).records)
    topic = image.topic("t")
    assert topic is not None
    assert [(each.leader, each.leader_epoch) for each in topic.partitions.values()] == [(1, 1), (1, 1)]


def test_a_broker_that_stopped_cleanly_continues_in_its_epochs() -> None:
    image = image_of()
    with_topic(image, "t", partitions=2)
    returning = msgspec.structs.replace(registration(1), previous_epoch=image.brokers[1].epoch)
    assert len(decide_register_broker(image, CONFIG, returning, epoch=9, fenced=False).records) == 1


def test_a_returning_broker_leads_leaderless_partitions_if_it_was_in_sync() -> None:
    image = image_of(brokers=2)
    topic_id = with_topic(image, "t", factor=2)
    commit(image, [PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=[2], leader=-1)])
    stranger = decide_register_broker(image, CONFIG, registration(1), epoch=9, fenced=False)
    assert len(stranger.records) == 1
    commit(image, decide_register_broker(image, CONFIG, registration(2), epoch=9, fenced=False).records)
    partition = image.partition("t", 0)
    assert partition is not None
    assert partition.leader == 2


def test_a_returning_controller_leads_partitions_for_which_only_it_is_eligible() -> None:
    image = image_of(brokers=2)
    image.features.finalized[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
    with_topic(image, "t", factor=1)
    before = image.partition("t", 0)
    assert before is not None
    (holder,) = before.replicas
    commit(image, decide_fence(image, CONFIG, holder).records)
    fenced = image.partition("t", 0)
    assert fenced is not None
    assert (fenced.leader, fenced.isr, fenced.elr) == (-1, (), (holder,))
    commit(image, decide_register_broker(image, CONFIG, registration(holder), epoch=9, fenced=False).records)
    partition = image.partition("t", 0)
    assert partition is not None
    assert (partition.leader, partition.isr, partition.elr) == (holder, (holder,), ())


def test_a_broker_registered_as_fenced_leads_nothing_until_its_heartbeat() -> None:
    image = image_of()
    with_topic(image, "t")
    commit(image, decide_register_broker(image, CONFIG, registration(1), epoch=9, fenced=True).records)
    partition = image.partition("t", 0)
    assert partition is not None
    assert (partition.leader, image.brokers[1].fenced) == (-1, True)


def test_producer_ids_are_allocated_in_blocks_that_never_overlap() -> None:
    image = image_of()
    epoch = image.brokers[1].epoch
    first = decide_producer_id_block(image, 1, epoch)
    commit(image, first.records)
    second = decide_producer_id_block(image, 1, epoch)
    assert (first.result, second.result) == (ProducerIdBlock(first_id=0), ProducerIdBlock(first_id=1000))
    assert first.result.size == 1000


@pytest.mark.parametrize(
    ("broker_id", "epoch", "message"),
    [
        (9, 0, "No broker registration found for broker id 9"),
        (1, 55, "Expected broker epoch 0, but got broker epoch 55"),
    ],
)
def test_a_broker_with_a_stale_epoch_gets_no_producer_ids(broker_id: int, epoch: int, message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        decide_producer_id_block(image_of(), broker_id, epoch)
    assert (refusal.value.code, refusal.value.message) == (ErrorCode.STALE_BROKER_EPOCH, message)


def test_the_last_producer_ids_are_not_followed_by_negative_ones() -> None:
    image = image_of()
    image.next_producer_id = 2**63 - 1000
    with pytest.raises(Refusal, match="All producer ids have been allocated"):
        decide_producer_id_block(image, 1, image.brokers[1].epoch)
