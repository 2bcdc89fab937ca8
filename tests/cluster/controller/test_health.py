import pytest

from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.health import (
    decide_controlled_shutdown,
    decide_fence,
    decide_unfence,
    decide_unregister,
    has_leaderships,
)
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import NO_LEADER, Partition
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import FeatureLevelRecord
from tests.cluster.support import CONFIG, commit, image_of, with_topic


def cluster(*, factor: int = 3, partitions: int = 6) -> MetadataImage:
    image = image_of(brokers=3)
    commit(image, [FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)])
    with_topic(image, "t", partitions=partitions, factor=factor)
    return image


def partitions(image: MetadataImage) -> list[Partition]:
    return list(image.topics["t"].partitions.values())


def test_a_fenced_broker_leads_nothing_and_is_in_sync_with_nobody() -> None:
    image = cluster()
    commit(image, decide_fence(image, CONFIG, 1).records)
    assert image.brokers[1].fenced
    assert all(each.leader in (2, 3) and 1 not in each.isr for each in partitions(image))
    assert decide_fence(image, CONFIG, 1).records == []


def test_only_what_changed_hands_gets_a_new_leader_epoch() -> None:
    image = cluster()
    led = [number for number, each in image.topics["t"].partitions.items() if each.leader == 1]
    commit(image, decide_fence(image, CONFIG, 1).records)
    raised = [number for number, each in image.topics["t"].partitions.items() if each.leader_epoch == 1]
    assert raised == led
    assert led


def test_a_partition_of_one_replica_has_no_leader_until_its_broker_returns() -> None:
    image = cluster(factor=1)
    commit(image, decide_fence(image, CONFIG, 1).records)
    lost = [each for each in partitions(image) if each.replicas == (1,)]
    assert [(each.leader, each.elr) for each in lost] == [(NO_LEADER, (1,))] * len(lost)
    commit(image, decide_unfence(image, CONFIG, 1).records)
    assert all(each.leader == 1 and each.isr == (1,) for each in partitions(image) if each.replicas == (1,))
    assert decide_unfence(image, CONFIG, 1).records == []


def test_a_draining_broker_hands_over_what_others_can_take_and_keeps_the_rest() -> None:
    image = cluster(factor=2)
    with_topic(image, "alone", partitions=3)
    assert has_leaderships(image, 1)
    commit(image, decide_controlled_shutdown(image, CONFIG, 1).records)
    assert image.brokers[1].in_controlled_shutdown
    assert all(each.leader not in (1, NO_LEADER) for each in partitions(image))
    alone = image.topics["alone"].partitions.values()
    assert [each.leader for each in alone if each.replicas == (1,)] == [1]
    assert not has_leaderships(image, 1)
    assert decide_controlled_shutdown(image, CONFIG, 1).records == []


def test_an_unregistered_broker_is_gone_and_what_it_led_is_led_by_others() -> None:
    image = cluster()
    commit(image, decide_unregister(image, CONFIG, 2).records)
    assert 2 not in image.brokers
    assert all(each.leader != 2 and 2 not in each.isr and 2 in each.replicas for each in partitions(image))
    with pytest.raises(Refusal) as refused:
        decide_unregister(image, CONFIG, 2)
    assert refused.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_the_last_two_of_three_that_die_leave_nothing_unclean() -> None:
    image = cluster(partitions=1)
    for broker_id in (1, 2, 3):
        commit(image, decide_fence(image, CONFIG, broker_id).records)
    (partition,) = partitions(image)
    assert (partition.leader, partition.isr) == (NO_LEADER, ())
    commit(image, decide_unfence(image, CONFIG, 1).records)
    assert (
        partitions(image)[0].leader == NO_LEADER
    )  # min.insync.replicas is 1: the others committed without it
    commit(image, decide_unfence(image, CONFIG, 3).records)
    assert partitions(image)[0].leader == 3
