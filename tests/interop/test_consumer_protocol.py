"""Members of the consumer protocol (KIP-848) share a topic's partitions, and every record is processed once.

A record counts as processed when the commit of its offset was acknowledged to the member that read it.
"""

from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupType, Producer, TopicPartition

from tests.interop.group_stage import PARTITIONS, Stage
from tests.interop.groups import KIP_848

CLASSIC = "confluent-kafka"


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_share_the_partitions_and_the_last_one_gets_all(assignor: str, stage: Stage) -> None:
    stage.produce(60)
    first = stage.join(assignor=assignor)
    stage.until_shared(first)
    second = stage.join(assignor=assignor)
    stage.until_shared(first, second)
    stage.produce(60)
    stage.until_processed()

    assert stage.group_type() is ConsumerGroupType.CONSUMER
    first.leave()
    stage.until_shared(second)
    stage.produce(60)
    stage.until_processed()


def test_a_member_keeps_the_partitions_that_it_need_not_revoke(stage: Stage) -> None:
    first = stage.join()
    stage.until_shared(first)
    second = stage.join()
    stage.until_shared(first, second)
    stage.produce(60)
    stage.until_processed()

    assert all(first.history), first.history
    assert [len(each.partitions) for each in (first, second)] == [3, 3]


def test_records_are_processed_once_through_freezes_leaves_and_a_restart(own_stage: Stage) -> None:
    """A suspended member is evicted at its session timeout and rejoins; the broker restarts."""
    stage = own_stage
    members = []
    for _ in range(3):
        stage.produce(60)
        members.append(stage.join())
        stage.until_shared(*members)
    stage.until_processed()

    members[1].freeze()
    stage.until_shared(members[0], members[2])
    stage.produce(60)
    stage.until_processed()
    members[1].thaw()
    stage.until_shared(*members)
    stage.produce(60)
    stage.until_processed()

    members.pop().leave()
    stage.until_shared(*members)
    stage.produce(60)
    stage.until_processed()

    histories = [len(each.history) for each in members]
    stage.broker.restart()
    stage.produce(60)
    stage.until_processed()
    stage.until_shared(*members)
    assert [len(each.history) for each in members] == histories, "a restart moves nothing"


def test_no_record_is_lost_or_duplicated_while_members_join_and_leave_under_load(stage: Stage) -> None:
    with stage.producing():
        first = stage.join()
        stage.until_shared(first)
        second = stage.join()
        third = stage.join()
        stage.until_shared(first, second, third)
        first.leave()
        stage.until_shared(second, third)
    stage.until_processed()


def test_a_group_continues_after_the_broker_was_killed(own_stage: Stage) -> None:
    stage = own_stage
    stage.produce(60)
    members = [stage.join(), stage.join()]
    stage.until_shared(*members)
    stage.until_processed()

    stage.broker.kill()
    stage.broker.start()
    stage.produce(60)
    stage.until_processed()
    stage.until_shared(*members)


def test_a_group_resumes_where_it_committed(own_stage: Stage) -> None:
    stage = own_stage
    stage.produce(60)
    member = stage.join()
    stage.until_processed()
    member.leave()

    stage.broker.kill()
    stage.broker.start()
    stage.produce(60)
    stage.join()

    stage.until_processed()


def test_a_static_member_rejoins_to_its_partitions_without_a_rebalance(stage: Stage) -> None:
    first = stage.join(instance_id="one")
    stage.until_shared(first)
    second = stage.join(instance_id="two")
    stage.until_shared(first, second)
    held, undisturbed = second.partitions, len(first.history)

    second.leave()
    again = stage.join(instance_id="two")
    stage.until_shared(first, again)
    stage.produce(60)
    stage.until_processed()

    assert again.partitions == held
    assert len(first.history) == undisturbed, first.history


