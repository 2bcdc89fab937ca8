"""Share sessions (KIP-932): a member sends the partitions that it fetches from this broker once, and then only changes.

No I/O. A member has one session with a broker, which belongs to the connection that began it and ends with it.
ShareFetch and ShareAcknowledge requests increase its epoch:

    epoch  0   a fetch begins a session; it replaces the previous session
    epoch  n   the n-th request of the session, else INVALID_SHARE_SESSION_EPOCH
    epoch -1   the last request: the session ends, and the member's records are released
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from typing import NamedTuple

from penstock.protocol.errors import ErrorCode
from penstock.protocol.wire import ELEMENTS_MAX

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
_EPOCH_MAX = 2**31 - 1

SESSION_PARTITIONS_MAX = ELEMENTS_MAX
"""In one session. Every fetch checks all of them, so there must not be more than fit into a request."""
PARTITIONS_MAX = 5 * ELEMENTS_MAX
"""In all sessions together. The partitions need not exist, and a session outlives the request that names them."""


class TopicPartition(NamedTuple):
    topic_id: bytes
    partition: int


class MemberKey(NamedTuple):
    group_id: str
    member_id: str


class SessionError(Exception):
    """A request that does not fit the session; `code` goes into the response."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class ShareSession:
    """The partitions of one member, in the order of the next reads."""

    __slots__ = ("_pending", "epoch", "key", "owner", "partitions", "unverified")

    def __init__(self, key: MemberKey, partitions: Iterable[TopicPartition], owner: Hashable) -> None:
        self.key = key
        self.owner = owner
        self.epoch = 1
        self.partitions = dict.fromkeys(partitions)
        self._pending: set[TopicPartition] = set()
        self.unverified = set(self.partitions)
        """Partitions that are new to the session: the leader has to verify its state of them."""

    def update(self, wanted: Iterable[TopicPartition], forgotten: Iterable[TopicPartition]) -> None:
        """A partition in both lists is only acknowledged, and not fetched."""
        for partition in wanted:
            if partition not in self.partitions:
                self.partitions[partition] = None
                self._pending.add(partition)
                self.unverified.add(partition)
        for partition in forgotten:
            self.partitions.pop(partition, None)
            self._pending.discard(partition)
            self.unverified.discard(partition)

    def must_include(self, partition: TopicPartition, *, has_records: bool, has_failed: bool) -> bool:
        """Return whether a response, except the first, includes this partition.

        A response also includes a partition that is new to the session, and a partition whose error is over.
        """
        is_included = has_records or has_failed or partition in self._pending
        if has_failed and partition in self.partitions:
            self._pending.add(partition)
        else:
            self._pending.discard(partition)
        if has_records and partition in self.partitions:
            del self.partitions[partition]  # a partition that was read goes to the end
            self.partitions[partition] = None
        return is_included

    def proceed(self, epoch: int) -> None:
        """Count a request. Raises `SessionError`."""
        if epoch != self.epoch:
            raise SessionError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        self.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1


class ShareSessions:
    """All share sessions of a broker."""

    __slots__ = ("_groups", "_owned", "_sessions", "slots_max")

    def __init__(self, slots_max: int) -> None:
        self.slots_max = slots_max
        self._sessions: dict[MemberKey, ShareSession] = {}
        self._groups: Counter[str] = Counter()  # how many sessions each has
        self._owned: dict[Hashable, set[MemberKey]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def get(self, key: MemberKey) -> ShareSession:
        """Raises `SessionError`."""
        session = self._sessions.get(key)
        if session is None:
            raise SessionError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session

    def begin(self, key: MemberKey, partitions: Collection[TopicPartition], owner: Hashable) -> ShareSession:
        """Begin a session for the connection `owner`. Raises `SessionError`."""
        before = self._sessions.get(key)
        if before is not None:
            self.end(before)
        if len(self._sessions) >= self.slots_max:
            raise SessionError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        self._check_room(0, len(partitions))
        session = self._sessions[key] = ShareSession(key, partitions, owner)
        self._groups[key.group_id] += 1
        self._owned.setdefault(owner, set()).add(key)
        return session

    def update(
        self,
        session: ShareSession,
        wanted: Collection[TopicPartition],
        forgotten: Iterable[TopicPartition],
    ) -> None:
        """Raises `SessionError`, and then nothing has changed."""
        added = sum(partition not in session.partitions for partition in wanted)
        if added:
            self._check_room(len(session.partitions), added)
        session.update(wanted, forgotten)

    def _check_room(self, before: int, added: int) -> None:
        if before + added > SESSION_PARTITIONS_MAX or self.partition_count + added > PARTITIONS_MAX:
            raise SessionError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)

    def is_open(self, session: ShareSession) -> bool:
        """Whether it has neither ended nor been replaced."""
        return self._sessions.get(session.key) is session

    def end(self, session: ShareSession) -> bool:
        """End a session. Return False when it was not open; the next one of the same member stays."""
        if not self.is_open(session):
            return False
        key = session.key
        del self._sessions[key]
        self._owned[session.owner].discard(key)
        if not self._owned[session.owner]:
            del self._owned[session.owner]
        self._groups[key.group_id] -= 1
        if not self._groups[key.group_id]:
            del self._groups[key.group_id]
        return True

    def owned_by(self, owner: Hashable) -> list[ShareSession]:
        """Return the sessions that a connection has begun."""
        return [self._sessions[key] for key in sorted(self._owned.get(owner, ()))]

    def has_members(self, group_id: str) -> bool:
        return group_id in self._groups

    def clear(self) -> None:
        """End all sessions, because share groups were disabled."""
        self._sessions.clear()
        self._groups.clear()
        self._owned.clear()
