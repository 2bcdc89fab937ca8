"""The state of one partition of `__consumer_offsets`: its groups and their offsets.

No I/O. Offset changes are returned as a `Change`, which is appended to the log before it is applied; a group writes its
own record through an instruction. `replay` restores the whole state from the log.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from penstock.cluster.coordination.change import Change, combine_changes
from penstock.cluster.coordination.loading import IsOpen
from penstock.groups.base.instant import Instant
from penstock.groups.classic import membership, rebalance
from penstock.groups.classic.group import ClassicGroup, GroupSettings, restore_group
from penstock.groups.classic.states import State
from penstock.groups.consumer import records as consumer_records
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.shard import records
from penstock.groups.shard.offsets import NO_PRODUCER_ID, CommittedOffsets
from penstock.groups.shard.records import group_record, offset_record
from penstock.groups.share import records as share_records
from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.group_metadata_record import GroupMetadataKey
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.records.record import Record

_DELETED_SHARE_GROUPS_MAX = 10_000


class GroupShard:
    """The state of one partition. A group id is in at most one of `groups`, `consumers` and `shares`."""

    __slots__ = ("_deleted_share_epochs", "_order", "_settings", "consumers", "groups", "offsets", "shares")

    def __init__(self, settings: GroupSettings) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self.consumers: dict[str, ConsumerGroup] = {}  # of KIP-848
        self.shares: dict[str, ShareGroup] = {}
        self.offsets = CommittedOffsets()
        self._deleted_share_epochs: OrderedDict[str, int] = (
            OrderedDict()
        )  # last epochs of deleted share groups
        self._settings = settings
        self._order = 0

    def has_group(self, group_id: str) -> bool:
        return group_id in self.groups or group_id in self.consumers or group_id in self.shares

    # -- from the log ---------------------------------------------------------------------------------

    def replay(self, record: Record, producer_id: int) -> None:
        self._order = record.offset
        if record.key is None:
            return
        key = record.key
        if (stored := records.decode(key, record.value)) is not None:
            self._replay_classic(*stored, producer_id)
        elif (consumer_record := consumer_records.decode(key, record.value)) is not None:
            self._replay_consumer(*consumer_record)
        elif (share_record := share_records.decode(key, record.value)) is not None:
            self._replay_share(*share_record)
            epoch = share_records.last_epoch(record.headers)
            if record.value is None and epoch is not None:
                self._remember_deleted_share(share_record[0].group_id, epoch)

    def _replay_classic(self, key: OffsetCommitKey | GroupMetadataKey, value: Any, producer_id: int) -> None:
        if isinstance(key, OffsetCommitKey):
            if value is None:
                self.offsets.remove(key)
            else:
                self._keep(key, value, producer_id)
        elif value is None:
            self.groups.pop(key.group, None)
        else:
            self.groups[key.group] = restore_group(key.group, value, self._settings)
            self.consumers.pop(key.group, None)

    def _replay_consumer(self, key: Any, value: Any) -> None:
        group = self.consumers.get(key.group_id)
        if group is None and value is not None:
            self.groups.pop(key.group_id, None)  # an empty group that existed only for its offsets
            group = self.consumers[key.group_id] = ConsumerGroup(key.group_id)
        if group is not None:
            group.apply(key, value)
            if value is None and isinstance(key, consumer_records.GroupKey):
                del self.consumers[key.group_id]
                if self.offsets.has_any(key.group_id):
                    self.group_or_new(key.group_id)

    def _replay_share(self, key: Any, value: Any) -> None:
        group = self.shares.get(key.group_id)
        if group is None and value is not None:
            group = self.shares[key.group_id] = ShareGroup(key.group_id)
        if group is not None:
            group.apply(key, value)
            if value is None and isinstance(key, share_records.GroupKey):
                del self.shares[key.group_id]

    def _remember_deleted_share(self, group_id: str, epoch: int) -> None:
        self._deleted_share_epochs[group_id] = epoch
        self._deleted_share_epochs.move_to_end(group_id)
        if len(self._deleted_share_epochs) > _DELETED_SHARE_GROUPS_MAX:
            self._deleted_share_epochs.popitem(last=False)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self.offsets.end_transaction(producer_id, is_commit=is_commit)

    def skip_records(self, is_open: IsOpen) -> str:
        """Fall back to earlier commits, so that consumers re-read records.

        Pending offsets are dropped, because their transaction may have ended in the skipped records.
        """
        self.offsets.drop_pending(is_open)
        return (
            "Committed offsets and members of groups in these records are missing: such a group continues from an "
            "older commit, or without one. Compare its offsets (`penstock group describe`) and correct them with "
            "`penstock group reset`, or restore the file from a backup and restart the broker."
        )

    # -- groups ---------------------------------------------------------------------------------------

    def group_or_new(self, group_id: str) -> ClassicGroup:
        """Return the group; a new one without members, as for a consumer that only commits, when there is none."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = self.new_group(group_id)
        return group

    def new_group(self, group_id: str) -> ClassicGroup:
        """Return a group that is not part of the shard yet."""
        return ClassicGroup(group_id, self._settings)

    def new_share_group(self, group_id: str) -> ShareGroup:
        """Return a group that is not part of the shard yet."""
        group = ShareGroup(group_id)
        if group_id in self._deleted_share_epochs:
            group.continue_from(self._deleted_share_epochs[group_id])
        return group

    def delete_group(self, group_id: str, now: Instant) -> ErrorCode | Change:
        share = self.shares.get(group_id)
        if share is not None:
            return ErrorCode.NON_EMPTY_GROUP if share.members else self._delete_share_group(share, now)
        consumer = self.consumers.get(group_id)
        if consumer is not None:
            if consumer.members:
                return ErrorCode.NON_EMPTY_GROUP
            deletion = self.delete_consumer_group(consumer, now)
        else:
            group = self.groups.get(group_id)
            if group is None:
                return ErrorCode.GROUP_ID_NOT_FOUND
            code = membership.check_delete(group)
            if code:
                return code
            deletion = self._delete_classic_group(group, now)
        return combine_changes([self.delete_offsets(self.offsets.keys_of(group_id), now), deletion])

    def _delete_classic_group(self, group: ClassicGroup, now: Instant) -> Change:
        def apply() -> None:
            rebalance.end(group, ErrorCode.GROUP_ID_NOT_FOUND, now)
            del self.groups[group.group_id]

        return Change([group_record(group.group_id, None, now.wall_ms)], apply)

    def delete_consumer_group(self, group: ConsumerGroup, now: Instant) -> Change:
        """Delete a KIP-848 group without members."""

        def apply() -> None:
            del self.consumers[group.group_id]

        return Change([consumer_records.encode(each, now.wall_ms) for each in group.tombstones()], apply)

    def _delete_share_group(self, group: ShareGroup, now: Instant) -> Change:
        def apply() -> None:
            del self.shares[group.group_id]
            self._remember_deleted_share(group.group_id, group.epoch)

        tombstones = [share_records.encode(each, now.wall_ms) for each in group.tombstones()]
        tombstones[-1] = share_records.with_epoch(tombstones[-1], group.epoch)
        return Change(tombstones, apply)

    # -- offsets --------------------------------------------------------------------------------------

    def commit(
        self,
        commits: Sequence[tuple[OffsetCommitKey, OffsetCommitValue]],
        now: Instant,
        producer_id: int = NO_PRODUCER_ID,
    ) -> Change:
        """Store offsets. An unknown group becomes a group without members."""

        def apply() -> None:
            for key, value in commits:
                self._order += 1
                self._keep(key, value, producer_id)

        return Change([offset_record(key, value, now.wall_ms) for key, value in commits], apply)

    def _keep(self, key: OffsetCommitKey, value: OffsetCommitValue, producer_id: int) -> None:
        if key.group not in self.groups and key.group not in self.consumers:
            self.groups[key.group] = self.new_group(key.group)
        self.offsets.put(key, value, self._order, producer_id)

    def delete_offsets(self, keys: Sequence[OffsetCommitKey], now: Instant) -> Change:
        def apply() -> None:
            for key in keys:
                self.offsets.remove(key)

        return Change([offset_record(key, None, now.wall_ms) for key in keys], apply)

    def delete_topic(self, topic: str, topic_id: bytes, now: Instant) -> Change:
        """Delete the offsets of a deleted topic, so that a new topic of the same name starts without any.

        The new topic may exist already and have offsets already, which are kept.
        """
        return self.delete_offsets(self.offsets.keys_of_topic(topic, topic_id), now)

    def expire(self, now: Instant, retention_ms: int) -> Iterator[Change]:
        """Delete expired offsets (KIP-211), and groups that have neither members nor offsets.

        Yields one change per group. Apply each change before requesting the next one.
        """
        for group in list(self.groups.values()):
            is_idle = group.state is State.EMPTY and not group.pending_members
            expired = self._expired(group, now, retention_ms)
            delete = partial(self._delete_classic_group, group, now) if is_idle else None
            yield from self._expire(group.group_id, expired, delete, now)
        for consumer in list(self.consumers.values()):
            expired = self._select_expired(consumer, now, retention_ms)
            delete = None if consumer.members else partial(self.delete_consumer_group, consumer, now)
            yield from self._expire(consumer.group_id, expired, delete, now)

    def _expire(
        self,
        group_id: str,
        expired: Sequence[OffsetCommitKey],
        delete: Callable[[], Change] | None,
        now: Instant,
    ) -> Iterator[Change]:
        """Delete expired offsets of a group; with its last offset also the group, if it is idle (`delete` is given)."""
        if delete is not None and len(self.offsets.keys_of(group_id)) == len(expired):
            yield combine_changes([self.delete_offsets(expired, now), delete()])
        elif expired:
            yield self.delete_offsets(expired, now)

    def _expired(self, group: ClassicGroup, now: Instant, retention_ms: int) -> list[OffsetCommitKey]:
        is_without_protocol = group.protocol_type is None
        is_idle = group.state is State.EMPTY and not is_without_protocol
        # The offsets of an active group expire only for topics that it is known to have unsubscribed from.
        knows_topics = group.state is State.STABLE and group.subscribed_topics is not None
        if not is_idle and not is_without_protocol and not knows_topics:
            return []
        return self._select_expired(group, now, retention_ms, group.state_since_ms if is_idle else None)

    def _select_expired(
        self,
        group: ClassicGroup | ConsumerGroup,
        now: Instant,
        retention_ms: int,
        idle_since_ms: int | None = None,
    ) -> list[OffsetCommitKey]:
        def is_expired(topic: str, value: OffsetCommitValue) -> bool:
            if group.is_subscribed_to(topic):
                return False
            if value.expire_timestamp >= 0:
                return now.wall_ms >= value.expire_timestamp
            since_ms = value.commit_timestamp if idle_since_ms is None else idle_since_ms
            return now.wall_ms - since_ms >= retention_ms

        return self.offsets.select(group.group_id, is_expired)
