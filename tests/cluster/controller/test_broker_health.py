import pytest
from msgspec.structs import replace

from penstock.cluster.controller.broker_health import (
    decide_controlled_shutdown,
    decide_cordon,
    decide_disk_failure,
    decide_fence,
    decide_retirement,
    decide_unfence,
    decide_unregister,
    has_leaderships,
)
from penstock.cluster.controller.brokers import decide_register_broker
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import NO_LEADER, Partition
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from tests.cluster.support import CONFIG, commit, disk_of, image_of, registration, with_topic


def cluster(*, factor: int = 3, partitions: int = 6) -> MetadataImage:
    image = image_of(brokers=3)
    commit(image, [FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)])
    with_topic(image, "t", partitions=partitions, factor=factor)
    return image


def partitions(image: MetadataImage) -> list[Partition]:
    return list(image.topics["t"].partitions.values())


def test_a_fenced_broker_leads_no_partition_and_is_in_no_in_sync_set() -> None:
    image = cluster()
    commit(image, decide_fence(image, CONFIG, 1).records)
    assert image.brokers[1].fenced
    assert all(each.leader in (2, 3) and 1 not in each.isr for each in partitions(image))
    assert decide_fence(image, CONFIG, 1).records == []


def test_only_partitions_with_a_new_leader_get_a_new_leader_epoch() -> None:
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


def test_a_draining_broker_hands_over_partitions_with_other_in_sync_replicas_and_keeps_the_rest() -> None:
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


def test_others_lead_the_partitions_of_an_unregistered_broker() -> None:
    image = cluster()
    commit(image, decide_unregister(image, CONFIG, 2).records)
    assert 2 not in image.brokers
    assert all(each.leader != 2 and 2 not in each.isr and 2 in each.replicas for each in partitions(image))
    with pytest.raises(Refusal) as refused:
        decide_unregister(image, CONFIG, 2)
    assert refused.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_no_election_is_unclean_after_the_last_two_of_three_brokers_died() -> None:
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


def fail_disk(image: MetadataImage, broker_id: int) -> None:
    commit(image, decide_disk_failure(image, CONFIG, broker_id, [disk_of(broker_id)]).records)


def set_for_topic(image: MetadataImage, name: str, value: str) -> None:
    commit(image, [ConfigRecord(resource_type=2, resource_name="t", name=name, value=value)])


def test_a_broker_with_a_failed_disk_leads_no_replicated_partition_and_is_in_no_in_sync_set() -> None:
    image = cluster(factor=2)
    fail_disk(image, 1)
    assert all(each.leader not in (1, NO_LEADER) and 1 not in each.isr for each in partitions(image))
    assert image.brokers[1].is_active, "it still serves"
    assert not image.may_lead(1)
    assert decide_disk_failure(image, CONFIG, 1, [disk_of(1)]).records == []


def test_a_broker_with_a_failed_disk_keeps_leading_partitions_that_only_it_holds() -> None:
    image = cluster(factor=1)
    before = partitions(image)
    fail_disk(image, 1)
    assert partitions(image) == before


def test_a_failed_disk_is_remembered_until_the_broker_registers_again() -> None:
    image = cluster()
    fail_disk(image, 1)
    commit(image, decide_fence(image, CONFIG, 1).records)
    commit(image, decide_unfence(image, CONFIG, 1).records)
    assert not image.may_lead(1)
    again = decide_register_broker(image, CONFIG, registration(1), epoch=image.offset + 1, fenced=False)
    commit(image, again.records)
    assert image.may_lead(1)


def test_the_failed_disk_of_the_only_broker_and_an_unknown_directory_change_nothing() -> None:
    alone = image_of(brokers=1)
    with_topic(alone, "t")
    assert decide_disk_failure(alone, CONFIG, 1, [disk_of(1)]).records == []
    assert decide_disk_failure(cluster(), CONFIG, 1, [disk_of(2)]).records == []


def test_an_eligible_replica_takes_over_from_a_failed_disk() -> None:
    image = cluster(partitions=1)
    set_for_topic(image, "min.insync.replicas", "2")
    first, second, third = partitions(image)[0].replicas
    commit(image, decide_fence(image, CONFIG, third).records)
    commit(image, decide_fence(image, CONFIG, second).records)
    commit(image, decide_unfence(image, CONFIG, second).records)
    (partition,) = partitions(image)
    assert (partition.leader, partition.isr, partition.elr) == (first, (first,), (second,))
    fail_disk(image, first)
    assert (partitions(image)[0].leader, partitions(image)[0].isr) == (second, (second,))


