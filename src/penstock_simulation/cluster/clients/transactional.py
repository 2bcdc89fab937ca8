"""A transactional producer: it writes to several partitions, then commits or aborts.

In version 1 of transactions it asks for partitions to be added first, in version 2 it leaves that to the partition's
leader (KIP-890). Some transactions also commit offsets of a group (KIP-447). A producer that fails abandons its
transaction and starts again with a higher epoch, which ends the transaction.

A producer may also abort while its batches are in flight. When they are acknowledged all the same it keeps its epoch,
and these records must never be read.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.checkers.transactions import Outcome
from penstock_simulation.cluster.clients.client import (
    TRANSACTION,
    Address,
    Api,
    Client,
    CoordinatorClient,
    NoAnswer,
)
from penstock_simulation.cluster.clients.producer import (
    INIT_PRODUCER_ID,
    PRODUCE,
    Batch,
    produce_request,
    produce_result,
)
from penstock_simulation.cluster.clients.requests import by_topic
from penstock_simulation.cluster.clients.transactional_offsets import (
    RETRIABLE,
    TRIES_MAX,
    Abandoned,
    ProducerIdentity,
    TransactionalOffsets,
)
from penstock_simulation.cluster.values import PartitionName

_ADD_PARTITIONS, _ADD_OFFSETS = (24, 3), (25, 3)
_PRODUCE_V2 = (0, 12)
_END, _END_V2 = (26, 3), (26, 5)
_TIMEOUT_MS = 8_000
_ABORT_CHANCE = 0.3
_ABANDON_CHANCE = 0.1
_ABORT_IN_FLIGHT_CHANCE = 0.2
_ABORT_IN_FLIGHT_S_MAX = 0.1
_DELAY_CHANCE = 0.15
_DELAY_S_MAX = 1.0
_OFFSETS_CHANCE = 0.35
_LARGE_CHANCE = 0.25
_CHECK_CHANCE = 0.5


class _Transaction(msgspec.Struct):
    name: bytes
    number: int
    batches: dict[PartitionName, list[Batch]]
    producer: ProducerIdentity
    is_version_2: bool
    sequences: dict[PartitionName, int]
    """The next sequence number of each partition."""
    is_ending: bool = False
    """Set when nothing is to be sent again."""


class TransactionalProducer:
    def __init__(
        self,
        client: Client,
        transactional_id: str,
        partitions: list[PartitionName],
        *,
        version_2_chance: float,
        offsets: TransactionalOffsets,
    ) -> None:
        self._client = client
        self._checker = client.history.transactions
        self._write_client = client.another()
        """A separate connection: the end of a transaction must not wait for its writes."""
        self._id = transactional_id
        self._partitions = partitions
        self._version_2_chance = version_2_chance
        self._is_version_2 = False
        self._offsets = offsets
        self._producer: ProducerIdentity | None = None
        self._sequences: dict[PartitionName, int] = {}
        self._coordinator = CoordinatorClient(client, transactional_id, TRANSACTION)
        self._leaders: dict[PartitionName, Address] = {}
        self._count = 0
        self.is_stopping = self.has_stopped = False
        self.last_error = "no answer"

    async def run(self, interval_s: float) -> None:
        """Run transactions until it is to stop; then take a new epoch once, so that none is left open."""
        while not self.is_stopping:
            if await self._is_ready():
                await self._transact()
                await asyncio.sleep(self._client.random.expovariate(1 / interval_s))
        await self._client.retry(self._init_producer_id)
        self.has_stopped = True

    async def _is_ready(self) -> bool:
        """Draw a version. A change to version 2 needs a new epoch, as real clients know."""
        was_version_2 = self._is_version_2
        self._is_version_2 = self._client.random.random() < self._version_2_chance
        if self._producer is None or self._is_version_2 > was_version_2:
            self._producer = None
            return await self._init_producer_id()
        return True

    async def _init_producer_id(self) -> bool:
        """Take a new epoch, which ends the transactions of earlier ones."""
        try:
            response = await self._ask_coordinator(
                INIT_PRODUCER_ID, transaction_timeout_ms=_TIMEOUT_MS, producer_id=-1, producer_epoch=-1
            )
        except Abandoned:
            return False
        self._continue_as(response)
        return True

    def _continue_as(self, response: Any) -> None:
        self._producer = ProducerIdentity(response.producer_id, response.producer_epoch)
        self._sequences = {}

    # -- one transaction ------------------------------------------------------------------------------

    async def _transact(self) -> None:
        random, checker = self._client.random, self._checker
        transaction = self._draw()
        for partition, batches in transaction.batches.items():
            for value in (value for each in batches for value in each.values):
                checker.on_send(transaction.name, partition, value)
        is_commit = False
        try:
            if random.random() < _ABORT_IN_FLIGHT_CHANCE:
                await self._abort_in_flight(transaction)
                return
            await self._write(transaction)
            is_commit = await self._commit_offsets(transaction) and random.random() >= _ABORT_CHANCE
            await self._delay_or_abandon()
            checker.on_outcome(transaction.name, Outcome.ENDING if is_commit else Outcome.ABORTED)
            await self._end(transaction, is_commit=is_commit)
        except Abandoned:
            self._producer = None
            if not is_commit:
                checker.on_outcome(transaction.name, Outcome.ABORTED)
            return
        if is_commit:
            checker.on_outcome(transaction.name, Outcome.COMMITTED)
        if random.random() < _CHECK_CHANCE:
            try:
                await self._offsets.check()
            except NoAnswer as error:
                self.last_error = str(error)

    def _draw(self) -> _Transaction:
        random = self._client.random
        self._count += 1
        name = f"{self._id}/{self._count}".encode()
        partitions = random.sample(self._partitions, random.randint(1, len(self._partitions)))
        batches: dict[PartitionName, list[Batch]] = {}
        count = 0
        for partition in partitions:
            batch_count = random.choice([1, 1, 1, 2, 3])
            sizes = [1] * batch_count if batch_count > 1 else [random.randint(1, 2)]
            batches[partition] = []
            for size in sizes:
                values = [b"%s/%d" % (name, number) for number in range(count, count + size)]
                batches[partition].append(Batch(values, random.random() < _LARGE_CHANCE))
                count += size
        assert self._producer is not None
        return _Transaction(
            name=name,
            number=self._count,
            batches=batches,
            producer=self._producer,
            is_version_2=self._is_version_2,
            sequences=dict(self._sequences),
        )

    async def _abort_in_flight(self, transaction: _Transaction) -> None:
        """Abort without waiting for the batches in flight."""
        if not transaction.is_version_2:
            await self._add_partitions(transaction)
        writing = asyncio.ensure_future(self._send_all(transaction))
        await asyncio.sleep(self._client.random.uniform(0, _ABORT_IN_FLIGHT_S_MAX))
        transaction.is_ending = True
        self._checker.on_outcome(transaction.name, Outcome.ABORTED)
        try:
            await self._end(transaction, is_commit=False)
        finally:
            (failure,) = await asyncio.gather(writing, return_exceptions=True)
            if failure is not None and not isinstance(failure, Abandoned):
                raise failure
        if transaction.is_version_2:
            return  # its next epoch begins with the first sequence
        if failure is not None:
            raise failure
        self._sequences = transaction.sequences

    async def _delay_or_abandon(self) -> None:
        random = self._client.random
        if random.random() < _DELAY_CHANCE:
            await asyncio.sleep(random.uniform(0, _DELAY_S_MAX))
        if random.random() < _ABANDON_CHANCE:
            raise Abandoned("on purpose")

    async def _commit_offsets(self, transaction: _Transaction) -> bool:
        """Commit offsets at random; return whether the transaction may be committed."""
        if self._client.random.random() >= _OFFSETS_CHANCE:
            return True
        producer, is_version_2 = transaction.producer, transaction.is_version_2
        if not is_version_2:
            await self._ask_as(producer, _ADD_OFFSETS, group_id=self._offsets.group)
        return await self._offsets.commit(
            transaction.name, self._id, producer, transaction.number, is_version_2=is_version_2
        )

    # -- records --------------------------------------------------------------------------------------

    async def _write(self, transaction: _Transaction) -> None:
        if not transaction.is_version_2:
            await self._add_partitions(transaction)
        await self._send_all(transaction)
        self._sequences = transaction.sequences

    async def _add_partitions(self, transaction: _Transaction) -> None:
        topics = [
            {"name": topic, "partitions": numbers} for topic, numbers in by_topic(list(transaction.batches))
        ]
        await self._retry(
            _ADD_PARTITIONS,
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=transaction.producer.producer_id,
            v3_and_below_producer_epoch=transaction.producer.epoch,
            v3_and_below_topics=topics,
        )

    async def _send_all(self, transaction: _Transaction) -> None:
        sending = [self._send(transaction, *each) for each in transaction.batches.items()]
        for failure in await asyncio.gather(*sending, return_exceptions=True):
            if failure is not None:
                raise failure

    async def _send(
        self, transaction: _Transaction, partition: PartitionName, batches: Sequence[Batch]
    ) -> None:
        """Pipeline batches; send those that are not acknowledged again, in order, with all after them."""
        built = []
        sequence = transaction.sequences.get(partition, 0)
        # In version 1 a partition takes any sequence for the first of a producer that it does not know.
        in_flight_max = len(batches) if transaction.is_version_2 or sequence else 1
        for each in batches:
            records = each.build(
                self._client.clock.now_ms(),
                producer_id=transaction.producer.producer_id,
                epoch=transaction.producer.epoch,
                sequence=sequence,
                is_transactional=True,
            )
            built.append(produce_request(partition, records, transactional_id=self._id))
            sequence += len(each.values)
        stored_count = tries = 0
        while stored_count < len(batches):
            wanted = built[stored_count : stored_count + in_flight_max]
            count = await self._try(
                transaction, partition, wanted, batches[stored_count:], is_first=not tries
            )
            stored_count += count
            tries = 0 if count == len(wanted) else tries + 1
            if tries == TRIES_MAX or (tries and transaction.is_ending):
                raise Abandoned(self.last_error)
            if tries:
                await self._client.back_off()

    async def _try(
        self,
        transaction: _Transaction,
        partition: PartitionName,
        requests: list[Any],
        batches: Sequence[Batch],
        *,
        is_first: bool,
    ) -> int:
        """Send batches; return how many were stored before the first that was not. Raises `Abandoned`."""
        try:
            leader = self._leaders.get(partition) or await self._write_client.leader_of(partition)
        except NoAnswer as error:
            self.last_error = str(error)
            return 0
        self._leaders[partition] = leader
        api = _PRODUCE_V2 if transaction.is_version_2 else PRODUCE
        responses = await self._write_client.call_all(leader, api, requests)
        results = [produce_result(each) for each in responses]
        if is_first:
            self._client.history.records.on_pipelined(partition, [code for code, _ in results])
        for number, ((code, base_offset), batch) in enumerate(zip(results, batches, strict=False)):
            if code is not ErrorCode.NONE:
                self._leaders.pop(partition, None)
                self._on_error(code)
                return number
            for index, value in enumerate(batch.values):
                self._checker.on_stored(partition, value, base_offset + index)
            before = transaction.sequences.get(partition, 0)
            transaction.sequences[partition] = before + len(batch.values)
        return len(requests)

    # -- the coordinator ------------------------------------------------------------------------------

    async def _end(self, transaction: _Transaction, *, is_commit: bool) -> None:
        api = _END_V2 if transaction.is_version_2 else _END
        response = await self._ask_as(transaction.producer, api, committed=is_commit)
        if transaction.is_version_2:
            self._continue_as(response)

    async def _ask_as(self, producer: ProducerIdentity, api: Api, **fields: Any) -> Any:
        return await self._ask_coordinator(
            api, producer_id=producer.producer_id, producer_epoch=producer.epoch, **fields
        )

    async def _ask_coordinator(self, api: Api, **fields: Any) -> Any:
        return await self._retry(api, transactional_id=self._id, **fields)

    async def _retry(self, api: Api, **fields: Any) -> Any:
        """Return the successful answer of the coordinator. Raises `Abandoned`."""
        for _ in range(TRIES_MAX):
            try:
                response = await self._coordinator.ask(api, **fields)
            except NoAnswer as error:
                self.last_error = str(error)
            else:
                code = _error_of(response)
                if code is ErrorCode.NONE:
                    return response
                self._on_error(code)
            self._coordinator.forget()
            await self._client.back_off()
        raise Abandoned(self.last_error)

    def _on_error(self, code: ErrorCode | None) -> None:
        self.last_error = "no answer" if code is None else code.name
        if code is not None and code not in RETRIABLE:
            raise Abandoned(code.name)


def _error_of(response: Any) -> ErrorCode:
    """Return the first error in an answer of a transaction coordinator."""
    topics = getattr(response, "results_by_topic_v3_and_below", None)
    if topics:
        codes = [each.partition_error_code for topic in topics for each in topic.results_by_partition]
        return ErrorCode(next((code for code in codes if code), 0))
    return ErrorCode(response.error_code)
