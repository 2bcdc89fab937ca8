"""Requests about several resources with different permissions, and resources hidden from the client."""

import asyncio

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from penstock.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from penstock.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from penstock.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from penstock.protocol.messages.describe_transactions import DescribeTransactionsRequest
from penstock.protocol.messages.envelope import EnvelopeRequest
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.messages.produce import ProduceRequest
from penstock.security.operations import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    TOPIC_OPERATIONS,
    Operation,
    bit_field,
)
from penstock.security.principal import encode_principal
from penstock.security.resources import PatternType, ResourceType
from penstock.server.connections import CloseConnection
from tests.security.acl_support import acl
from tests.server.guarded import Caller, Guarded
from tests.server.live import (
    TopicHandle,
    batch,
    code,
    fetch_request,
    fetch_topic,
    produce_request,
    unique_name,
)
from tests.server.raw import frame_of

BROKER_LOGGER = 8
REFUSED = "TOPIC_AUTHORIZATION_FAILED"


def both(first: ProduceRequest, second: ProduceRequest) -> ProduceRequest:
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[*first.topic_data, *second.topic_data])


def reading(*topics: TopicHandle, max_wait_ms: int = 0, session_epoch: int = -1) -> FetchRequest:
    wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
    return fetch_request(
        [fetch_topic(topic, 18, wanted) for topic in topics],
        max_wait_ms=max_wait_ms,
        session_epoch=session_epoch,
    )


def end_of(guarded: Guarded, topic: TopicHandle) -> int:
    replica = guarded.services.replicas.get(topic.name, 0)
    assert replica is not None
    return replica.log.log_end_offset


async def two_topics(guarded: Guarded) -> tuple[TopicHandle, TopicHandle]:
    return await guarded.create_topic(), await guarded.create_topic()


async def test_a_produce_stores_the_allowed_topics_and_refuses_the_others(
    guarded: Guarded,
) -> None:
    mine, other = await two_topics(guarded)
    caller = guarded.newcomer()
    await guarded.allow(acl(caller.name, Operation.WRITE, mine.name))
    produced = await caller.send(
        both(produce_request(mine, {0: batch(b"v")}), produce_request(other, {0: batch(b"v")}))
    )
    assert [code(t.partition_responses[0].error_code) for t in produced.responses] == ["NONE", REFUSED]
    assert [end_of(guarded, topic) for topic in (mine, other)] == [1, 0]


async def test_a_refused_produce_with_acks_0_closes_the_connection(guarded: Guarded) -> None:
    topic = await guarded.create_topic()
    with pytest.raises(CloseConnection, match=REFUSED):
        await guarded.newcomer().send(produce_request(topic, {0: batch(b"v")}, acks=0))


async def test_a_fetch_returns_the_allowed_topics_and_refuses_the_others(guarded: Guarded) -> None:
    mine, other = await two_topics(guarded)
    caller = guarded.newcomer()
    await guarded.allow(acl(caller.name, Operation.READ, mine.name))
    for topic in (mine, other):
        await guarded.admin.send(produce_request(topic, {0: batch(b"v")}))
    fetched = await caller.send(reading(mine, other))
    first, second = [t.partitions[0] for t in fetched.responses]
    assert (code(first.error_code), code(second.error_code)) == ("NONE", REFUSED)
    assert first.records
    assert not second.records


async def test_a_fetch_waits_for_the_allowed_topics_although_others_are_refused(guarded: Guarded) -> None:
    """Otherwise a consumer with one denied topic would retry without a pause."""
    mine, other = await two_topics(guarded)
    caller = guarded.newcomer()
    await guarded.allow(acl(caller.name, Operation.READ, mine.name))
    fetching = asyncio.ensure_future(caller.send(reading(mine, other, max_wait_ms=30_000)))
    await asyncio.sleep(0)
    assert not fetching.done()
    await guarded.admin.send(produce_request(mine, {0: batch(b"v")}))
    assert (await fetching).responses[0].partitions[0].records


