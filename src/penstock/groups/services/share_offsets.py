"""Describes, sets and deletes the start offsets of a share group's partitions.

The share coordinator keeps the state of a partition; the group's `state_partitions` lists the partitions that it has.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Topic
from penstock.groups.base.assignment import Assignment, TopicIdPartition, difference, union
from penstock.groups.base.errors import GroupError
from penstock.groups.services.base import Shard
from penstock.groups.services.share import ShareGroups
from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_share_group_offsets as alter_wire
from penstock.protocol.messages import delete_share_group_offsets as delete_wire
from penstock.protocol.messages import describe_share_group_offsets as describe_wire
from penstock.protocol.wire import ZERO_UUID
from penstock.share.state.values import UNINITIALIZED_OFFSET, PersisterError, SharePartitionKey, ShareSummary

UNKNOWN_PARTITION = "This server does not host this topic-partition."
_UNKNOWN_COUNT = -1

_DescribedPartition = describe_wire.DescribeShareGroupOffsetsResponsePartition


# -- describing -------------------------------------------------------------------------------------------


async def describe(
    shares: ShareGroups, image: MetadataImage, group_id: str, wanted: Iterable[tuple[str, Sequence[int]]]
) -> list[describe_wire.DescribeShareGroupOffsetsResponseTopic]:
    """Return the start offset and the lag of each partition; -1 for partitions that the group does not read."""
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

    def partition_of(topic: Topic | None, name: str, partition: int) -> _DescribedPartition:
        if topic is None:
            return _describe_partition(partition, None, None)
        summary = summaries.get(SharePartitionKey(group_id, topic.topic_id, partition))
        return _describe_partition(partition, summary, ends.get((name, partition)))

    return [
        describe_wire.DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=_topic_id(topic),
            partitions=[partition_of(topic, name, each) for each in partitions],
        )
        for topic, name, partitions in known
    ]


def _topic_id(topic: Topic | None) -> bytes:
    return ZERO_UUID if topic is None else topic.topic_id


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


def _describe_partition(
    partition: int, summary: ShareSummary | None, end: int | ErrorCode | None
) -> _DescribedPartition:
    if summary is None:
        return _DescribedPartition(partition_index=partition, start_offset=UNINITIALIZED_OFFSET)
    if isinstance(end, ErrorCode):
        return _DescribedPartition(partition_index=partition, error_code=end, error_message=end.name)
    return _DescribedPartition(
        partition_index=partition,
        start_offset=summary.start_offset,
        leader_epoch=summary.leader_epoch,
        lag=-1 if end is None else end - summary.start_offset - summary.delivery_complete_count,
    )


# -- altering ---------------------------------------------------------------------------------------------


async def alter(
    shares: ShareGroups,
    shard: Shard,
    image: MetadataImage,
    group_id: str,
    topics: Sequence[alter_wire.AlterShareGroupOffsetsRequestTopic],
) -> list[alter_wire.AlterShareGroupOffsetsResponseTopic]:
    """Set the start offsets of a group without members. Creates a missing group. Raises `GroupError`."""
    group = shares.find_or_make(shard.state, group_id)
    _check_empty(group)
    offsets: dict[TopicIdPartition, int] = {
        (topic.topic_id, each.partition_index): each.start_offset
        for wanted in topics
        if (topic := image.topics.get(wanted.topic_name)) is not None
        for each in wanted.partitions
        if each.partition_index in topic.partitions
    }
    failures: Mapping[TopicIdPartition, PersisterError] = {}
    if offsets:
        with _as_group_errors():
            initializing = shares.initialize(shard, group, offsets)
        failures = await asyncio.shield(initializing)
    return [_altered_topic(each, image.topics.get(each.topic_name), failures) for each in topics]


def _altered_topic(
    wanted: alter_wire.AlterShareGroupOffsetsRequestTopic,
    topic: Topic | None,
    failures: Mapping[TopicIdPartition, PersisterError],
) -> alter_wire.AlterShareGroupOffsetsResponseTopic:
    partitions = []
    for each in wanted.partitions:
        code, message = ErrorCode.NONE, None
        if topic is None or each.partition_index not in topic.partitions:
            code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_PARTITION
        elif (error := failures.get((topic.topic_id, each.partition_index))) is not None:
            code, message = error.code, str(error)
        partitions.append(
            alter_wire.AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index, error_code=code, error_message=message
            )
        )
    return alter_wire.AlterShareGroupOffsetsResponseTopic(
        topic_name=wanted.topic_name, topic_id=_topic_id(topic), partitions=partitions
    )


# -- deleting ---------------------------------------------------------------------------------------------


async def delete(
    shares: ShareGroups, shard: Shard, image: MetadataImage, group_id: str, names: Sequence[str]
) -> list[delete_wire.DeleteShareGroupOffsetsResponseTopic]:
    """Delete the offsets of topics of a group without members. Raises `GroupError`."""
    group = shares.find(shard.state, group_id)
    _check_empty(group)
    known = group.state_partitions
    partitions: dict[bytes, frozenset[int]] = {}
    unknown = []
    for name in names:
        topic = image.topics.get(name)
        if topic is not None and topic.topic_id in known.initialized:
            partitions[topic.topic_id] = known.initialized[topic.topic_id]
        elif topic is not None and topic.topic_id in known.deleting:  # an earlier attempt was interrupted
            partitions[topic.topic_id] = frozenset(topic.partitions)
        else:
            unknown.append(
                delete_wire.DeleteShareGroupOffsetsResponseTopic(
                    topic_name=name,
                    error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    error_message=UNKNOWN_PARTITION
                    if topic is None
                    else "There is no offset information to delete.",
                )
            )
    failures = await _delete_state(shares, shard, group, partitions)
    deleted = [topic_id for topic_id in partitions if topic_id not in failures]
    if shard.state.shares.get(group_id) is group and deleted:
        group.put_state_partitions(group.state_partitions.remove(deleted))
        with _as_group_errors():
            written = shares.write(shard, group)
            if written is not None:
                await written
    return [
        *(
            delete_wire.DeleteShareGroupOffsetsResponseTopic(
                topic_name=image.topics_by_id[topic_id].name if topic_id in image.topics_by_id else "",
                topic_id=topic_id,
                error_code=failures[topic_id].code if topic_id in failures else ErrorCode.NONE,
                error_message=str(failures[topic_id]) if topic_id in failures else None,
            )
            for topic_id in partitions
        ),
        *unknown,
    ]


async def delete_all(shares: ShareGroups, shard: Shard, image: MetadataImage, group_id: str) -> ErrorCode:
    """Delete the state of a group that is about to be deleted itself. Returns NONE for other kinds of groups."""
    group = shard.state.shares.get(group_id)
    if group is None:
        return ErrorCode.NONE
    is_done = False
    while not is_done and shard.state.shares.get(group_id) is group:
        if group.members:
            return ErrorCode.NON_EMPTY_GROUP
        if initializations := shares.initializations_of(group):  # they would undo the deletion
            await asyncio.wait(initializations)
            continue
        known = group.state_partitions
        left_over = {
            topic_id: frozenset(image.topics_by_id[topic_id].partitions)
            for topic_id in known.deleting
            if topic_id in image.topics_by_id
        }
        partitions = union(union(known.initialized, known.initializing), left_over)
        try:
            failures = await _delete_state(shares, shard, group, partitions)
        except GroupError as error:
            return error.code
        if failures:
            return next(iter(failures.values())).code
        # Meanwhile a member may have joined, had partitions initialized, and left.
        is_done = not (group.state_partitions.initialized or group.state_partitions.initializing)
    return ErrorCode.NONE


async def _delete_state(
    shares: ShareGroups, shard: Shard, group: ShareGroup, partitions: Assignment
) -> dict[bytes, PersisterError]:
    """Have the share coordinator delete partitions, after the log has that decision. Returns failures by topic.

    A member that joins meanwhile has them initialized again, but only after they are deleted, and in a new epoch:
    leaders that still have the deleted state must not write to the new one.
    """
    if not partitions:
        return {}
    group.bump_epoch(group.metadata_hash)
    group.put_state_partitions(group.state_partitions.begin_deleting(partitions.keys()))
    with _as_group_errors():
        written = shares.write(shard, group)
        group.in_flight = union(group.in_flight, partitions)
        try:
            if written is not None:
                await written
            failures = await shares.delete_state(shard, group, partitions)
        finally:
            group.in_flight = difference(group.in_flight, partitions)
    return {topic_id: error for (topic_id, _), error in failures.items()}


@contextlib.contextmanager
def _as_group_errors() -> Iterator[None]:
    try:
        yield
    except CoordinatorError as error:
        raise GroupError(error.code, error.message or error.code.name) from error


def _check_empty(group: ShareGroup) -> None:
    if group.members:
        raise GroupError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
