"""Committing, fetching and deleting the offsets of a group.

Each decides at once and then waits for the log: a commit until it is committed, a fetch until all that it saw is, so
that no client acts on an offset that a crash could take back.
"""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

import msgspec

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import InTransaction
from penstock.groups.classic import membership
from penstock.groups.classic.group import ClassicGroup
from penstock.groups.consumer.commits import check_commit, check_fetch
from penstock.groups.coordinator import GroupCoordinator, Shard
from penstock.groups.moment import Moment
from penstock.observability.completion import Completion, Reply
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.wire import ZERO_UUID

T = TypeVar("T")

_KNOWS_MISSING_GROUPS = 9  # the version of OffsetCommit from which on clients understand GROUP_ID_NOT_FOUND


class Committer(msgspec.Struct, frozen=True, kw_only=True):
    """Who commits. Without a generation: a consumer that manages its partitions itself, or an admin client."""

    group_id: str
    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    version: int = _KNOWS_MISSING_GROUPS


Commits = Sequence[tuple[OffsetCommitKey, OffsetCommitValue]]


class Fetched(msgspec.Struct, frozen=True, gc=False):
    topic: str
    topic_id: bytes
    """Of the topic of this name; zeros when there is none."""
    partition: int
    value: OffsetCommitValue | None = None
    error: ErrorCode = ErrorCode.NONE


def commit(
    groups: GroupCoordinator,
    committer: Committer,
    commits: Commits,
    transaction: InTransaction | None = None,
) -> ErrorCode | Completion[ErrorCode]:
    """Keep offsets; those of a transaction count once it commits."""
    shard = groups.find(committer.group_id)
    if isinstance(shard, ErrorCode):
        return shard
    if committer.group_id in shard.state.shares:
        return ErrorCode.GROUP_ID_NOT_FOUND  # it has no use for them
    moment = groups.moment()
    consumer = shard.state.consumers.get(committer.group_id)
    if consumer is not None:
        code = check_commit(
            consumer,
            committer.member_id,
            committer.generation,
            [(value.topic_id, key.partition) for key, value in commits],
            knows_epochs=committer.version >= _KNOWS_MISSING_GROUPS or transaction is not None,
            is_transactional=transaction is not None,
        )
        return code or _keep(shard, commits, moment, transaction)
    group = shard.state.groups.get(committer.group_id)
    if group is None:
        if committer.generation >= 0:
            is_known_code = committer.version >= _KNOWS_MISSING_GROUPS
            return ErrorCode.GROUP_ID_NOT_FOUND if is_known_code else ErrorCode.ILLEGAL_GENERATION
        group = shard.state.new_group(committer.group_id)
    code = membership.check_commit(
        group,
        committer.member_id,
        committer.instance_id,
        committer.generation,
        is_transactional=transaction is not None,
    )
    if code:
        return code
    membership.note_commit(group, committer.member_id, moment)
    groups.perform(shard, group)
    return _keep(shard, commits, moment, transaction)


def _keep(
    shard: Shard, commits: Commits, moment: Moment, transaction: InTransaction | None
) -> ErrorCode | Completion[ErrorCode]:
    if not commits:
        return ErrorCode.NONE
    try:
        if transaction is None:
            return _code_when(shard.submit(shard.state.commit(commits, moment)))
        change = shard.state.commit(commits, moment, transaction.producer_id)
        return _code_when(shard.write_in_transaction(change, transaction))
    except CoordinatorError as error:
        return error.code


def fetch(
    groups: GroupCoordinator,
    group_id: str,
    wanted: Sequence[tuple[str, int]] | None,
    *,
    require_stable: bool,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> ErrorCode | list[Fetched] | Awaitable[ErrorCode | list[Fetched]]:
    """The offsets of these partitions, or with None of all that the group has.

    A member of a KIP-848 group says who it is, and is told nothing when it is behind.
    """
    shard = groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return shard
    consumer = shard.state.consumers.get(group_id)
    if consumer is not None:
        code = check_fetch(consumer, member_id, member_epoch)
        if code:
            return code
    offsets = shard.state.offsets
    if wanted is None:
        wanted = [(topic, partition) for topic, each in offsets.topics(group_id) for partition in each]
    topics = groups.image.topics
    fetched = []
    for topic, partition in wanted:
        known = topics.get(topic)
        topic_id = ZERO_UUID if known is None else known.topic_id
        if require_stable and offsets.is_unstable(group_id, topic, partition):
            fetched.append(Fetched(topic, topic_id, partition, error=ErrorCode.UNSTABLE_OFFSET_COMMIT))
            continue
        value = offsets.get(group_id, topic, partition)
        if value is not None and known is not None and value.topic_id not in (ZERO_UUID, topic_id):
            value = None  # committed for a topic of that name that is gone; old commits know no id
        fetched.append(Fetched(topic, topic_id, partition, value))
    settled = shard.settled()
    return fetched if settled is None else _after(settled, fetched)


def delete_offsets(
    groups: GroupCoordinator, group_id: str, wanted: Sequence[tuple[str, int]]
) -> Awaitable[ErrorCode | dict[tuple[str, int], ErrorCode]] | ErrorCode | dict[tuple[str, int], ErrorCode]:
    """Forget offsets of topics that the group does not read now (KIP-496)."""
    shard = groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return shard
    group = shard.state.consumers.get(group_id) or shard.state.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if isinstance(group, ClassicGroup):
        code = membership.check_offset_delete(group)
        if code:
            return code
    codes = {
        (topic, partition): (
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed_to(topic) else ErrorCode.NONE
        )
        for topic, partition in wanted
    }
    known = {(key.topic, key.partition) for key in shard.state.offsets.keys_of(group_id)}
    doomed = [
        OffsetCommitKey(group=group_id, topic=topic, partition=partition)
        for (topic, partition), code in codes.items()
        if not code and (topic, partition) in known
    ]
    if not doomed:
        return codes
    try:
        written = shard.write(shard.state.forget_offsets(doomed, groups.moment()))
    except CoordinatorError as error:
        return error.code
    return _after(written, codes)


def _code_when(written: Completion[None]) -> Completion[ErrorCode]:
    return Reply.after(
        written, lambda done: done.error.code if isinstance(done.error, CoordinatorError) else ErrorCode.NONE
    )


async def _after(settled: Awaitable[None], result: T) -> ErrorCode | T:
    try:
        await settled
    except CoordinatorError as error:
        return error.code
    return result
