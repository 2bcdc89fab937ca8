"""Commits, fetches and deletes the offsets of a group.

Each decides at once and then waits for the log: a commit until it is committed, a fetch until everything that it read
is, so that no client acts on an offset that a crash could undo.
"""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

import msgspec

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import InTransaction
from penstock.groups.base.instant import Instant
from penstock.groups.classic import membership
from penstock.groups.classic.group import ClassicGroup
from penstock.groups.consumer.commits import check_commit, check_fetch
from penstock.groups.coordinator import GroupCoordinator
from penstock.groups.services.base import Shard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.wire import ZERO_UUID
from penstock.runtime.completion import Completion

T = TypeVar("T")

_NO_ERROR = ErrorCode.NONE  # in Python 3.11 it takes a call to get a member of an enum
_GROUP_ID_NOT_FOUND_FROM = 9  # the first version of OffsetCommit whose clients know that error


class Committer(msgspec.Struct, frozen=True, kw_only=True):
    """The client that commits. Without a generation it is a consumer with manual assignment, or an admin client."""

    group_id: str
    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    version: int = _GROUP_ID_NOT_FOUND_FROM


Commits = Sequence[tuple[OffsetCommitKey, OffsetCommitValue]]


class Fetched(msgspec.Struct, frozen=True, gc=False):
    topic: str
    topic_id: bytes
    """Zeros when there is no topic of this name."""
    partition: int
    value: OffsetCommitValue | None = None
    error: ErrorCode = ErrorCode.NONE


def commit(
    groups: GroupCoordinator,
    committer: Committer,
    commits: Commits,
    transaction: InTransaction | None = None,
) -> ErrorCode | Completion[None]:
    """Store offsets; the offsets of a transaction take effect when it commits. See `outcome_of` for the completion."""
    shard = groups.find(committer.group_id)
    if isinstance(shard, ErrorCode):
        return shard
    if committer.group_id in shard.state.shares:
        return ErrorCode.GROUP_ID_NOT_FOUND  # share groups do not commit offsets
    now = groups.now()
    consumer = shard.state.consumers.get(committer.group_id)
    if consumer is not None:
        code = check_commit(
            consumer,
            committer.member_id,
            committer.generation,
            [(value.topic_id, key.partition) for key, value in commits],
            knows_epochs=committer.version >= _GROUP_ID_NOT_FOUND_FROM or transaction is not None,
            is_transactional=transaction is not None,
        )
        return code or _write(shard, commits, now, transaction)
    group = shard.state.groups.get(committer.group_id)
    if group is None:
        if committer.generation >= 0:
            is_known_code = committer.version >= _GROUP_ID_NOT_FOUND_FROM
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
    membership.note_commit(group, committer.member_id, now)
    groups.perform(shard, group)
    return _write(shard, commits, now, transaction)


def _write(
    shard: Shard, commits: Commits, now: Instant, transaction: InTransaction | None
) -> ErrorCode | Completion[None]:
    if not commits:
        return ErrorCode.NONE
    try:
        if transaction is None:
            return shard.submit(shard.state.commit(commits, now))
        change = shard.state.commit(commits, now, transaction.producer_id)
        return shard.write_in_transaction(change, transaction)
    except CoordinatorError as error:
        return error.code


def outcome_of(written: Completion[None]) -> ErrorCode:
    """The outcome of a commit that is done."""
    error = written.error
    if error is None:
        return _NO_ERROR
    return error.code if isinstance(error, CoordinatorError) else ErrorCode.UNKNOWN_SERVER_ERROR


async def settled(outcome: ErrorCode | Completion[None]) -> ErrorCode:
    """Wait until a commit is done, and return its outcome."""
    return outcome if isinstance(outcome, ErrorCode) else await _after(outcome, ErrorCode.NONE)


def fetch(
    groups: GroupCoordinator,
    group_id: str,
    wanted: Sequence[tuple[str, int]] | None,
    *,
    require_stable: bool,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> ErrorCode | list[Fetched] | Awaitable[ErrorCode | list[Fetched]]:
    """Return the offsets of these partitions, or with None all offsets of the group.

    A member of a KIP-848 group names itself, and gets an error when its epoch is stale.
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
            value = None  # committed for a deleted topic of the same name; old commits have no topic id
        fetched.append(Fetched(topic, topic_id, partition, value))
    settled = shard.pending_commit()
    return fetched if settled is None else _after(settled, fetched)


def delete_offsets(
    groups: GroupCoordinator, group_id: str, wanted: Sequence[tuple[str, int]]
) -> Awaitable[ErrorCode | dict[tuple[str, int], ErrorCode]] | ErrorCode | dict[tuple[str, int], ErrorCode]:
    """Delete offsets of topics that the group does not subscribe to (KIP-496)."""
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
    keys = [
        key
        for key in shard.state.offsets.keys_of(group_id)
        if codes.get((key.topic, key.partition)) is ErrorCode.NONE
    ]
    if not keys:
        return codes
    try:
        written = shard.write(shard.state.delete_offsets(keys, groups.now()))
    except CoordinatorError as error:
        return error.code
    return _after(written, codes)


async def _after(written: Awaitable[None], result: T) -> ErrorCode | T:
    try:
        await written
    except CoordinatorError as error:
        return error.code
    return result
