"""Whether a broker that returns after a crash, or with another disk, stays in sync or eligible."""

import random
from collections.abc import Mapping

import msgspec
import pytest

from penstock.cluster.controller.broker_health import decide_fence, decide_unfence
from penstock.cluster.controller.brokers import LOST_RECORDS, BrokerRegistration, decide_register_broker
from penstock.cluster.controller.create_topics import NewTopic, decide_create_topics
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION, Partition
from tests.cluster.support import CONFIG, commit, image_of, registration

DISK, OTHER_DISK = bytes([1] * 16), bytes([2] * 16)
WAIVES_SYNCS = {"flush.messages": "1000"}


def broker(broker_id: int, **changes: object) -> BrokerRegistration:
    return msgspec.structs.replace(
        registration(broker_id), **{"log_dirs": [DISK], "incarnation_id": bytes(16), **changes}
    )


def cluster(config: Mapping[str, str], *, factor: int = 3, min_isr: int = 2) -> MetadataImage:
    image = image_of(brokers=0)
    for broker_id in (1, 2, 3):
        decision = decide_register_broker(
            image, CONFIG, broker(broker_id), epoch=image.offset + 1, fenced=False
        )
        commit(image, decision.records)
    image.features.finalized[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
    settings = {**config, "min.insync.replicas": str(min_isr)}
    wanted = NewTopic(name="t", num_partitions=1, replication_factor=factor, configs=tuple(settings.items()))
    commit(image, decide_create_topics(image, CONFIG, [wanted], random.Random(1)).records)
    return image


def partition(image: MetadataImage) -> Partition:
    found = image.partition("t", 0)
    assert found is not None
    return found


def crash(image: MetadataImage, *broker_ids: int) -> None:
    for broker_id in broker_ids:
        commit(image, decide_fence(image, CONFIG, broker_id).records)


def return_of(image: MetadataImage, returning: BrokerRegistration, *, fenced: bool = True) -> None:
    decision = decide_register_broker(image, CONFIG, returning, epoch=image.offset + 1, fenced=fenced)
    commit(image, decision.records)
    if fenced:
        commit(image, decide_unfence(image, CONFIG, returning.broker_id).records)


def eligible(image: MetadataImage) -> set[int]:
    return {*partition(image).isr, *partition(image).elr}


def test_a_crashed_broker_is_not_eligible_for_a_topic_without_syncs_while_others_are() -> None:
    image = cluster(WAIVES_SYNCS)
    crash(image, 1, 2, 3)
    assert eligible(image) == {2, 3}, "the first left while enough were in sync to commit without it"
    return_of(image, broker(2))
    assert (partition(image).leader, eligible(image)) == (-1, {3})


def test_the_last_crashed_replica_leads_again_because_no_other_is_known_to_have_more() -> None:
    image = cluster(WAIVES_SYNCS)
    crash(image, 1, 2, 3)
    for broker_id in (1, 2, 3):
        return_of(image, broker(broker_id))
    assert (partition(image).leader, partition(image).isr, partition(image).elr) == (3, (3,), ())


def test_a_broker_that_stopped_cleanly_stays_eligible() -> None:
    image = cluster(WAIVES_SYNCS)
    crash(image, 1, 2, 3)
    return_of(image, broker(2, previous_epoch=image.brokers[2].epoch))
    assert partition(image).leader == 2


def test_a_broker_that_ran_after_its_clean_stop_has_crashed() -> None:
    image = cluster(WAIVES_SYNCS)
    crash(image, 1, 2, 3)
    return_of(image, broker(2, previous_epoch=image.brokers[2].epoch - 1))
    assert partition(image).leader == -1


def test_a_crashed_broker_stays_eligible_for_a_topic_that_syncs_before_it_acknowledges() -> None:
    image = cluster({})
    crash(image, 1, 2, 3)
    return_of(image, broker(2))
    assert partition(image).leader == 2


@pytest.mark.parametrize("config", [{}, WAIVES_SYNCS])
def test_the_only_replica_recovers_by_itself(config: Mapping[str, str]) -> None:
    image = cluster(config, factor=1, min_isr=1)
    (holder,) = partition(image).replicas
    crash(image, holder)
    return_of(image, broker(holder))
    assert partition(image).leader == holder


def test_the_broker_of_a_crashed_controller_hands_over_partitions_that_may_lack_records() -> None:
    image = cluster(WAIVES_SYNCS)
    before = partition(image)
    return_of(image, broker(before.leader), fenced=False)
    after = partition(image)
    assert after.leader not in (before.leader, -1)
    assert set(after.isr) == set(before.isr) - {before.leader}
    assert after.leader_epoch == before.leader_epoch + 1


def test_the_broker_of_a_crashed_controller_keeps_synced_partitions_in_a_new_epoch() -> None:
    image = cluster({})
    before = partition(image)
    return_of(image, broker(before.leader), fenced=False)
    after = partition(image)
    assert (after.leader, set(after.isr), after.leader_epoch) == (before.leader, set(before.isr), 1)


@pytest.mark.parametrize("factor", [1, 3])
def test_a_broker_that_lost_its_disk_does_not_lead_even_after_a_clean_stop(factor: int) -> None:
    image = cluster({}, factor=factor, min_isr=1)
    holders = partition(image).replicas
    crash(image, *(set(holders) - {holders[-1]}), holders[-1])
    assert eligible(image) == {holders[-1]}
    epoch = image.brokers[holders[-1]].epoch
    return_of(image, broker(holders[-1], previous_epoch=epoch, log_dirs=[OTHER_DISK]))
    lost = partition(image)
    assert (lost.leader, eligible(image), lost.last_known_elr) == (-1, set(), (holders[-1],))
    assert lost.directories[-1] == OTHER_DISK, "its replica is recreated there"


def test_a_broker_that_lost_its_disk_is_succeeded_by_a_replica_with_all_records() -> None:
    image = cluster({})
    leader = partition(image).leader
    return_of(image, broker(leader, log_dirs=[OTHER_DISK]))
    after = partition(image)
    assert after.leader not in (leader, -1)
    assert leader not in eligible(image)
    commit(image, decide_fence(image, CONFIG, leader).records)
    return_of(image, broker(leader, log_dirs=[OTHER_DISK]))
    assert partition(image).partition_epoch == after.partition_epoch, "it is known by its new disk"


def test_a_broker_that_reports_lost_records_leaves_the_in_sync_sets_even_if_the_topic_syncs() -> None:
    image = cluster({}, min_isr=3)
    crash(image, 1)
    assert 1 in eligible(image), "a crash alone does not do it"
    return_of(image, broker(1, previous_epoch=LOST_RECORDS))
    assert 1 not in eligible(image)
    assert partition(image).leader in (2, 3)


def test_the_last_eligible_replica_leads_even_if_it_lost_records() -> None:
    image = cluster({}, factor=1, min_isr=1)
    (last,) = partition(image).isr
    crash(image, last)
    return_of(image, broker(last, previous_epoch=LOST_RECORDS))
    assert partition(image).leader == last


def test_a_broker_alone_in_sync_that_lost_records_hands_over_to_an_eligible_replica() -> None:
    image = cluster({})
    crash(image, 1, 2)
    assert partition(image).isr == (3,)
    crash(image, 3)
    return_of(image, broker(3, previous_epoch=LOST_RECORDS))
    assert partition(image).leader == -1
    return_of(image, broker(2))
    assert partition(image).leader == 2


def test_a_crashed_broker_of_kafka_may_lack_records_because_it_syncs_later() -> None:
    image = cluster({})
    of_kafka = {"metadata.version": (7, 30), ELIGIBLE_LEADER_REPLICAS_VERSION: (0, 1)}
    image.brokers[1] = msgspec.structs.replace(image.brokers[1], features=of_kafka)
    crash(image, 1)
    return_of(image, broker(1, features=of_kafka, incarnation_id=bytes([3] * 16)))
    assert 1 not in eligible(image)
    image.brokers[2] = msgspec.structs.replace(image.brokers[2], features=of_kafka)
    epoch = image.brokers[2].epoch
    crash(image, 2)
    return_of(image, broker(2, features=of_kafka, previous_epoch=epoch))
    assert 2 in eligible(image)