async def test_a_revoked_permission_applies_to_an_open_fetch_session(guarded: Guarded) -> None:
    topic = await guarded.create_topic()
    caller = guarded.newcomer()
    await guarded.allow(acl(caller.name, Operation.READ, topic.name))
    session = (await caller.send(reading(topic, session_epoch=0))).session_id
    assert session
    again = fetch_request([], session_id=session, session_epoch=1)
    assert (await caller.send(again)).responses == []
    await guarded.forget(caller.peer.principal)
    refused = await caller.send(fetch_request([], session_id=session, session_epoch=2))
    assert code(refused.responses[0].partitions[0].error_code) == REFUSED


async def test_a_topic_that_may_not_be_described_looks_like_one_that_does_not_exist(guarded: Guarded) -> None:
    topic = await guarded.create_topic()
    caller = guarded.newcomer()
    names = [MetadataRequestTopic(name=n) for n in (topic.name, unique_name())]
    there, absent = (await caller.send(MetadataRequest(topics=names))).topics
    assert (there.error_code, there.topic_id, there.partitions, there.is_internal) == (
        absent.error_code,
        absent.topic_id,
        absent.partitions,
        absent.is_internal,
    )
    assert code(there.error_code) == REFUSED
    deleted = await caller.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=n.name) for n in names]))
    assert [code(r.error_code) for r in deleted.responses] == [REFUSED, REFUSED]


async def test_deleting_a_topic_by_id_names_it_only_if_it_may_be_described(guarded: Guarded) -> None:
    seen, hidden = await two_topics(guarded)
    caller = guarded.newcomer()
    await guarded.allow(acl(caller.name, Operation.DESCRIBE, seen.name))
    request = DeleteTopicsRequest(
        topics=[
            DeleteTopicState(name=None, topic_id=seen.id),
            DeleteTopicState(name=None, topic_id=hidden.id),
            DeleteTopicState(name=None, topic_id=b"?" * 16),
        ]
    )
    answered = {r.topic_id: (r.name, code(r.error_code)) for r in (await caller.send(request)).responses}
    assert answered == {
        seen.id: (seen.name, REFUSED),
        hidden.id: (None, REFUSED),
        b"?" * 16: (None, "UNKNOWN_TOPIC_ID"),
    }


async def test_only_the_allowed_topics_of_a_request_are_created(guarded: Guarded) -> None:
    mine, other = unique_name(), unique_name()
    caller = guarded.newcomer()
    await guarded.allow(acl(caller.name, Operation.CREATE, mine))
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name=n, num_partitions=3, replication_factor=1) for n in (mine, other)]
    )
    made, refused = (await caller.send(request)).topics
    assert (made.name, code(made.error_code), code(made.topic_config_error_code)) == (mine, "NONE", REFUSED)
    assert (made.num_partitions, made.configs) == (-1, [])
    assert (refused.name, code(refused.error_code)) == (other, REFUSED)


async def transactional_id_of(guarded: Guarded, caller: Caller, *topics: TopicHandle) -> tuple[str, int]:
    """A transactional id that may write to the topics, and its producer id."""
    transactional_id = unique_name()
    await guarded.allow(
        acl(caller.name, Operation.WRITE, transactional_id, resource_type=ResourceType.TRANSACTIONAL_ID),
        *(acl(caller.name, Operation.WRITE, topic.name) for topic in topics),
    )
    await caller.send(FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]))
    made = await caller.send(
        InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=10_000,
            producer_id=-1,
            producer_epoch=-1,
        )
    )
    assert made.error_code == 0
    return transactional_id, made.producer_id


async def partitions_in(guarded: Guarded, transactional_id: str) -> list[str]:
    described = await guarded.admin.send(DescribeTransactionsRequest(transactional_ids=[transactional_id]))
    return [each.topic for each in described.transaction_states[0].topics]


async def test_no_partition_joins_a_transaction_if_one_is_refused(guarded: Guarded) -> None:
    mine, other = await two_topics(guarded)
    caller = guarded.newcomer()
    transactional_id, producer_id = await transactional_id_of(guarded, caller, mine)
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=[0])
            for name in (mine.name, other.name, "__consumer_offsets")
        ],
    )
    answer = await caller.send(request, 3)
    codes = [
        code(t.results_by_partition[0].partition_error_code) for t in answer.results_by_topic_v3_and_below
    ]
    assert codes == ["OPERATION_NOT_ATTEMPTED", REFUSED, REFUSED]
    assert await partitions_in(guarded, transactional_id) == []


