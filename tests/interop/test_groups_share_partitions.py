"""Members of one group share a topic's partitions, and every record is processed once whatever happens to them.

A record counts as processed when the commit of its offset was acknowledged to the member that read it.
"""

import pytest

from tests.interop.group_stage import Stage

CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka", "kafkajs", "platformatic")


@pytest.mark.parametrize("client", CLIENTS)
def test_two_members_of_a_client_share_the_partitions_and_the_last_one_gets_all(
    client: str, stage: Stage
) -> None:
    stage.produce(60)
    first = stage.join(client)
    stage.until_shared(first)
    second = stage.join(client)
    stage.until_shared(first, second)
    stage.until_processed()

    first.leave()
    stage.until_shared(second)
    stage.produce(60)
    stage.until_processed()


def test_four_clients_in_one_group_process_every_record_once(own_stage: Stage) -> None:
    """Through joins, a suspended member that is evicted and rejoins, a leave, and a restart of the broker."""
    stage = own_stage
    stage.produce(60)
    members = []
    for client in ("confluent-kafka", "kafka-python", "aiokafka", "kafkajs"):
        members.append(stage.join(client))
        stage.until_shared(*members)
        stage.produce(60)
    stage.until_processed()

    members[1].freeze()
    stage.until_shared(members[0], members[2], members[3])
    stage.produce(60)
    stage.until_processed()
    members[1].thaw()
    stage.until_shared(*members)
    stage.produce(60)
    stage.until_processed()

    members[2].leave()
    del members[2]
    stage.until_shared(*members)
    stage.produce(60)
    stage.until_processed()

    stage.broker.restart()
    stage.produce(60)
    stage.until_processed()
    stage.until_shared(*members)


def test_no_record_is_lost_or_duplicated_while_members_join_and_leave_under_load(stage: Stage) -> None:
    with stage.producing():
        first = stage.join("confluent-kafka")
        stage.until_shared(first)
        second = stage.join("aiokafka")
        stage.until_shared(first, second)
        third = stage.join("confluent-kafka")
        stage.until_shared(first, second, third)
        first.leave()
        stage.until_shared(second, third)
    stage.until_processed()


@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-python", "aiokafka"])
def test_no_record_is_lost_or_duplicated_when_the_broker_restarts_under_load(
    client: str, own_stage: Stage
) -> None:
    stage = own_stage
    members = [stage.join(client), stage.join(client)]
    stage.until_shared(*members)
    with stage.producing():
        stage.members.until(lambda: len(stage.members.values()) > 60, "a flow of records")
        stage.broker.restart()
        before = len(stage.members.values())
        stage.members.until(lambda: len(stage.members.values()) > before + 60, "the flow to continue")
    stage.until_processed()


def test_cooperative_members_keep_the_partitions_that_they_need_not_revoke(stage: Stage) -> None:
    stage.produce(60)
    first = stage.join("confluent-kafka", assignor="cooperative-sticky")
    stage.until_shared(first)
    second = stage.join("confluent-kafka", assignor="cooperative-sticky")
    stage.until_shared(first, second)
    stage.produce(60)
    stage.until_processed()

    assert not any(not held for held in first.history[1:]), first.history


@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-python", "aiokafka"])
def test_a_killed_static_member_rejoins_to_its_partitions_without_a_rebalance(
    client: str, stage: Stage
) -> None:
    stage.produce(60)
    first = stage.join(client, instance_id="one", session_timeout_ms=30_000)
    stage.until_shared(first)
    second = stage.join(client, instance_id="two", session_timeout_ms=30_000)
    stage.until_shared(first, second)
    stage.until_processed()
    held, undisturbed = second.partitions, len(first.history)

    second.kill()
    again = stage.join(client, instance_id="two", session_timeout_ms=30_000)
    stage.until_shared(first, again)
    stage.produce(60)
    stage.until_processed()

    assert again.partitions == held
    assert len(first.history) == undisturbed, first.history


def test_two_groups_read_the_same_topic_independently(stage: Stage) -> None:
    stage.produce(60)
    one = stage.join("confluent-kafka", group=f"{stage.group}-one")
    stage.members.until(lambda: len(one.processed) == 60, "the first group to read all")
    other = stage.join("aiokafka", group=f"{stage.group}-other")
    stage.members.until(lambda: len(other.processed) == 60, "the second group to read all")

    assert sorted(one.processed) == sorted(other.processed)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_group_resumes_where_it_committed_after_the_broker_was_killed(
    client: str, own_stage: Stage
) -> None:
    stage = own_stage
    stage.produce(60)
    member = stage.join(client)
    stage.until_processed()
    member.leave()

    stage.broker.kill()
    stage.broker.start()
    stage.produce(60)
    stage.join(client)

    stage.until_processed()


@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-python", "aiokafka", "kafkajs"])
def test_a_member_continues_after_the_broker_was_killed(client: str, own_stage: Stage) -> None:
    stage = own_stage
    stage.produce(60)
    stage.join(client)
    stage.until_processed()

    stage.broker.kill()
    stage.broker.start()
    stage.produce(60)

    stage.until_processed()
