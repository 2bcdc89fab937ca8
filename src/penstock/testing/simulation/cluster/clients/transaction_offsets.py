"""Offsets of a group that are committed with transactions (KIP-447), by the one producer that has the group."""

from collections.abc import Sequence

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import add_offsets_to_txn, txn_offset_commit
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import GROUP, Address, Client, NoAnswer
from penstock.testing.simulation.cluster.clients.offsets import by_topic, draw_metadata, fetch_offsets
from penstock.testing.simulation.cluster.clients.transaction_values import (
    RETRIABLE,
    TRIES_MAX,
    GivenUp,
    Producer,
)

_ADD_OFFSETS, _COMMIT, _COMMIT_V2 = (25, 3), (28, 3), (28, 5)
_REFUSALS = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_COMMIT_OFFSET_SIZE})
"""What it wanted to commit is too large: the transaction goes on, and must be aborted."""


class OffsetsOfGroup:
    """All partitions get the same number, which grows from transaction to transaction."""

    def __init__(self, client: Client, group: str, partitions: Sequence[PartitionName]) -> None:
        self._client = client
        self._group = group
        self._partitions = partitions
        self._coordinator: Address | None = None

    def announcement(
        self, transactional_id: str, producer: Producer
    ) -> tuple[tuple[int, int], add_offsets_to_txn.AddOffsetsToTxnRequest]:
        """What the coordinator of the transaction is asked first in version 1."""
        return _ADD_OFFSETS, add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=self._group,
        )

    async def commit(
        self, name: bytes, transactional_id: str, producer: Producer, number: int, *, is_version_2: bool
    ) -> bool:
        """Whether it was acknowledged; if not the transaction must be aborted. Raises `GivenUp`."""
        checker = self._client.history.transactions
        checker.commits_offsets(name, self._group, number)
        metadata = draw_metadata(self._client.random, self._partitions)
        request = txn_offset_commit.TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=self._group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=[
                txn_offset_commit.TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        txn_offset_commit.TxnOffsetCommitRequestPartition(
                            partition_index=each,
                            committed_offset=number,
                            committed_metadata=metadata[topic, each],
                        )
                        for each in numbers
                    ],
                )
                for topic, numbers in by_topic(self._partitions)
            ],
        )
        api = _COMMIT_V2 if is_version_2 else _COMMIT
        code = await self._insist(api, request)
        if code is ErrorCode.NONE:
            checker.offsets_kept(name)
        elif code not in _REFUSALS:
            raise GivenUp(code.name)
        return code is ErrorCode.NONE

    async def _insist(
        self, api: tuple[int, int], request: txn_offset_commit.TxnOffsetCommitRequest
    ) -> ErrorCode:
        why = "nobody answers"
        for _ in range(TRIES_MAX):
            try:
                answer = await self._client.call(await self._found(), api, request)
            except NoAnswer as error:
                why = str(error)
            else:
                codes = [each.error_code for topic in answer.topics for each in topic.partitions]
                code = ErrorCode(next((each for each in codes if each), 0))
                if code not in RETRIABLE:
                    return code
                why = code.name
            self._coordinator = None
            await self._client.rest()
        raise GivenUp(why)

    async def look(self) -> None:
        """Show the checker what is committed. Raises `NoAnswer`."""
        try:
            found = await fetch_offsets(self._client, await self._found(), self._group, self._partitions)
        except NoAnswer:
            self._coordinator = None
            raise
        self._client.history.transactions.finds_offsets(self._group, found)

    async def _found(self) -> Address:
        if self._coordinator is None:
            self._coordinator = await self._client.coordinator_of(self._group, GROUP)
        return self._coordinator