async def test_a_refused_produce_does_not_become_part_of_its_transaction(guarded: Guarded) -> None:
    mine, other = await two_topics(guarded)
    caller = guarded.newcomer()
    transactional_id, producer_id = await transactional_id_of(guarded, caller, mine)
    records = batch(b"v", producer_id=producer_id, epoch=0, sequence=0, is_transactional=True)
    request = both(produce_request(mine, {0: records}), produce_request(other, {0: records}))
    produced = await caller.send(
        ProduceRequest(
            acks=-1, timeout_ms=1000, transactional_id=transactional_id, topic_data=request.topic_data
        )
    )
    assert [code(t.partition_responses[0].error_code) for t in produced.responses] == ["NONE", REFUSED]
    assert await partitions_in(guarded, transactional_id) == [mine.name]
    described = await guarded.newcomer().send(
        DescribeTransactionsRequest(transactional_ids=[transactional_id])
    )
    assert code(described.transaction_states[0].error_code) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


async def test_a_described_transaction_lists_only_topics_that_may_be_described(guarded: Guarded) -> None:
    topic = await guarded.create_topic()
    writer, onlooker = guarded.newcomer(), guarded.newcomer()
    transactional_id, producer_id = await transactional_id_of(guarded, writer, topic)
    records = batch(b"v", producer_id=producer_id, epoch=0, sequence=0, is_transactional=True)
    await writer.send(produce_request(topic, {0: records}, transactional_id=transactional_id))
    await guarded.allow(
        acl(onlooker.name, Operation.DESCRIBE, transactional_id, resource_type=ResourceType.TRANSACTIONAL_ID)
    )
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    (seen,) = (await onlooker.send(request)).transaction_states
    assert (code(seen.error_code), seen.topics) == ("NONE", [])
    await guarded.allow(acl(onlooker.name, Operation.DESCRIBE, topic.name))
    (seen,) = (await onlooker.send(request)).transaction_states
    assert [each.topic for each in seen.topics] == [topic.name]


async def test_paged_topic_descriptions_do_not_reveal_hidden_topics(guarded: Guarded) -> None:
    prefix = unique_name()
    for letter in "abc":
        await guarded.create_topic(f"{prefix}-{letter}")
    caller = guarded.newcomer()
    for letter in "ac":
        await guarded.allow(acl(caller.name, Operation.READ, f"{prefix}-{letter}"))
    page = await caller.send(DescribeTopicPartitionsRequest(response_partition_limit=1, cursor=None))
    assert [each.name for each in page.topics] == [f"{prefix}-a"]
    assert page.next_cursor.topic_name == f"{prefix}-c"
    permitted = bit_field([Operation.READ, Operation.DESCRIBE])
    assert page.topics[0].topic_authorized_operations == permitted
    named = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=f"{prefix}-{letter}") for letter in "ab"], cursor=None
    )
    assert [code(t.error_code) for t in (await caller.send(named)).topics] == ["NONE", REFUSED]


async def test_responses_list_the_permitted_operations(guarded: Guarded) -> None:
    topic = await guarded.create_topic()
    caller = guarded.newcomer()
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic.name)],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    await guarded.allow(
        acl(caller.name, Operation.WRITE, topic.name),
        acl(caller.name, Operation.ALTER_CONFIGS, topic.name[:-1], pattern_type=PatternType.PREFIXED),
        acl(caller.name, Operation.ALTER, "kafka-cluster", resource_type=ResourceType.CLUSTER),
        acl(caller.name, Operation.READ, "g", resource_type=ResourceType.GROUP),
    )
    metadata = await caller.send(request, 10)
    assert metadata.topics[0].topic_authorized_operations == bit_field(
        [Operation.WRITE, Operation.DESCRIBE, Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS]
    )
    assert metadata.cluster_authorized_operations == bit_field([Operation.ALTER, Operation.DESCRIBE])
    await caller.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    groups = DescribeGroupsRequest(groups=["g"], include_authorized_operations=True)
    described = (await caller.send(groups, 5)).groups[0]
    assert described.authorized_operations == bit_field([Operation.READ, Operation.DESCRIBE])
    everything = await guarded.admin.send(request, 10)
    assert everything.topics[0].topic_authorized_operations == bit_field(TOPIC_OPERATIONS)
    assert everything.cluster_authorized_operations == bit_field(CLUSTER_OPERATIONS)
    described = (await guarded.admin.send(groups, 5)).groups[0]
    assert described.authorized_operations == bit_field(GROUP_OPERATIONS)


