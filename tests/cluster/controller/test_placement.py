import random
from collections import Counter

import pytest

from penstock.cluster.controller.broker_health import decide_cordon, decide_disk_failure
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.placement import place_replicas
from penstock.protocol.errors import ErrorCode
from tests.cluster.support import CONFIG, commit, disk_of, image_of


def place(image_brokers: int, partitions: int, factor: int, **options: object) -> list[list[int]]:
    image = image_of(brokers=image_brokers, **options)  # type: ignore[arg-type]  # passed through to the image
    return place_replicas(
        image.brokers.values(),
        partition_count=partitions,
        replication_factor=factor,
        randomness=random.Random(3),
    )


@pytest.mark.parametrize("factor", [1, 2, 3, 5])
def test_leaders_and_replicas_are_spread_evenly(factor: int) -> None:
    placed = place(5, 20, factor)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {4}
    assert set(Counter(broker for replicas in placed for broker in replicas).values()) == {4 * factor}


def test_no_partition_has_a_broker_twice() -> None:
    for replicas in place(4, 30, 4):
        assert len(set(replicas)) == 4


def test_a_brokers_followers_are_on_many_other_brokers() -> None:
    followers = {replicas[1] for replicas in place(4, 12, 2) if replicas[0] == 1}
    assert followers == {2, 3, 4}


def test_every_rack_is_used_before_one_is_used_twice() -> None:
    rack_of = {1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "c"}
    for replicas in place(6, 24, 3, racks=list(rack_of.values())):
        assert {rack_of[broker] for broker in replicas} == {"a", "b", "c"}
    for replicas in place(6, 24, 5, racks=list(rack_of.values())):
        assert {rack_of[broker] for broker in replicas} == {"a", "b", "c"}


def test_a_fenced_broker_is_used_last_and_leads_nothing() -> None:
    assert all(2 not in replicas for replicas in place(3, 10, 2, fenced=[2]))
    assert all(replicas[-1] == 2 for replicas in place(3, 10, 3, fenced=[2]))


def test_the_same_seed_gives_the_same_placement() -> None:
    assert place(5, 9, 3) == place(5, 9, 3)


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        place(2, 1, 3)
    assert refusal.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert refusal.value.message == (
        "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered."
    )


def test_nothing_can_be_placed_while_all_brokers_are_fenced() -> None:
    with pytest.raises(Refusal, match=r"All brokers are currently fenced\."):
        place(2, 1, 1, fenced=[1, 2])


def test_a_broker_with_a_failed_disk_gets_a_replica_only_when_there_are_too_few_others() -> None:
    image = image_of(brokers=3)
    commit(image, decide_disk_failure(image, CONFIG, 2, [disk_of(2)]).records)

    def placed(factor: int) -> list[list[int]]:
        return place_replicas(
            image.brokers.values(),
            partition_count=6,
            replication_factor=factor,
            randomness=random.Random(3),
        )

    assert all(2 not in replicas for replicas in placed(2))
    assert all(replicas[2] == 2 for replicas in placed(3))


def test_a_broker_whose_directories_are_all_cordoned_gets_replicas_only_if_it_must() -> None:
    image = image_of(brokers=3)
    image.features.finalized["metadata.version"] = 30
    commit(image, decide_cordon(image, 2, [disk_of(2)]).records)
    places = place_replicas(
        image.brokers.values(), partition_count=6, replication_factor=2, randomness=random.Random(3)
    )
    assert all(2 not in replicas for replicas in places)
