"""The small values of the quorum: replicas, log positions, addresses, elections, settings."""

from typing import NamedTuple

import msgspec

NO_DIRECTORY = bytes(16)
NO_NODE = -1


class ReplicaKey(NamedTuple):
    """A node and its metadata directory: a node that lost its disk is another replica with the same id (KIP-853)."""

    node_id: int
    directory_id: bytes = NO_DIRECTORY


class LogPosition(NamedTuple):
    """The end of a log or snapshot: the epoch of its last record, and the offset after it.

    They compare as Raft compares logs: the later epoch wins, then the longer log.
    """

    epoch: int
    offset: int


class Address(NamedTuple):
    """The address of one of a node's listeners."""

    name: str
    host: str
    port: int


class Election(msgspec.Struct, frozen=True, kw_only=True):
    """The durable state of a node: its epoch, its vote and the leader in that epoch. See `quorum_state`."""

    epoch: int = 0
    leader_id: int | None = None
    voted: ReplicaKey | None = None


class RaftSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times and sizes; the names follow KRaft's `controller.quorum.*` settings where it has one."""

    election_timeout_ms: int = 1000
    election_backoff_max_ms: int = 1000
    fetch_timeout_ms: int = 2000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_wait_max_ms: int = 500
    fetch_bytes_max: int = 1 << 20
    snapshot_chunk_bytes: int = 1 << 20
    snapshot_after_bytes: int = 20 << 20
    auto_join: bool = False
    """Whether an observer asks to become a voter once it has caught up (KIP-1186)."""
