from penstock.cluster.controller.broker_health import decide_fence, decide_unfence
from penstock.cluster.controller.elect_leaders import decide_elect_leaders, decide_rebalance
from penstock.cluster.controller.partition_change import Election
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import NO_LEADER
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import PartitionChangeRecord
from tests.cluster.support import CONFIG, commit, image_of, with_topic


def cluster_after_a_failure() -> MetadataImage:
    """Broker 1 was away and is in sync again, but leads nothing."""
    image = image_of(brokers=3)
    topic_id = with_topic(image, "t", partitions=6, factor=3)
    commit(image, decide_fence(image, CONFIG, 1).records)
    commit(image, decide_unfence(image, CONFIG, 1).records)
    for number in range(6):
        commit(image, [PartitionChangeRecord(topic_id=topic_id, partition_id=number, isr=[1, 2, 3])])
    return image


def misplaced(image: MetadataImage) -> list[int]:
    partitions = image.topics["t"].partitions
    return [number for number, each in partitions.items() if each.leader != each.replicas[0]]


def test_preferred_leaders_are_elected_where_they_are_in_sync() -> None:
    image = cluster_after_a_failure()
    waiting = misplaced(image)
    assert waiting
    records, results = decide_elect_leaders(image, CONFIG, None, Election.PREFERRED)
    commit(image, records)
    assert [each.partition for each in results] == waiting  # those that need none are not reported
    assert misplaced(image) == []


def test_each_named_partition_gets_an_answer() -> None:
    image = cluster_after_a_failure()
    fine = next(number for number in range(6) if number not in misplaced(image))
    wanted = [("t", fine), ("t", 99), ("other", 0), ("t", misplaced(image)[0])]
    _, results = decide_elect_leaders(image, CONFIG, wanted, Election.PREFERRED)
    assert [each.error for each in results] == [
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]
    assert [each.message for each in results] == [
        "Leader election not needed for topic partition.",
        "No such partition as t-99",
        "No such topic as other",
        None,
    ]


def test_a_fenced_preferred_leader_cannot_be_elected() -> None:
    image = image_of(brokers=3)
    with_topic(image, "t", partitions=3, factor=3)
    commit(image, decide_fence(image, CONFIG, 1).records)
    wanted = [("t", misplaced(image)[0])]
    _, (result,) = decide_elect_leaders(image, CONFIG, wanted, Election.PREFERRED)
    assert result.error is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_an_unclean_election_is_held_only_for_leaderless_partitions() -> None:
    image = image_of(brokers=2)
    topic_id = with_topic(image, "t", factor=2)
    _, (unneeded,) = decide_elect_leaders(image, CONFIG, [("t", 0)], Election.UNCLEAN)
    assert unneeded.error is ErrorCode.ELECTION_NOT_NEEDED
    commit(image, [PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=[1], leader=NO_LEADER)])
    commit(image, decide_fence(image, CONFIG, 1).records)
    records, (result,) = decide_elect_leaders(image, CONFIG, [("t", 0)], Election.UNCLEAN)
    commit(image, records)
    assert result.error is ErrorCode.NONE
    assert image.topics["t"].partitions[0].leader == 2


def test_leader_rebalancing_tolerates_a_share_of_misplaced_leaders() -> None:
    image = cluster_after_a_failure()
    count = len(misplaced(image))
    assert decide_rebalance(image, CONFIG, 100).records == []
    records, moved = decide_rebalance(image, CONFIG, 10)
    commit(image, records)
    assert moved == count
    assert misplaced(image) == []
