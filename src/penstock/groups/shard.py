"""All that one partition of `__consumer_offsets` adds up to: its groups and their offsets.

Pure. What changes offsets is given as a `Change`, which the log takes first; a group writes its own record by an
instruction. `replay` is how all of it comes back from the log.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from penstock.cluster.coordination.change import Change, together
from penstock.cluster.coordination.loading import IsOpen
from penstock.groups.classic import membership, rebalance
from penstock.groups.classic.group import ClassicGroup, GroupSettings, group_of_record
from penstock.groups.classic.states import State
from penstock.groups.consumer import records as consumer_records
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.moment import Moment
from penstock.groups.offsets import NO_PRODUCER_ID, CommittedOffsets
from penstock.groups.records import decode_group, decode_key, decode_offset, group_record, offset_record
from penstock.groups.share import records as share_records
from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.consumer_group_metadata_record import ConsumerGroupMetadataKey
from penstock.protocol.messages.group_metadata_record import GroupMetadataKey
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.messages.share_group_metadata_record import ShareGroupMetadataKey
from penstock.protocol.records.record import Record

log = logging.getLogger(__name__)

_ENDED_SHARES_MAX = 10_000


class GroupShard:
    """A group id belongs to one of `groups`, `consumers` and `shares`."""

    __slots__ = ("_ended_shares", "_order", "_settings", "consumers", "groups", "offsets", "shares")

    def __init__(self, settings: GroupSettings) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self.consumers: dict[str, ConsumerGroup] = {}  # of KIP-848
        self.shares: dict[str, ShareGroup] = {}
        self._ended_shares: OrderedDict[str, int] = (
            OrderedDict()
        )  # the last epochs of those that were deleted
        self.offsets = CommittedOffsets()
        self._settings = settings
        self._order = 0

    # -- from the log ---------------------------------------------------------------------------------

    def replay(self, record: Record, producer_id: int) -> None:
        self._order = record.offset
        if record.key is None:
            return
        try:
            self._replay(record, record.key, producer_id)
        except ProtocolError as error:
            log.warning("the record at offset %d is passed over: %s", record.offset, error)

    def _replay(self, record: Record, key: bytes, producer_id: int) -> None:
        stored, value = decode_key(key), record.value
        if isinstance(stored, OffsetCommitKey):
            if value is None:
                self.offsets.remove(stored)
            else:
                self._keep(stored, decode_offset(value), producer_id)
        elif isinstance(stored, GroupMetadataKey):
            if value is None:
                self.groups.pop(stored.group, None)
            else:
                self.groups[stored.group] = group_of_record(stored.group, decode_group(value), self._settings)
                self.consumers.pop(stored.group, None)
        elif (change := consumer_records.decode(key, value)) is not None:
            self._replay_consumer(*change)
        elif (share_change := share_records.decode(key, value)) is not None:
            self._replay_share(*share_change)
            epoch = share_records.last_epoch(record.headers)
            if value is None and epoch is not None:
                self._share_ended(share_change[0].group_id, epoch)

    def _replay_consumer(self, key: consumer_records.Key, value: consumer_records.Value | None) -> None:
        group = self.consumers.get(key.group_id)
        if group is None and value is not None:
            self.groups.pop(key.group_id, None)  # it only stood for offsets
            group = self.consumers[key.group_id] = ConsumerGroup(key.group_id)
        if group is not None:
            group.apply(key, value)
            if value is None and isinstance(key, ConsumerGroupMetadataKey):
                del self.consumers[key.group_id]
                if self.offsets.has_any(key.group_id):
                    self.group_or_new(key.group_id)

    def _replay_share(self, key: share_records.Key, value: share_records.Value | None) -> None:
        group = self.shares.get(key.group_id)
        if group is None and value is not None:
            group = self.shares[key.group_id] = ShareGroup(key.group_id)
        if group is not None:
            group.apply(key, value)
            if value is None and isinstance(key, ShareGroupMetadataKey):
                del self.shares[key.group_id]

    def _share_ended(self, group_id: str, epoch: int) -> None:
        self._ended_shares[group_id] = epoch
        self._ended_shares.move_to_end(group_id)
        if len(self._ended_shares) > _ENDED_SHARES_MAX:
            self._ended_shares.popitem(last=False)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self.offsets.end_transaction(producer_id, is_commit=is_commit)

    def skip_records(self, is_open: IsOpen) -> str:
        """Older commits count again, so that records are read once more. Whether a transaction ended there is not
        known: its offsets are not committed.
        """
        self.offsets.drop_pending(is_open)
        return (
            "Committed offsets and members of groups that stood there are missing: such a group continues from an "
            "older commit, or without one. Compare its offsets (`penstock group describe`) and correct them with "
            "`penstock group reset`, or restore the file from a backup and restart the broker."
        )

    # -- groups ---------------------------------------------------------------------------------------

    def group_or_new(self, group_id: str) -> ClassicGroup:
        """The group; one without members when there was none, as for a consumer that only commits."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = self.new_group(group_id)
        return group

    def new_group(self, group_id: str) -> ClassicGroup:
        """One that is not part of the shard yet."""
        return ClassicGroup(group_id, self._settings)

    def new_share_group(self, group_id: str) -> ShareGroup:
        """One that is not part of the shard yet."""
        group = ShareGroup(group_id)
        if group_id in self._ended_shares:
            group.go_on_from(self._ended_shares[group_id])
        return group

    def delete_group(self, group_id: str, moment: Moment) -> ErrorCode | Change:
        share = self.shares.get(group_id)
        if share is not None:
            return ErrorCode.NON_EMPTY_GROUP if share.members else self._forget_share_group(share, moment)
        consumer = self.consumers.get(group_id)
        if consumer is not None:
            if consumer.members:
                return ErrorCode.NON_EMPTY_GROUP
            forgotten = self.forget_consumer_group(consumer, moment)
        else:
            group = self.groups.get(group_id)
            if group is None:
                return ErrorCode.GROUP_ID_NOT_FOUND
            code = membership.check_delete(group)
            if code:
                return code
            forgotten = self._forget_group(group, moment)
        return together([self.forget_offsets(self.offsets.keys_of(group_id), moment), forgotten])

    def _forget_group(self, group: ClassicGroup, moment: Moment) -> Change:
        def apply() -> None:
            rebalance.end(group, ErrorCode.GROUP_ID_NOT_FOUND, moment)
            del self.groups[group.group_id]

        return Change([group_record(group.group_id, None, moment.wall_ms)], apply)

    def forget_consumer_group(self, group: ConsumerGroup, moment: Moment) -> Change:
        """Forget a KIP-848 group without members."""

        def apply() -> None:
            del self.consumers[group.group_id]

        return Change([consumer_records.encode(each, moment.wall_ms) for each in group.tombstones()], apply)

    def _forget_share_group(self, group: ShareGroup, moment: Moment) -> Change:
        def apply() -> None:
            del self.shares[group.group_id]
            self._share_ended(group.group_id, group.epoch)

        records = [share_records.encode(each, moment.wall_ms) for each in group.tombstones()]
        records[-1] = share_records.with_epoch(records[-1], group.epoch)
        return Change(records, apply)

    # -- offsets --------------------------------------------------------------------------------------

    def commit(
        self,
        commits: Sequence[tuple[OffsetCommitKey, OffsetCommitValue]],
        moment: Moment,
        producer_id: int = NO_PRODUCER_ID,
    ) -> Change:
        """Keep offsets; a group that is not known yet is one without members."""

        def apply() -> None:
            for key, value in commits:
                self._order += 1
                self._keep(key, value, producer_id)

        return Change([offset_record(key, value, moment.wall_ms) for key, value in commits], apply)

    def _keep(self, key: OffsetCommitKey, value: OffsetCommitValue, producer_id: int) -> None:
        if key.group not in self.groups and key.group not in self.consumers:
            self.groups[key.group] = self.new_group(key.group)
        self.offsets.put(key, value, self._order, producer_id)

    def forget_offsets(self, keys: Sequence[OffsetCommitKey], moment: Moment) -> Change:
        def apply() -> None:
            for key in keys:
                self.offsets.remove(key)

        return Change([offset_record(key, None, moment.wall_ms) for key in keys], apply)

    def forget_topic(self, topic: str, topic_id: bytes, moment: Moment) -> Change:
        """A topic was deleted: one that is made again under its name begins without anyone's offsets.

        It may have been made again already, and have offsets of its own.
        """
        return self.forget_offsets(self.offsets.keys_of_topic(topic, topic_id), moment)

    def expire(self, moment: Moment, retention_ms: int) -> Iterator[Change]:
        """Forget offsets that nobody needs any more (KIP-211), and groups that have neither members nor offsets.

        One change for each group; make one before the next is asked for.
        """
        for group in list(self.groups.values()):
            expired = self._expired(group, moment, retention_ms)
            is_idle = group.state is State.EMPTY and not group.pending_members
            if is_idle and self._has_only(group.group_id, expired):
                forgotten = self._forget_group(group, moment)
                yield together([self.forget_offsets(expired, moment), forgotten])
            elif expired:
                yield self.forget_offsets(expired, moment)
        for consumer in list(self.consumers.values()):
            expired = self._expired_of_consumer(consumer, moment, retention_ms)
            if not consumer.members and self._has_only(consumer.group_id, expired):
                forgotten = self.forget_consumer_group(consumer, moment)
                yield together([self.forget_offsets(expired, moment), forgotten])
            elif expired:
                yield self.forget_offsets(expired, moment)

    def _has_only(self, group_id: str, expired: Sequence[OffsetCommitKey]) -> bool:
        """Whether a group has no offsets but these of its own."""
        return len(self.offsets.keys_of(group_id)) == len(expired)

    def _expired_of_consumer(
        self, group: ConsumerGroup, moment: Moment, retention_ms: int
    ) -> list[OffsetCommitKey]:
        def is_expired(topic: str, value: OffsetCommitValue) -> bool:
            if group.is_subscribed_to(topic):
                return False
            if value.expire_timestamp >= 0:
                return moment.wall_ms >= value.expire_timestamp
            return moment.wall_ms - value.commit_timestamp >= retention_ms

        return self.offsets.select(group.group_id, is_expired)

    def _expired(self, group: ClassicGroup, moment: Moment, retention_ms: int) -> list[OffsetCommitKey]:
        is_without_protocol = group.protocol_type is None
        is_idle = group.state is State.EMPTY and not is_without_protocol
        if not is_idle and not is_without_protocol and not self._reads_known_topics(group):
            return []

        def is_expired(topic: str, value: OffsetCommitValue) -> bool:
            if group.is_subscribed_to(topic):
                return False
            if value.expire_timestamp >= 0:
                return moment.wall_ms >= value.expire_timestamp
            since_ms = value.commit_timestamp
            if is_idle and group.state_since_ms is not None:
                since_ms = group.state_since_ms
            return moment.wall_ms - since_ms >= retention_ms

        return self.offsets.select(group.group_id, is_expired)

    @staticmethod
    def _reads_known_topics(group: ClassicGroup) -> bool:
        """A group at work keeps the offsets of what it reads; of what it no longer reads they grow old."""
        return group.state is State.STABLE and group.subscribed_topics is not None