def test_a_replica_that_may_lack_records_takes_over_only_if_unclean_elections_are_allowed() -> None:
    for is_allowed in (False, True):
        image = cluster(partitions=1)
        first, second, third = partitions(image)[0].replicas
        for each in (second, third):
            commit(image, decide_fence(image, CONFIG, each).records)
            commit(image, decide_unfence(image, CONFIG, each).records)
        set_for_topic(image, "unclean.leader.election.enable", str(is_allowed).lower())
        fail_disk(image, first)
        assert partitions(image)[0].leader == (second if is_allowed else first)


def test_a_fenced_broker_with_a_failed_disk_leads_again_partitions_that_only_it_has() -> None:
    image = cluster(partitions=1)
    first, second, third = partitions(image)[0].replicas
    set_for_topic(image, "unclean.leader.election.enable", "true")
    fail_disk(image, second)
    for each in (third, first):
        commit(image, decide_fence(image, CONFIG, each).records)
    commit(image, decide_fence(image, CONFIG, second).records)
    commit(image, decide_unfence(image, CONFIG, second).records)
    assert partitions(image)[0].leader == NO_LEADER, "it cannot win an unclean election"
    lone = cluster(factor=1, partitions=3)
    fail_disk(lone, 1)
    commit(lone, decide_fence(lone, CONFIG, 1).records)
    commit(lone, decide_unfence(lone, CONFIG, 1).records)
    assert [each.leader for each in partitions(lone) if each.replicas == (1,)] == [1]


def test_the_only_broker_that_stops_is_fenced_and_keeps_its_leaderships() -> None:
    image = image_of(brokers=1)
    with_topic(image, "t", partitions=2)
    before = partitions(image)
    commit(image, decide_retirement(image, 1).records)
    assert (image.brokers[1].fenced, image.brokers[1].in_controlled_shutdown) == (True, True)
    assert partitions(image) == before
    assert decide_retirement(image, 1).records == []


def test_a_broker_that_others_outlive_does_not_retire() -> None:
    assert decide_retirement(cluster(), 1).records == []


def test_of_several_directories_only_the_replicas_in_the_failed_one_move_away() -> None:
    image = cluster()
    good, bad = disk_of(1), bytes([9] * 16)
    image.brokers[1] = replace(image.brokers[1], log_dirs=(good, bad))
    moved = partitions(image)[0]
    directories = tuple(bad if each == 1 else moved.directory_of(each) for each in moved.replicas)
    image.topics["t"].partitions[0] = replace(moved, directories=directories)
    commit(image, decide_disk_failure(image, CONFIG, 1, [bad]).records)
    assert image.brokers[1].log_dirs == (good,)
    assert [1 in each.isr for each in partitions(image)] == [False, *[True] * 5]
    assert decide_disk_failure(image, CONFIG, 1, [bad]).records == []


def test_a_broker_of_kafka_is_not_elected_for_a_replica_in_its_failed_directory() -> None:
    """It serves its other directories, so it is not fenced."""
    image = cluster(factor=2, partitions=1)
    good, bad = disk_of(1), bytes([9] * 16)
    kafka = {"metadata.version": (7, 30)}
    image.brokers[1] = replace(image.brokers[1], log_dirs=(good, bad), features=kafka)
    partition = partitions(image)[0]
    other = next(each for each in partition.replicas if each != 1)
    directories = tuple(bad if each == 1 else partition.directory_of(each) for each in partition.replicas)
    image.topics["t"].partitions[0] = replace(partition, directories=directories)
    commit(image, [ConfigRecord(resource_type=2, resource_name="t", name="min.insync.replicas", value="2")])
    commit(image, decide_disk_failure(image, CONFIG, 1, [bad]).records)
    commit(image, decide_fence(image, CONFIG, other).records)
    (left,) = partitions(image)
    assert (left.leader, left.elr) == (NO_LEADER, (1, other))
    commit(image, decide_unfence(image, CONFIG, other).records)
    assert partitions(image)[0].leader == other


def test_the_cordoned_directories_of_a_broker_are_noted_from_the_level_that_knows_them() -> None:
    image = cluster()
    assert decide_cordon(image, 1, [disk_of(1)]).records == []
    image.features.finalized["metadata.version"] = 30
    commit(image, decide_cordon(image, 1, [disk_of(1)]).records)
    assert image.brokers[1].is_cordoned
    assert decide_cordon(image, 1, [disk_of(1)]).records == []
    commit(image, decide_cordon(image, 1, []).records)
    assert not image.brokers[1].is_cordoned
