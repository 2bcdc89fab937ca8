"""A follower's side of an incremental fetch session (KIP-227): a request has only the changed partitions. No I/O.

The leader remembers the rest. Each request increments the session's epoch; any error begins a new session, whose first
request has all partitions.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from penstock.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

PartitionKey = tuple[bytes, int]  # topic id and partition
_EPOCH_MAX = 2**31 - 1


class FetchLimits(NamedTuple):
    wait_ms_max: int
    bytes_min: int
    bytes_max: int


class FetchSession:
    def __init__(self, broker_id: int, broker_epoch: int) -> None:
        self._state = ReplicaState(replica_id=broker_id, replica_epoch=broker_epoch)
        self._id = 0
        self._epoch = 0
        self._known: dict[PartitionKey, FetchPartition] = {}

    @property
    def broker_id(self) -> int:
        return self._state.replica_id

    def request(self, wanted: Mapping[PartitionKey, FetchPartition], limits: FetchLimits) -> FetchRequest:
        """The next request: all of `wanted` in a new session, else what differs from the last request."""
        changed = {key: each for key, each in wanted.items() if self._known.get(key) != each}
        forgotten = [key for key in self._known if key not in wanted]
        self._known = dict(wanted)
        return FetchRequest(
            replica_state=self._state,
            max_wait_ms=limits.wait_ms_max,
            min_bytes=limits.bytes_min,
            max_bytes=limits.bytes_max,
            session_id=self._id,
            session_epoch=self._epoch,
            topics=[
                FetchTopic(topic_id=topic_id, partitions=[changed[key] for key in keys])
                for topic_id, keys in _by_topic(changed)
            ],
            forgotten_topics_data=[
                ForgottenTopic(topic_id=topic_id, partitions=[number for _, number in keys])
                for topic_id, keys in _by_topic(forgotten)
            ],
        )

    def answered(self, session_id: int) -> None:
        """Continue the session of an answer; id 0 means that the leader has none."""
        if session_id == 0:
            self.reset()
        else:
            self._id = session_id
            self._epoch = self._epoch % _EPOCH_MAX + 1

    def reset(self) -> None:
        self._id = 0
        self._epoch = 0
        self._known = {}


def _by_topic(keys: Iterable[PartitionKey]) -> Iterable[tuple[bytes, list[PartitionKey]]]:
    for topic_id, group in groupby(sorted(keys), key=lambda key: key[0]):
        yield topic_id, list(group)
