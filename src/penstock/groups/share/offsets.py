"""The start offsets of a share group's partitions: describing, setting and forgetting them.

What is kept of a partition is with the share coordinator; the group's ledger says which partitions it has.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Topic
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.member import Assignment
from penstock.groups.share.group import ShareGroup
from penstock.groups.share.partition_sets import Place, united, without
from penstock.groups.share.service import ShareGroups, find_or_make_share_group, find_share_group
from penstock.groups.vigil import Shard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_share_group_offsets as altering
from penstock.protocol.messages import delete_share_group_offsets as deleting
from penstock.protocol.messages import describe_share_group_offsets as describing
from penstock.protocol.wire import ZERO_UUID
from penstock.share.values import UNINITIALIZED_OFFSET, PersisterError, SharePartitionKey, ShareSummary

UNKNOWN_PARTITION = "This server does not host this topic-partition."
_NOT_EMPTY = "The group is not empty."
_UNKNOWN_COUNT = -1


# -- describing -------------------------------------------------------------------------------------------


async def describe(
    shares: ShareGroups, image: MetadataImage, group_id: str, wanted: Iterable[tuple[str, Sequence[int]]]
) -> list[describing.DescribeShareGroupOffsetsResponseTopic]:
    """Where each partition starts for a group, and how much is left to read. Of what it does not read, -1."""
    known = [(image.topics.get(name), name, partitions) for name, partitions in wanted]
    keys = [
        SharePartitionKey(group_id, topic.topic_id, partition)
        for topic, _, partitions in known
        if topic is not None
        for partition in topic.partitions.keys() & set(partitions)
    ]
    summaries = dict(zip(keys, await asyncio.gather(*(_summary(shares, key) for key in keys)), strict=True))
    counted = [
        (image.topics_by_id[key.topic_id].name, key.partition)
        for key, summary in summaries.items()
        if _has_lag(summary) and key.topic_id in image.topics_by_id
    ]
    ends = await shares.end_offsets.latest(counted) if counted else {}
    return [
        describing.DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=topic.topic_id,
            partitions=[
                _described(
                    each,
                    summaries.get(SharePartitionKey(group_id, topic.topic_id, each)),
                    ends.get((name, each)),
                )
                for each in partitions
            ],
        )
        if topic is not None
        else _unknown_topic(name, partitions)
        for topic, name, partitions in known
    ]


async def _summary(shares: ShareGroups, key: SharePartitionKey) -> ShareSummary | None:
    try:
        return await shares.persister.summary(key)
    except PersisterError:
        return None


def _has_lag(summary: ShareSummary | None) -> bool:
    return (
        summary is not None
        and summary.start_offset != UNINITIALIZED_OFFSET
        and summary.delivery_complete_count != _UNKNOWN_COUNT
    )


def _described(
    partition: int, summary: ShareSummary | None, end: int | ErrorCode | None
) -> describing.DescribeShareGroupOffsetsResponsePartition:
    if summary is None:
        return describing.DescribeShareGroupOffsetsResponsePartition(
            partition_index=partition, start_offset=UNINITIALIZED_OFFSET
        )
    if isinstance(end, ErrorCode):
        return describing.DescribeShareGroupOffsetsResponsePartition(
            partition_index=partition, error_code=end, error_message=end.name
        )
    lag = -1 if end is None else end - summary.start_offset - summary.delivery_complete_count
    return describing.DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition,
        start_offset=summary.start_offset,
        leader_epoch=summary.leader_epoch,
        lag=lag,
    )


def _unknown_topic(name: str, partitions: Sequence[int]) -> describing.DescribeShareGroupOffsetsResponseTopic:
    return describing.DescribeShareGroupOffsetsResponseTopic(
        topic_name=name, partitions=[_described(each, None, None) for each in partitions]
    )


# -- altering ---------------------------------------------------------------------------------------------


async def alter(
    shares: ShareGroups,
    shard: Shard,
    image: MetadataImage,
    group_id: str,
    topics: Sequence[altering.AlterShareGroupOffsetsRequestTopic],
) -> list[altering.AlterShareGroupOffsetsResponseTopic]:
    """Set where a group without members starts. Makes the group if there is none. Raises `Refused`."""
    group = find_or_make_share_group(shard.state, group_id)
    _check_empty(group)
    offsets: dict[Place, int] = {
        (topic.topic_id, each.partition_index): each.start_offset
        for wanted in topics
        if (topic := image.topics.get(wanted.topic_name)) is not None
        for each in wanted.partitions
        if each.partition_index in topic.partitions
    }
    outcome: Mapping[Place, PersisterError] = {}
    if offsets:
        with _refusing():
            initializing = shares.initialize(shard, group, offsets)
        outcome = await asyncio.shield(initializing)
    return [_altered(each, image.topics.get(each.topic_name), outcome) for each in topics]


def _altered(
    wanted: altering.AlterShareGroupOffsetsRequestTopic,
    topic: Topic | None,
    outcome: Mapping[Place, PersisterError],
) -> altering.AlterShareGroupOffsetsResponseTopic:
    partitions = []
    for each in wanted.partitions:
        code, message = ErrorCode.NONE, None
        if topic is None or each.partition_index not in topic.partitions:
            code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_PARTITION
        elif (error := outcome.get((topic.topic_id, each.partition_index))) is not None:
            code, message = error.code, str(error)
        partitions.append(
            altering.AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index, error_code=code, error_message=message
            )
        )
    return altering.AlterShareGroupOffsetsResponseTopic(
        topic_name=wanted.topic_name,
        topic_id=ZERO_UUID if topic is None else topic.topic_id,
        partitions=partitions,
    )


# -- forgetting -------------------------------------------------------------------------------------------


async def delete(
    shares: ShareGroups, shard: Shard, image: MetadataImage, group_id: str, names: Sequence[str]
) -> list[deleting.DeleteShareGroupOffsetsResponseTopic]:
    """Forget what a group without members has of these topics. Raises `Refused`."""
    group = find_share_group(shard.state, group_id)
    _check_empty(group)
    doomed: dict[bytes, frozenset[int]] = {}
    answers = []
    for name in names:
        topic = image.topics.get(name)
        if topic is None:
            answers.append(_undeleted(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_PARTITION))
        elif topic.topic_id in group.ledger.initialized:
            doomed[topic.topic_id] = group.ledger.initialized[topic.topic_id]
        elif topic.topic_id in group.ledger.deleting:  # an earlier attempt did not get to its end
            doomed[topic.topic_id] = frozenset(topic.partitions)
        else:
            message = "There is no offset information to delete."
            answers.append(_undeleted(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message))
    errors = await _condemn(shares, shard, group, doomed)
    gone = [topic_id for topic_id in doomed if topic_id not in errors]
    if shard.state.shares.get(group_id) is group and gone:
        group.put_ledger(group.ledger.forgotten(gone))
        with _refusing():
            written = shares.write(shard, group)
            if written is not None:
                await written
    deleted = [
        deleting.DeleteShareGroupOffsetsResponseTopic(
            topic_name=image.topics_by_id[topic_id].name if topic_id in image.topics_by_id else "",
            topic_id=topic_id,
            error_code=errors[topic_id].code if topic_id in errors else ErrorCode.NONE,
            error_message=str(errors[topic_id]) if topic_id in errors else None,
        )
        for topic_id in doomed
    ]
    return [*deleted, *answers]


def _undeleted(name: str, code: ErrorCode, message: str) -> deleting.DeleteShareGroupOffsetsResponseTopic:
    return deleting.DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, error_code=code, error_message=message
    )


async def delete_all(shares: ShareGroups, shard: Shard, image: MetadataImage, group_id: str) -> ErrorCode:
    """Forget the state of a group that is about to be deleted itself; NONE also for what is no share group."""
    group = shard.state.shares.get(group_id)
    if group is None:
        return ErrorCode.NONE
    is_done = False
    while not is_done and shard.state.shares.get(group_id) is group:
        if group.members:
            return ErrorCode.NON_EMPTY_GROUP
        if preparing := shares.preparing(group):  # it would undo what is done here
            await asyncio.wait(preparing)
            continue
        ledger = group.ledger
        left_over = {
            topic_id: frozenset(image.topics_by_id[topic_id].partitions)
            for topic_id in ledger.deleting
            if topic_id in image.topics_by_id
        }
        doomed = united(united(ledger.initialized, ledger.initializing), left_over)
        try:
            errors = await _condemn(shares, shard, group, doomed)
        except Refused as refused:
            return refused.code
        if errors:
            return next(iter(errors.values())).code
        # Somebody may have joined meanwhile, had more of them initialized, and left.
        is_done = not (group.ledger.initialized or group.ledger.initializing)
    return ErrorCode.NONE


async def _condemn(
    shares: ShareGroups, shard: Shard, group: ShareGroup, partitions: Assignment
) -> dict[bytes, PersisterError]:
    """Have the share coordinator forget partitions, which the log says first. Gives what failed, by topic.

    Whoever joins meanwhile has them initialized again, but not before they are forgotten, and in an epoch of their own:
    leaders that still have what is deleted must not write to it.
    """
    if not partitions:
        return {}
    group.bump_epoch(group.metadata_hash)
    group.put_ledger(group.ledger.condemned(partitions.keys()))
    with _refusing():
        written = shares.write(shard, group)
        group.in_flight = united(group.in_flight, partitions)
        try:
            if written is not None:
                await written
            outcome = await shares.delete_state(shard, group, partitions)
        finally:
            group.in_flight = without(group.in_flight, partitions)
    return {topic_id: error for (topic_id, _), error in outcome.items()}


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except CoordinatorError as error:
        raise Refused(error.code, error.message or error.code.name) from error


def _check_empty(group: ShareGroup) -> None:
    if group.members:
        raise Refused(ErrorCode.NON_EMPTY_GROUP, _NOT_EMPTY)
