"""Writes the commit or abort markers of a transaction to its partitions.

`MarkerSender` is the interface for the coordinator. `LocalMarkers` writes to the partitions that this broker leads, for
its own coordinator and for the WriteTxnMarkers requests of others.
"""

import asyncio
from collections.abc import Awaitable, Collection, Mapping
from itertools import islice
from typing import Any, Protocol

import msgspec

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.runtime.clock import Clock
from penstock.storage.errors import LogError
from penstock.storage.log.values import Origin
from penstock.transactions.guards import Guards
from penstock.transactions.state import TRANSACTION_VERSION_2, TopicPartition

_PARTITIONS_A_TURN = 32
"""Appending a marker takes some 50 µs, during which no other request is served."""


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one transaction, for all of its partitions."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int
    transaction_version: int = 0

    @property
    def ended_epoch(self) -> int:
        """The epoch of the transaction. With version 2 the marker has the next one, for the next transaction."""
        return self.producer_epoch - (self.transaction_version >= TRANSACTION_VERSION_2)


class MarkerSender(Protocol):
    async def send(
        self, marker: Marker, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Write the marker to every partition. Return the error code of each."""
        ...


Begun = Mapping[TopicPartition, ErrorCode | Awaitable[None]]
"""By partition: an error, or the append to wait for."""


async def outcomes(begun: Begun) -> dict[TopicPartition, ErrorCode]:
    return {
        each: outcome if isinstance(outcome, ErrorCode) else await _outcome(outcome)
        for each, outcome in begun.items()
    }


class LocalMarkers:
    """Partitions of `coordinated` are written through their coordinator, which applies the end of the transaction."""

    def __init__(
        self,
        replicas: Replicas,
        clock: Clock,
        guards: Guards,
        coordinated: CoordinatorPartitions[Any],
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._guards = guards
        self._coordinated = coordinated

    async def send(
        self, marker: Marker, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Append the marker and wait until it is committed everywhere. The producer gets its response before."""
        begun: dict[TopicPartition, ErrorCode | Awaitable[None]] = {}
        left = iter(partitions)
        while targets := list(islice(left, _PARTITIONS_A_TURN)):
            await asyncio.sleep(0)
            begun |= self.begin(marker, targets)
        return await outcomes(begun)

    def begin(self, marker: Marker, partitions: Collection[TopicPartition]) -> Begun:
        """Append the marker to every partition now; `outcomes` waits until it is committed."""
        now_ms = self._clock.now_ms()
        batch = build_end_txn_batch(
            EndTxnMarker(is_commit=marker.is_commit, coordinator_epoch=marker.coordinator_epoch),
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            timestamp=now_ms,
        )
        return {each: self._begin(marker, each, batch, now_ms) for each in partitions}

    def _begin(
        self, marker: Marker, target: TopicPartition, batch: bytes, now_ms: int
    ) -> ErrorCode | Awaitable[None]:
        """Append the marker; return an error, or the append to wait for."""
        leader = self._replicas.leader_of(target.topic, target.partition)
        if not isinstance(leader, Replica):
            return leader
        leader.write_queued()  # the producer state covers stored records only
        late = _check_late(leader, marker)
        if late is ErrorCode.NONE:  # the log has it, but the other replicas may not have it yet
            last_offset = leader.log.log_end_offset - 1
            return leader.commit_up_to(last_offset, leader_epoch=leader.leader_epoch)
        if late is not None:
            return late
        self._guards.revoke_ended(target, marker.producer_id, marker.ended_epoch)
        try:
            if target.topic == self._coordinated.topic:
                shard = self._coordinated.led(target.partition)
                if not isinstance(shard, CoordinatorPartition):
                    return ErrorCode.NOT_LEADER_OR_FOLLOWER  # loading: the sender retries
                return shard.end_transaction(batch, marker.producer_id, is_commit=marker.is_commit)
        except (LogError, CoordinatorError) as error:
            return _code(error)
        return leader.append(
            bytearray(batch), now_ms, leader_epoch=leader.leader_epoch, origin=Origin.COORDINATOR
        )


def _check_late(leader: Replica, marker: Marker) -> ErrorCode | None:
    """Detect a late marker of transaction version 2, whose epoch is above its transaction's (KIP-1228).

    The log refuses older epochs of either version.
    """
    known = leader.log.producers.get(marker.producer_id)
    if (
        known is None
        or marker.transaction_version < TRANSACTION_VERSION_2
        or known.producer_epoch != marker.producer_epoch
    ):
        return None
    if known.transaction_first_offset is None:
        return ErrorCode.NONE  # it was written, and the response was lost
    return ErrorCode.INVALID_PRODUCER_EPOCH


async def _outcome(written: Awaitable[None]) -> ErrorCode:
    try:
        await written
    except (LogError, CoordinatorError) as error:
        return _code(error)
    return ErrorCode.NONE


def _code(error: LogError | CoordinatorError) -> ErrorCode:
    """Return a code for the sender, which knows leaders and not group coordinators, and retries."""
    return error.code if isinstance(error, LogError) else ErrorCode.NOT_LEADER_OR_FOLLOWER
