"""All that one partition of `__consumer_offsets` adds up to: its groups and their offsets.

Pure. What changes offsets returns the records to be written and has already applied them; a group writes its own record
by an instruction. `replay` is how all of it comes back from the log.
"""

import logging
from collections.abc import Iterable, Sequence

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
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record

log = logging.getLogger(__name__)


class GroupShard:
    """A group id belongs to one of `groups`, `consumers` and `shares`."""

    __slots__ = ("_order", "_settings", "consumers", "groups", "offsets", "shares")

    def __init__(self, settings: GroupSettings) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self.consumers: dict[str, ConsumerGroup] = {}  # of KIP-848
        self.shares: dict[str, ShareGroup] = {}
        self.offsets = CommittedOffsets()
        self._settings = settings
        self._order = 0

    # -- from the log ---------------------------------------------------------------------------------

    def replay(self, record: Record, producer_id: int) -> None:
        self._order = record.offset
        if record.key is None:
            return
        try:
            self._replay(record.key, record.value, producer_id)
        except ProtocolError as error:
            log.warning("the record at offset %d is passed over: %s", record.offset, error)

    def _replay(self, key: bytes, value: bytes | None, producer_id: int) -> None:
        stored = decode_key(key)
        if isinstance(stored, OffsetCommitKey):
            if value is None:
                self.offsets.remove(stored)
            else:
                if stored.group not in self.consumers:
                    self.group_or_new(stored.group)
                self.offsets.put(stored, decode_offset(value), self._order, producer_id)
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

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self.offsets.end_transaction(producer_id, is_commit=is_commit)

    # -- groups ---------------------------------------------------------------------------------------

    def group_or_new(self, group_id: str) -> ClassicGroup:
        """The group; one without members when there was none, as for a consumer that only commits."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id, self._settings)
        return group

    def delete_group(self, group_id: str, moment: Moment) -> ErrorCode | list[NewRecord]:
        share = self.shares.get(group_id)
        if share is not None:
            return ErrorCode.NON_EMPTY_GROUP if share.members else self._forget_share_group(share, moment)
        consumer = self.consumers.get(group_id)
        if consumer is not None:
            if consumer.members:
                return ErrorCode.NON_EMPTY_GROUP
            records = self.forget_offsets(self.offsets.keys_of(group_id), moment)
            return [*records, *self.forget_consumer_group(consumer, moment)]
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        code = membership.check_delete(group)
        if code:
            return code
        records = self.forget_offsets(self.offsets.keys_of(group_id), moment)
        return [*records, self._forget_group(group, moment)]

    def _forget_group(self, group: ClassicGroup, moment: Moment) -> NewRecord:
        rebalance.end(group, ErrorCode.GROUP_ID_NOT_FOUND, moment)
        del self.groups[group.group_id]
        return group_record(group.group_id, None, moment.wall_ms)

    def forget_consumer_group(self, group: ConsumerGroup, moment: Moment) -> list[NewRecord]:
        """Forget a KIP-848 group without members."""
        del self.consumers[group.group_id]
        return [consumer_records.encode(change, moment.wall_ms) for change in group.tombstones()]

    def _forget_share_group(self, group: ShareGroup, moment: Moment) -> list[NewRecord]:
        del self.shares[group.group_id]
        return [share_records.encode(change, moment.wall_ms) for change in group.tombstones()]

    # -- offsets --------------------------------------------------------------------------------------

    def commit(
        self,
        commits: Sequence[tuple[OffsetCommitKey, OffsetCommitValue]],
        moment: Moment,
        producer_id: int = NO_PRODUCER_ID,
    ) -> list[NewRecord]:
        for key, value in commits:
            self._order += 1
            self.offsets.put(key, value, self._order, producer_id)
        return [offset_record(key, value, moment.wall_ms) for key, value in commits]

    def forget_offsets(self, keys: Iterable[OffsetCommitKey], moment: Moment) -> list[NewRecord]:
        records = []
        for key in keys:
            self.offsets.remove(key)
            records.append(offset_record(key, None, moment.wall_ms))
        return records

    def forget_topic(self, topic: str, moment: Moment) -> list[NewRecord]:
        """A topic was deleted: one that is made again under its name begins without anyone's offsets."""
        return self.forget_offsets(self.offsets.keys_of_topic(topic), moment)

    def expire(self, moment: Moment, retention_ms: int) -> list[NewRecord]:
        """Forget offsets that nobody needs any more (KIP-211), and groups that have neither members nor offsets."""
        records: list[NewRecord] = []
        for group in list(self.groups.values()):
            records += self._expire_offsets(group, moment, retention_ms)
            if (
                group.state is State.EMPTY
                and not group.pending_members
                and not self.offsets.has_any(group.group_id)
            ):
                records.append(self._forget_group(group, moment))
        for consumer in list(self.consumers.values()):
            records += self._expire_consumer(consumer, moment, retention_ms)
        return records

    def _expire_consumer(self, group: ConsumerGroup, moment: Moment, retention_ms: int) -> list[NewRecord]:
        def is_expired(topic: str, value: OffsetCommitValue) -> bool:
            if group.is_subscribed_to(topic):
                return False
            if value.expire_timestamp >= 0:
                return moment.wall_ms >= value.expire_timestamp
            return moment.wall_ms - value.commit_timestamp >= retention_ms

        records = self.forget_offsets(self.offsets.select(group.group_id, is_expired), moment)
        if not group.members and not self.offsets.has_any(group.group_id):
            records += self.forget_consumer_group(group, moment)
        return records

    def _expire_offsets(self, group: ClassicGroup, moment: Moment, retention_ms: int) -> list[NewRecord]:
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

        return self.forget_offsets(self.offsets.select(group.group_id, is_expired), moment)

    @staticmethod
    def _reads_known_topics(group: ClassicGroup) -> bool:
        """A group at work keeps the offsets of what it reads; of what it no longer reads they grow old."""
        return group.state is State.STABLE and group.subscribed_topics is not None
