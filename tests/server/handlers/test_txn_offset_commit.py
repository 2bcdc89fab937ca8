"""AddOffsetsToTxn and TxnOffsetCommit: offsets that count when, and only when, their transaction commits."""

import itertools
from collections.abc import Callable

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.transactions.state import Transaction
from tests.server.live import Client, Live, TopicHandle, one, until
from tests.transactions.live_producer import LiveProducer

_numbers = itertools.count()
BOTH = pytest.mark.parametrize("is_v2", [False, True], ids=["version-1", "version-2"])


@pytest.fixture
def producer(client: Client) -> Callable[..., LiveProducer]:
    return lambda **options: LiveProducer(client, f"offsets-{next(_numbers)}", **options)


async def new_group(client: Client) -> str:
    group_id = f"group-{next(_numbers)}"
    await client.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[group_id]))
    return group_id


async def committed(
    client: Client, group_id: str, topic: TopicHandle, *, require_stable: bool = False
) -> int | str:
    """The offset at which the group would continue, or the error code."""
    answer = await client.send(
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=group_id,
                    topics=[OffsetFetchRequestTopics(name=topic.name, partition_indexes=[0])],
                )
            ],
            require_stable=require_stable,
        ),
        9,
    )
    partition = one(one(one(answer.groups).topics).partitions)
    if partition.error_code:
        return ErrorCode(partition.error_code).name
    offset: int = partition.committed_offset
    return offset


async def ended(live: Live, mine: LiveProducer) -> None:
    def is_idle() -> bool:
        transaction = live.services.transactions.get(mine.transactional_id)
        return isinstance(transaction, Transaction) and transaction.state.is_idle

    await until(is_idle)


async def commit_in_transaction(mine: LiveProducer, group_id: str, topic: TopicHandle, offset: int) -> None:
    if not mine.is_v2:
        assert await mine.add_offsets(group_id) is ErrorCode.NONE
    assert await mine.commit_offset(group_id, topic, offset) is ErrorCode.NONE


@BOTH
async def test_offsets_count_when_their_transaction_commits_and_not_when_it_aborts(
    live: Live, client: Client, producer: Callable[..., LiveProducer], is_v2: bool
) -> None:
    topic, group_id = await client.create_topic(), await new_group(client)
    mine = producer(is_v2=is_v2)
    await mine.init()
    await commit_in_transaction(mine, group_id, topic, 5)
    assert await committed(client, group_id, topic) == -1
    await mine.end(commit=True)
    await ended(live, mine)
    assert await committed(client, group_id, topic) == 5
    await commit_in_transaction(mine, group_id, topic, 9)
    await mine.end(commit=False)
    await ended(live, mine)
    assert await committed(client, group_id, topic) == 5


async def test_a_fetch_of_stable_offsets_waits_for_the_transaction(
    live: Live, client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic, group_id = await client.create_topic(), await new_group(client)
    mine = producer()
    await mine.init()
    await commit_in_transaction(mine, group_id, topic, 5)
    assert await committed(client, group_id, topic, require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    await mine.end(commit=True)
    await ended(live, mine)
    assert await committed(client, group_id, topic, require_stable=True) == 5


async def test_an_offset_committed_after_the_transactions_own_is_not_hidden_by_it(
    live: Live, client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic, group_id = await client.create_topic(), await new_group(client)
    mine = producer()
    await mine.init()
    await commit_in_transaction(mine, group_id, topic, 5)
    await client.send(
        OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=-1,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic.name,
                    partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=7)],
                )
            ],
        ),
        8,
    )
    await mine.end(commit=True)
    await ended(live, mine)
    assert await committed(client, group_id, topic) == 7


async def test_offsets_are_refused_when_the_group_was_not_added_to_the_transaction(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic, group_id = await client.create_topic(), await new_group(client)
    mine = producer(is_v2=False)
    await mine.init()
    assert (await mine.commit_offset(group_id, topic, 5, version=3)).name == "INVALID_TXN_STATE"
    assert (await mine.commit_offset(group_id, topic, 5, version=4)).name == "TRANSACTION_ABORTABLE"
    assert await mine.commit_offset(group_id, topic, 5, version=5) is ErrorCode.NONE


@pytest.mark.parametrize("version", range(6))
async def test_every_version_commits_offsets(
    live: Live, client: Client, producer: Callable[..., LiveProducer], version: int
) -> None:
    topic, group_id = await client.create_topic(), await new_group(client)
    mine = producer(is_v2=False)
    await mine.init()
    await mine.add_offsets(group_id, version=min(version, 4))
    assert await mine.commit_offset(group_id, topic, 5, version=version) is ErrorCode.NONE
    await mine.end(commit=True, version=min(version, 4))
    await ended(live, mine)
    assert await committed(client, group_id, topic) == 5


async def test_a_member_of_an_old_generation_cannot_commit(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic, group_id = await client.create_topic(), await new_group(client)
    mine = producer()
    await mine.init()
    code = await mine.commit_offset(group_id, topic, 5, generation_id=3, member_id="gone")
    assert code is ErrorCode.ILLEGAL_GENERATION


async def test_a_fenced_producer_commits_no_offsets(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    topic, group_id = await client.create_topic(), await new_group(client)
    zombie = producer()
    await zombie.init()
    await LiveProducer(client, zombie.transactional_id).init()
    assert await zombie.commit_offset(group_id, topic, 5) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await committed(client, group_id, topic) == -1


async def test_offsets_of_an_unknown_partition_are_refused_and_the_others_stored(
    client: Client, producer: Callable[..., LiveProducer]
) -> None:
    group_id = await new_group(client)
    mine = producer()
    await mine.init()
    unknown = TopicHandle("nobody-made-it", bytes(16))
    assert await mine.commit_offset(group_id, unknown, 5) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic = await client.create_topic()
    assert await mine.commit_offset("", topic, 5) is ErrorCode.INVALID_GROUP_ID