async def test_a_pattern_matches_only_topics_that_the_member_may_describe(guarded: Guarded) -> None:
    group, prefix = unique_name(), unique_name()
    caller = guarded.newcomer()
    await guarded.allow(
        acl(caller.name, Operation.READ, group, resource_type=ResourceType.GROUP),
        acl(caller.name, Operation.READ, f"{prefix}-mine", pattern_type=PatternType.PREFIXED),
    )
    for name in ("mine", "other"):
        await guarded.create_topic(f"{prefix}-{name}")
    await caller.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=None,
        subscribed_topic_regex=f"{prefix}.*",
        server_assignor=None,
        topic_partitions=[],
    )

    async def subscribed_topics() -> set[str]:
        answer = await caller.send(heartbeat)
        assert answer.error_code == 0, answer
        shard = guarded.services.groups.find(group)
        assert not isinstance(shard, ErrorCode)
        return shard.state.consumers[group].topic_names()

    assert await subscribed_topics() == {f"{prefix}-mine"}
    described = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    (seen,) = (await caller.send(described)).groups
    assert (code(seen.error_code), seen.authorized_operations) == (
        "NONE",
        bit_field([Operation.READ, Operation.DESCRIBE]),
    )
    for name in ("mine-too", "other-too"):
        await guarded.create_topic(f"{prefix}-{name}")
    assert await subscribed_topics() == {f"{prefix}-mine", f"{prefix}-mine-too"}
    onlooker = guarded.newcomer()
    await guarded.allow(acl(onlooker.name, Operation.DESCRIBE, group, resource_type=ResourceType.GROUP))
    (seen,) = (await onlooker.send(described)).groups
    assert (code(seen.error_code), seen.members) == (REFUSED, [])


async def test_a_forwarded_request_is_authorized_for_its_sender(guarded: Guarded) -> None:
    """Not for the broker that forwards it, which needs the permission to forward (KIP-590)."""
    client = guarded.newcomer()
    name = unique_name()
    inner = CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)])
    envelope = EnvelopeRequest(
        request_data=frame_of(inner, 7)[4:],
        request_principal=encode_principal(client.peer.principal),
        client_host_address=bytes([127, 0, 0, 1]),
    )
    refused = await client.send(envelope)
    assert code(refused.error_code) == "CLUSTER_AUTHORIZATION_FAILED"
    assert code((await guarded.admin.send(envelope)).error_code) == "CLUSTER_AUTHORIZATION_FAILED"
    assert not (await guarded.broker.send(envelope)).error_code
    assert guarded.services.controller.image.topic(name) is None
    await guarded.allow(acl(client.name, Operation.CREATE, name))
    answer = await guarded.broker.send(envelope)
    assert ErrorCode(answer.error_code) is ErrorCode.NONE
    assert guarded.services.controller.image.topic(name) is not None


async def test_log_levels_need_permissions_on_the_cluster(guarded: Guarded) -> None:
    caller = guarded.newcomer()
    read = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=BROKER_LOGGER, resource_name="1", configuration_keys=["root"]
            )
        ]
    )
    change = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=BROKER_LOGGER,
                resource_name="1",
                configs=[AlterableConfig(name="root", config_operation=0, value="FATAL")],
            )
        ],
        validate_only=True,
    )

    async def answers() -> tuple[str, str]:
        described, altered = await caller.send(read), await caller.send(change)
        return code(described.results[0].error_code), code(altered.responses[0].error_code)

    assert await answers() == ("CLUSTER_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
    cluster = ResourceType.CLUSTER
    await guarded.allow(acl(caller.name, Operation.DESCRIBE_CONFIGS, "kafka-cluster", resource_type=cluster))
    assert await answers() == ("NONE", "CLUSTER_AUTHORIZATION_FAILED")
    await guarded.allow(acl(caller.name, Operation.ALTER_CONFIGS, "kafka-cluster", resource_type=cluster))
    assert await answers() == ("NONE", "NONE")