def test_a_pattern_matches_topics_that_are_created_later_too(stage: Stage) -> None:
    name = f"pattern-{stage.group}"
    stage.create(f"{name}-a", 2)
    stage.create(f"not-{name}", 1)
    stage.produce(20, f"{name}-a", 2)
    stage.join(topic=f"^{name}-[a-z]+$")
    stage.join(topic=f"^{name}-[a-z]+$")
    stage.until_processed()

    stage.create(f"{name}-b", 2)
    stage.produce(20, f"{name}-b", 2)
    stage.until_processed()

    others = [f"other-{number}" for number in range(10)]
    producer = stage.producer()
    for each in others:
        producer.produce(f"not-{name}", each.encode())
    producer.flush(20)
    stage.produce(20, f"{name}-a", 2)
    stage.until_processed()
    assert not set(stage.members.values()) & set(others)


def test_offsets_are_committed_in_a_transaction(stage: Stage) -> None:
    """Consume, transform, produce: uncommitted records are read again by the next member."""
    stage.produce(30)
    settings = {
        "bootstrap.servers": stage.broker.bootstrap,
        "group.id": stage.group,
        "group.protocol": "consumer",
    }
    output = f"{stage.topic}-out"
    stage.create(output, 1)
    written: list[bytes] = []
    for is_committed in (False, True):
        consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.subscribe([stage.topic])
        producer = Producer({"bootstrap.servers": stage.broker.bootstrap, "transactional.id": stage.group})
        producer.init_transactions(20)
        producer.begin_transaction()
        records: list[Any] = []
        while len(records) < 30:
            records += [r for r in consumer.consume(30, timeout=20) if r.error() is None]
        for record in records:
            producer.produce(output, record.value())
        ends = {r.partition(): r.offset() + 1 for r in records}
        offsets = [TopicPartition(stage.topic, p, o) for p, o in ends.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 20)
        if is_committed:
            producer.commit_transaction(20)
            written += [r.value() for r in records]
        else:
            producer.abort_transaction(20)
        consumer.close()
    assert sorted(written) == sorted(each.encode() for each in stage.produced)

    stage.produce(6)
    stage.join()
    stage.members.until_processed(stage.produced[30:])


def test_new_partitions_are_read_too(stage: Stage) -> None:
    stage.produce(60)
    stage.join()
    stage.until_processed()

    stage.grow(PARTITIONS + 2)
    stage.produce(80, partitions=PARTITIONS + 2)
    stage.until_processed()


def test_a_mixed_group_continues_after_the_broker_was_killed(own_stage: Stage) -> None:
    stage = own_stage
    stage.produce(60)
    members = [stage.join(CLASSIC, assignor="roundrobin"), stage.join()]
    stage.until_shared(*members)
    stage.until_processed()

    stage.broker.kill()
    stage.broker.start()
    stage.produce(60)
    stage.until_processed()
    stage.until_shared(*members)
    assert stage.group_type() is ConsumerGroupType.CONSUMER


@pytest.mark.parametrize(
    ("classic", "assignor"),
    [
        (CLASSIC, "roundrobin"),
        (CLASSIC, "cooperative-sticky"),
        ("aiokafka", "roundrobin"),
        ("kafka-python", "roundrobin"),
    ],
)
def test_a_rolling_upgrade_and_downgrade_neither_loses_nor_duplicates_records(
    classic: str, assignor: str, stage: Stage
) -> None:
    """Members are replaced one by one, with a mixed group in between, while records are produced."""
    members = [stage.join(classic, assignor=assignor), stage.join(classic, assignor=assignor)]
    stage.until_shared(*members)
    assert stage.group_type() is ConsumerGroupType.CLASSIC
    with stage.producing():
        for client, group_type in [
            (KIP_848, ConsumerGroupType.CONSUMER),
            (KIP_848, ConsumerGroupType.CONSUMER),
            (classic, ConsumerGroupType.CONSUMER),
            (classic, ConsumerGroupType.CLASSIC),
        ]:
            members.append(stage.join(client, assignor=assignor))
            stage.until_shared(*members)
            members.pop(0).leave()
            stage.until_shared(*members)
            assert stage.group_type() is group_type
    stage.until_processed()
