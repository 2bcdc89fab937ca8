"""Deletes records of a partition that is written in transactions, also from under open ones, and looks what is left."""

import asyncio

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import delete_records
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import Address, Client, NoAnswer
from penstock.testing.simulation.cluster.clients.reader import (
    EARLIEST,
    FETCH,
    LATEST,
    fetch_request,
    offset_at,
)

_DELETE_RECORDS = (21, 2)
_WAIT_MS = 3000
_ALL_CHANCE = 0.5
_LATE_S = 5.0
"""How long a deletion that was not answered may still be under way."""


class Pruner:
    def __init__(self, client: Client, partition: PartitionName) -> None:
        self._client = client
        self._partition = partition
        self._doubtful_until_s = 0.0
        self.count = 0

    async def run(self, interval_s: float) -> None:
        random = self._client.random
        while True:
            await asyncio.sleep(random.expovariate(1 / interval_s))
            try:
                leader = await self._client.leader_of(self._partition)
                await self._delete(leader)
                await self._look(leader)
            except NoAnswer:
                await self._client.rest()

    async def _delete(self, leader: Address) -> None:
        random = self._client.random
        start = await offset_at(self._client, leader, self._partition, EARLIEST)
        end = await offset_at(self._client, leader, self._partition, LATEST)
        offset = end if random.random() < _ALL_CHANCE or start >= end else random.randint(start, end)
        self._client.history.transactions.deletes(self._partition, offset)
        topic, number = self._partition
        wanted = delete_records.DeleteRecordsPartition(partition_index=number, offset=offset)
        request = delete_records.DeleteRecordsRequest(
            topics=[delete_records.DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=_WAIT_MS
        )
        try:
            answer = await self._client.call(leader, _DELETE_RECORDS, request)
        except NoAnswer:
            self._doubtful_until_s = self._client.now_s + _LATE_S
            raise
        if answer.topics[0].partitions[0].error_code == ErrorCode.NONE:
            self.count += 1

    async def _look(self, leader: Address) -> None:
        """Begin to read where a consumer begins that wants what is committed from now on."""
        end = await offset_at(self._client, leader, self._partition, LATEST, is_committed_only=True)
        request = fetch_request(self._partition, end, is_committed_only=True)
        answer = await self._client.call(leader, FETCH, request)
        if answer.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            start = await offset_at(self._client, leader, self._partition, EARLIEST)
            if start > end and self._client.now_s > self._doubtful_until_s:
                self._client.history.transactions.cannot_read(self._partition, end, start)
