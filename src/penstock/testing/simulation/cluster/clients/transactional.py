"""A transactional producer: it writes to several partitions, then commits or aborts, and says so to the checker.

In version 1 of transactions it asks for partitions to be added first, in version 2 it leaves that to the partition's
leader (KIP-890). Some transactions also commit offsets of a group. Whoever does not get on gives up what it has begun
and comes anew with a higher epoch, which ends that.

A producer may also abort while its batches are still under way. When they are answered as stored all the same it goes
on with the same epoch, and these records must never be read.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import add_partitions_to_txn, end_txn, init_producer_id
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.checkers.transactions import Outcome
from penstock.testing.simulation.cluster.clients.client import TRANSACTION, Address, Client, NoAnswer
from penstock.testing.simulation.cluster.clients.offsets import by_topic
from penstock.testing.simulation.cluster.clients.producer import PRODUCE, Batch, produce_request, produced
from penstock.testing.simulation.cluster.clients.transaction_offsets import OffsetsOfGroup
from penstock.testing.simulation.cluster.clients.transaction_values import (
    RETRIABLE,
    TRIES_MAX,
    GivenUp,
    Producer,
    error_of,
)

_INIT_PRODUCER_ID, _ADD_PARTITIONS, _END, _END_V2, _PRODUCE_V2 = (22, 4), (24, 3), (26, 3), (26, 5), (0, 12)
_TIMEOUT_MS = 8_000
_ABORT_CHANCE = 0.3
_FORSAKE_CHANCE = 0.1
_HASTE_CHANCE = 0.2
_HASTE_S_MAX = 0.1
_LINGER_CHANCE = 0.15
_LINGER_S_MAX = 1.0
_OFFSETS_CHANCE = 0.35
_LARGE_CHANCE = 0.25
_LOOK_CHANCE = 0.5


class _Transaction(msgspec.Struct):
    name: bytes
    number: int
    batches: dict[PartitionName, list[Batch]]
    producer: Producer
    is_version_2: bool
    sequences: dict[PartitionName, int]
    """Behind what has been stored."""
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
        offsets: OffsetsOfGroup,
    ) -> None:
        self._client = client
        self._writing = client.another()
        """What ends a transaction must not wait for what is written."""
        self._id = transactional_id
        self._partitions = partitions
        self._version_2_chance = version_2_chance
        self._is_version_2 = False
        self._offsets = offsets
        self._producer: Producer | None = None
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
            if await self._is_ready():
                await self._transact()
                await asyncio.sleep(random.expovariate(1 / interval_s))
        while not await self._begin():
            await self._client.rest()
        self.has_stopped = True

    async def _is_ready(self) -> bool:
        """Draw a version. Who goes over to version 2 needs a new epoch for that, and real clients ask for it."""
        was_version_2, self._is_version_2 = (
            self._is_version_2,
            self._client.random.random() < self._version_2_chance,
        )
        if self._producer is None or self._is_version_2 > was_version_2:
            self._producer = None
            return await self._begin()
        return True

    async def _begin(self) -> bool:
        """A new epoch: whatever an earlier one has begun is ended."""
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=_TIMEOUT_MS, producer_id=-1, producer_epoch=-1
        )
        try:
            answer = await self._ask_coordinator(_INIT_PRODUCER_ID, request)
        except GivenUp:
            return False
        self._go_on_as(Producer(answer.producer_id, answer.producer_epoch))
        return True

    def _go_on_as(self, producer: Producer) -> None:
        self._producer = producer
        self._sequences = {}

    # -- one transaction ------------------------------------------------------------------------------

    async def _transact(self) -> None:
        random, checker = self._client.random, self._client.history.transactions
        transaction = self._draw()
        for partition, batches in transaction.batches.items():
            for value in (value for each in batches for value in each.values):
                checker.writes(transaction.name, partition, value)
        is_commit = False
        try:
            if random.random() < _HASTE_CHANCE:
                await self._abort_meanwhile(transaction)
                return
            await self._write(transaction)
            is_commit = await self._commit_offsets(transaction) and random.random() >= _ABORT_CHANCE
            await self._maybe_linger()
            checker.becomes(transaction.name, Outcome.ENDING if is_commit else Outcome.ABORTED)
            await self._end(transaction, is_commit=is_commit)
        except GivenUp:
            self._producer = None
            if not is_commit:
                checker.becomes(transaction.name, Outcome.ABORTED)
            return
        if is_commit:
            checker.becomes(transaction.name, Outcome.COMMITTED)
        await self._maybe_look()

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

    async def _abort_meanwhile(self, transaction: _Transaction) -> None:
        """Give up while batches are under way: nobody waits for them before the transaction is aborted."""
        checker = self._client.history.transactions
        if not transaction.is_version_2:
            await self._add_partitions(transaction)
        writing = asyncio.ensure_future(self._send_all(transaction))
        await asyncio.sleep(self._client.random.uniform(0, _HASTE_S_MAX))
        transaction.is_ending = True
        checker.becomes(transaction.name, Outcome.ABORTED)
        try:
            await self._end(transaction, is_commit=False)
        finally:
            (failure,) = await asyncio.gather(writing, return_exceptions=True)
            if failure is not None and not isinstance(failure, GivenUp):
                raise failure
        if transaction.is_version_2:
            return  # its next epoch begins with the first sequence
        if failure is not None:
            raise failure
        self._sequences = transaction.sequences

    async def _maybe_linger(self) -> None:
        """Some take their time, and some just stop, and leave what they have begun."""
        random = self._client.random
        if random.random() < _LINGER_CHANCE:
            await asyncio.sleep(random.uniform(0, _LINGER_S_MAX))
        if random.random() < _FORSAKE_CHANCE:
            raise GivenUp("forsaken")

    async def _commit_offsets(self, transaction: _Transaction) -> bool:
        """Whether the transaction may be committed."""
        if self._client.random.random() >= _OFFSETS_CHANCE:
            return True
        if not transaction.is_version_2:
            await self._ask_coordinator(*self._offsets.announcement(self._id, transaction.producer))
        return await self._offsets.commit(
            transaction.name,
            self._id,
            transaction.producer,
            transaction.number,
            is_version_2=transaction.is_version_2,
        )

    async def _maybe_look(self) -> None:
        if self._client.random.random() < _LOOK_CHANCE:
            try:
                await self._offsets.look()
            except NoAnswer as error:
                self.refusal = str(error)

    # -- records --------------------------------------------------------------------------------------

    async def _write(self, transaction: _Transaction) -> None:
        if not transaction.is_version_2:
            await self._add_partitions(transaction)
        await self._send_all(transaction)
        self._sequences = transaction.sequences

    async def _add_partitions(self, transaction: _Transaction) -> None:
        topics = [
            add_partitions_to_txn.AddPartitionsToTxnTopic(name=topic, partitions=numbers)
            for topic, numbers in by_topic(list(transaction.batches))
        ]
        request = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=transaction.producer.producer_id,
            v3_and_below_producer_epoch=transaction.producer.epoch,
            v3_and_below_topics=topics,
        )
        await self._ask_coordinator(_ADD_PARTITIONS, request)

    async def _send_all(self, transaction: _Transaction) -> None:
        sending = [self._send(transaction, *each) for each in transaction.batches.items()]
        failures = await asyncio.gather(*sending, return_exceptions=True)
        for failure in failures:
            if failure is not None:
                raise failure

    async def _send(
        self, transaction: _Transaction, partition: PartitionName, batches: Sequence[Batch]
    ) -> None:
        """Pipeline batches; those that are not acknowledged are sent again, in order, with all behind them."""
        built = []
        sequence = transaction.sequences.get(partition, 0)
        # Of a producer that the partition does not know version 1 takes any sequence for the first.
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
                raise GivenUp(self.refusal)
            if tries:
                await self._client.rest()

    async def _try(
        self,
        transaction: _Transaction,
        partition: PartitionName,
        requests: list[Any],
        batches: Sequence[Batch],
        *,
        is_first: bool,
    ) -> int:
        """How many were stored before the first that was not. Raises `GivenUp`."""
        history = self._client.history
        try:
            leader = self._leaders.get(partition) or await self._writing.leader_of(partition)
        except NoAnswer as error:
            self.refusal = str(error)
            return 0
        self._leaders[partition] = leader
        api = _PRODUCE_V2 if transaction.is_version_2 else PRODUCE
        answers = [produced(each) for each in await self._writing.call_all(leader, api, requests)]
        if is_first:
            history.records.are_answered(partition, [code for code, _ in answers])
        for number, ((code, base_offset), batch) in enumerate(zip(answers, batches, strict=False)):
            if code is not ErrorCode.NONE:
                self._leaders.pop(partition, None)
                self._refused(code)
                return number
            for index, value in enumerate(batch.values):
                history.transactions.written(partition, value, base_offset + index)
            before = transaction.sequences.get(partition, 0)
            transaction.sequences[partition] = before + len(batch.values)
        return len(requests)

    # -- the coordinator ------------------------------------------------------------------------------

    async def _end(self, transaction: _Transaction, *, is_commit: bool) -> None:
        request = end_txn.EndTxnRequest(
            transactional_id=self._id,
            producer_id=transaction.producer.producer_id,
            producer_epoch=transaction.producer.epoch,
            committed=is_commit,
        )
        answer = await self._ask_coordinator(_END_V2 if transaction.is_version_2 else _END, request)
        if transaction.is_version_2:
            self._go_on_as(Producer(answer.producer_id, answer.producer_epoch))

    async def _ask_coordinator(self, api: tuple[int, int], request: Any) -> Any:
        for _ in range(TRIES_MAX):
            try:
                if self._coordinator is None:
                    self._coordinator = await self._client.coordinator_of(self._id, TRANSACTION)
                answer = await self._client.call(self._coordinator, api, request)
            except NoAnswer as error:
                self.refusal = str(error)
            else:
                code = error_of(answer)
                if code is ErrorCode.NONE:
                    return answer
                self._refused(code)
            self._coordinator = None
            await self._client.rest()
        raise GivenUp(self.refusal)

    def _refused(self, code: ErrorCode | None) -> None:
        self.refusal = "no answer" if code is None else code.name
        if code is not None and code not in RETRIABLE:
            raise GivenUp(code.name)
