"""A transactional producer: it writes to several partitions, then commits or aborts, and says so to the checker.

Half of them ask for partitions to be added first, half leave that to the partition's leader (KIP-890, version 2 of
transactions). Whoever does not get on gives up what it has begun and comes anew with a higher epoch, which ends that.
"""

import asyncio
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import add_partitions_to_txn, end_txn, init_producer_id
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.checkers.transactions import Outcome
from penstock.testing.simulation.cluster.clients.client import TRANSACTION, Address, Client, NoAnswer
from penstock.testing.simulation.cluster.clients.producer import PRODUCE, produce_request

_INIT_PRODUCER_ID, _ADD_PARTITIONS, _END, _END_V2, _PRODUCE_V2 = (22, 4), (24, 3), (26, 3), (26, 5), (0, 12)
_TIMEOUT_MS = 8_000
_TRIES_MAX = 20
_ABORT_CHANCE = 0.3
_FORSAKE_CHANCE = 0.1
_RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REPLICA_NOT_AVAILABLE,
    }
)


class GivenUp(Exception):
    """The transaction cannot go on: what was begun is left to the coordinator."""


class TransactionalProducer:
    def __init__(
        self, client: Client, transactional_id: str, partitions: list[PartitionName], *, is_version_2: bool
    ) -> None:
        self._client = client
        self._id = transactional_id
        self._partitions = partitions
        self._is_version_2 = is_version_2
        self._producer_id = -1
        self._producer_epoch = -1
        self._sequences: dict[PartitionName, int] = {}
        self._coordinator: Address | None = None
        self._leaders: dict[PartitionName, Address] = {}
        self._count = 0
        self.is_stopping = self.has_stopped = False
        self.refusal = "nobody answers"

    async def run(self, interval_s: float) -> None:
        """One transaction after the other until it is to stop; then it comes anew once, so that none is left open."""
        random = self._client.random
        while not self.is_stopping:
            if self._producer_id >= 0 or await self._begin():
                await self._transact()
                await asyncio.sleep(random.expovariate(1 / interval_s))
        while not await self._begin():
            await self._client.rest()
        self.has_stopped = True

    async def _begin(self) -> bool:
        """A new epoch: whatever an earlier one has begun is ended."""
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=_TIMEOUT_MS, producer_id=-1, producer_epoch=-1
        )
        try:
            answer = await self._ask_coordinator(_INIT_PRODUCER_ID, request)
        except GivenUp:
            return False
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        self._sequences = {}
        return True

    async def _transact(self) -> None:
        random, checker = self._client.random, self._client.history.transactions
        self._count += 1
        name = f"{self._id}/{self._count}".encode()
        partitions = random.sample(self._partitions, random.randint(1, len(self._partitions)))
        values = {each: [b"%s/%d" % (name, n) for n in range(random.randint(1, 2))] for each in partitions}
        for partition in partitions:
            for value in values[partition]:
                checker.writes(name, partition, value)
        is_commit = False
        try:
            await self._write(values)
            self._maybe_forsake()
            is_commit = random.random() >= _ABORT_CHANCE
            checker.becomes(name, Outcome.ENDING if is_commit else Outcome.ABORTED)
            await self._end(is_commit)
        except GivenUp:
            self._producer_id = -1
            if not is_commit:
                checker.becomes(name, Outcome.ABORTED)
            return
        if is_commit:
            checker.becomes(name, Outcome.COMMITTED)

    def _maybe_forsake(self) -> None:
        """Some just stop, and leave what they have begun."""
        if self._client.random.random() < _FORSAKE_CHANCE:
            raise GivenUp("forsaken")

    async def _write(self, values: dict[PartitionName, list[bytes]]) -> None:
        if not self._is_version_2:
            await self._add_partitions(list(values))
        for partition, each in values.items():
            await self._send(partition, each)

    async def _add_partitions(self, partitions: list[PartitionName]) -> None:
        topics = [
            add_partitions_to_txn.AddPartitionsToTxnTopic(name=topic, partitions=[number])
            for topic, number in partitions[:1]
        ]
        topics[0].partitions[:] = [number for _, number in partitions]
        request = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=topics,
        )
        await self._ask_coordinator(_ADD_PARTITIONS, request)

    async def _send(self, partition: PartitionName, values: list[bytes]) -> None:
        sequence = self._sequences.get(partition, 0)
        now_ms = self._client.clock.now_ms()
        records = build_batch(
            [NewRecord(value=value, timestamp=now_ms) for value in values],
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        request = produce_request(partition, records, transactional_id=self._id)
        for _ in range(_TRIES_MAX):
            try:
                leader = self._leaders.get(partition) or await self._client.leader_of(partition)
                self._leaders[partition] = leader
                answer = await self._client.call(
                    leader, _PRODUCE_V2 if self._is_version_2 else PRODUCE, request
                )
            except NoAnswer as error:
                self.refusal = str(error)
            else:
                response = answer.responses[0].partition_responses[0]
                code = ErrorCode(response.error_code)
                if code is ErrorCode.NONE:
                    self._sequences[partition] = sequence + len(values)
                    for number, value in enumerate(values):
                        offset = response.base_offset + number
                        self._client.history.transactions.written(partition, value, offset)
                    return
                self._refused(code)
            self._leaders.pop(partition, None)
            await self._client.rest()
        raise GivenUp(self.refusal)

    async def _end(self, is_commit: bool) -> None:
        request = end_txn.EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=is_commit,
        )
        answer = await self._ask_coordinator(_END_V2 if self._is_version_2 else _END, request)
        if self._is_version_2:
            self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
            self._sequences = {}

    async def _ask_coordinator(self, api: tuple[int, int], request: Any) -> Any:
        for _ in range(_TRIES_MAX):
            try:
                if self._coordinator is None:
                    self._coordinator = await self._client.coordinator_of(self._id, TRANSACTION)
                answer = await self._client.call(self._coordinator, api, request)
            except NoAnswer as error:
                self.refusal = str(error)
            else:
                code = _error_of(answer)
                if code is ErrorCode.NONE:
                    return answer
                self._refused(code)
            self._coordinator = None
            await self._client.rest()
        raise GivenUp(self.refusal)

    def _refused(self, code: ErrorCode) -> None:
        self.refusal = code.name
        if code not in _RETRIABLE:
            raise GivenUp(code.name)


def _error_of(answer: Any) -> ErrorCode:
    topics = getattr(answer, "results_by_topic_v3_and_below", None)
    if topics:
        codes = [each.partition_error_code for topic in topics for each in topic.results_by_partition]
        return ErrorCode(next((code for code in codes if code), 0))
    return ErrorCode(answer.error_code)
