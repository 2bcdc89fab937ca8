"""Random histories of transactional producers, their zombies, timeouts and crashes, against a model.

Two transactional ids are used by one producer after another, in either version of the protocol. A producer that was
replaced or timed out is a zombie and keeps trying. After each history: every committed record is visible once and in
order, no other is, the groups have the offsets of the last committed transaction, and nothing hangs.
HISTORIES in the environment sets their number.
"""

import asyncio
import copy
import itertools
import os
from pathlib import Path
from random import Random
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.record import iter_records
from penstock.runtime.clock import ManualClock
from penstock.transactions.state import Transaction
from penstock_simulation.disk import FaultyDisk, Keep
from tests.server.live import Client, Live, TopicHandle, batch, one, running_broker, until
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer

BROKER_SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "2",
    "log.cleaner.enable": "false",
    "connections.max.idle.ms": str(2**62),
}
IDS = ("left", "right")
PARTITIONS = (0, 1)
TIMEOUT_MS = 60_000
FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class Instance:
    """One producer, as the model sees it."""

    def __init__(self, producer: LiveProducer) -> None:
        self.producer = producer
        self.open: list[tuple[int, bytes]] = []  # what its transaction has written, partition and value
        self.offset: int | None = None
        self.last_end: tuple[bool, int] | None = None  # commit, and the epoch it was asked with
        self.last_batch: tuple[int, bytes] | None = None

    @property
    def has_begun(self) -> bool:
        return bool(self.open) or self.offset is not None


class TransactionsMachine(RuleBasedStateMachine):
    instances = Bundle("instances")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.disk = FaultyDisk(Random(1), clock=self.clock)
        self.values = itertools.count()
        self.current: dict[str, Instance] = {}
        self.written: dict[int, list[bytes]] = {partition: [] for partition in PARTITIONS}
        self.committed: dict[int, list[tuple[int, bytes]]] = {partition: [] for partition in PARTITIONS}
        self.offsets: dict[str, int] = {}
        self.topic: TopicHandle
        self.live: Live
        self.client: Client

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    @initialize()
    def start(self) -> None:
        self.run(self._open())
        self.topic = self.run(self.client.create_topic(partitions=len(PARTITIONS)))

    async def _open(self) -> None:
        self.context = running_broker(Path("/data"), BROKER_SETTINGS, files=self.disk, clock=self.clock)
        self.live = await self.context.__aenter__()
        self.client = await self.live.connect()
        for name in IDS:
            for key_type in (0, 1):
                await self.client.send(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[name]))

    async def _close(self) -> None:
        await self.client.close()
        await self.context.__aexit__(None, None, None)

    # -- what producers do

    @rule(target=instances, transactional_id=st.sampled_from(IDS), is_v2=st.booleans())
    def take_over(self, transactional_id: str, is_v2: bool) -> Instance:
        """A new producer of an id: the one before is fenced and its transaction aborted."""
        producer = LiveProducer(self.client, transactional_id, is_v2=is_v2, clock=self.clock)
        assert self.run(producer.init(timeout_ms=TIMEOUT_MS)) is ErrorCode.NONE
        instance = Instance(producer)
        self.current[transactional_id] = instance
        return instance

    @rule(instance=instances, partition=st.sampled_from(PARTITIONS))
    def produce(self, instance: Instance, partition: int) -> None:
        self.connect(instance)
        value = b"%d" % next(self.values)
        code = self.run(self._produce(instance.producer, value, partition))
        if self.is_current(instance):
            assert code is ErrorCode.NONE, code.name
            instance.open.append((partition, value))
            instance.last_batch = partition, value
            self.written[partition].append(value)
        else:
            assert code in FENCED, code.name

    async def _produce(self, producer: LiveProducer, value: bytes, partition: int) -> ErrorCode:
        if not producer.is_v2:
            code = await producer.add(self.topic, partition)
            if code:
                return code
        return await producer.produce(self.topic, value, partition=partition)

    @rule(instance=instances, offset=st.integers(0, 1000))
    def commit_offset(self, instance: Instance, offset: int) -> None:
        self.connect(instance)
        code = self.run(self._commit_offset(instance.producer, offset))
        if self.is_current(instance):
            assert code is ErrorCode.NONE, code.name
            instance.offset = offset
        else:
            assert code in FENCED, code.name

    async def _commit_offset(self, producer: LiveProducer, offset: int) -> ErrorCode:
        if not producer.is_v2:
            code = await producer.add_offsets(producer.transactional_id)
            if code:
                return code
        return await producer.commit_offset(producer.transactional_id, self.topic, offset)

    @rule(instance=instances, commit=st.booleans())
    def end(self, instance: Instance, commit: bool) -> None:
        self.connect(instance)
        epoch = instance.producer.epoch
        code = self.run(self._end(instance.producer, commit))
        if not self.is_current(instance):
            assert code in FENCED, code.name
        elif instance.has_begun:
            assert code is ErrorCode.NONE, code.name
            instance.last_end = commit, epoch
            self.settle(instance, commit=commit)
        else:  # nothing was begun: whatever is answered, nothing comes of it
            assert code in (ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE), code.name
            instance.last_end = None

    async def _end(self, producer: LiveProducer, commit: bool) -> ErrorCode:
        code = await producer.end(commit=commit)
        await self._at_rest(producer.transactional_id)
        return code

    async def _at_rest(self, transactional_id: str) -> None:
        def is_settled() -> bool:
            known = self.live.services.transactions.get(transactional_id)
            return isinstance(known, Transaction) and not known.state.is_prepared

        await until(is_settled)

    @rule(instance=instances, is_turned_round=st.booleans())
    def end_again(self, instance: Instance, is_turned_round: bool) -> None:
        """The answer was lost, and the same is asked again, or by mistake the opposite."""
        if instance.last_end is None or instance.has_begun or not self.is_current(instance):
            return
        commit, epoch = instance.last_end
        producer = LiveProducer(
            self.client, instance.producer.transactional_id, is_v2=instance.producer.is_v2
        )
        producer.producer_id, producer.epoch = instance.producer.producer_id, epoch
        code = self.run(producer.end(commit=commit != is_turned_round))
        assert code is (ErrorCode.INVALID_TXN_STATE if is_turned_round else ErrorCode.NONE), code.name
        assert (producer.producer_id, producer.epoch) == (
            instance.producer.producer_id,
            instance.producer.epoch,
        ) or is_turned_round

    @rule(instance=instances)
    def send_the_last_batch_again(self, instance: Instance) -> None:
        """A batch is stored once, however often it is sent."""
        if instance.last_batch is None:
            return
        partition, value = instance.last_batch
        producer = instance.producer
        sequence = producer._sequences.get((self.topic.name, partition), 0) - 1
        if sequence < 0:
            return
        records = batch(
            value,
            timestamp=self.clock.now_ms(),
            producer_id=producer.producer_id,
            epoch=producer.epoch,
            sequence=sequence,
            is_transactional=True,
        )
        self.run(
            self.client.produce(
                self.topic,
                records,
                partition=partition,
                version=13 if producer.is_v2 and instance.open else 11,
                transactional_id=producer.transactional_id,
            )
        )

    # -- what happens to them

    @rule()
    def time_passes(self) -> None:
        """Every open transaction takes too long."""
        late = [name for name, instance in self.current.items() if instance.has_begun]
        self.run(self._abort_late(late))
        for transactional_id in late:
            del self.current[transactional_id]

    async def _abort_late(self, late: list[str]) -> None:
        self.clock.advance(TIMEOUT_MS + 1)
        self.live.services.transactions.abort_timed_out()
        for transactional_id in late:
            await self._at_rest(transactional_id)

    @rule(keep=st.sampled_from(Keep))
    def crash(self, keep: Keep) -> None:
        """Acknowledged writes were synced: a power cut loses none of them."""
        picture = FaultyDisk(Random(next(self.values)), clock=self.clock)
        with self.disk._device.mutex:
            picture._root = copy.deepcopy(self.disk._root)
        self.run(self._close())
        self.disk = picture.crash(keep)
        self.run(self._open())

    @rule()
    def restart(self) -> None:
        self.run(self._close())
        self.disk = self.disk.kill()
        self.run(self._open())

    # -- the model

    def connect(self, instance: Instance) -> None:
        """To the broker that runs now."""
        instance.producer.client = self.client

    def is_current(self, instance: Instance) -> bool:
        return self.current.get(instance.producer.transactional_id) is instance

    def settle(self, instance: Instance, *, commit: bool) -> None:
        if commit:
            for partition, value in instance.open:
                self.committed[partition].append((self.written[partition].index(value), value))
            if instance.offset is not None:
                self.offsets[instance.producer.transactional_id] = instance.offset
        instance.open = []
        instance.offset = None

    def teardown(self) -> None:
        try:
            if hasattr(self, "topic"):
                self.run(self._check())
        finally:
            self.run(self._close())
            self.runner.close()

    async def _check(self) -> None:
        for transactional_id in self.current:
            heir = LiveProducer(self.client, transactional_id, clock=self.clock)
            assert await heir.init(timeout_ms=TIMEOUT_MS) is ErrorCode.NONE
        for partition in PARTITIONS:
            everything, visible = await self._read(partition)
            assert everything == self.written[partition]
            assert visible == [value for _, value in sorted(self.committed[partition])]
        for group_id in IDS:
            assert await self._offset(group_id) == self.offsets.get(group_id, -1)

    async def _read(self, partition: int) -> tuple[list[bytes], list[bytes]]:
        """Every record of a partition, and those that a read_committed consumer keeps."""
        everything: list[bytes] = []
        visible: list[bytes] = []
        offset = 0
        while True:
            part = await self.client.fetch(
                self.topic, offset, partition=partition, isolation_level=READ_COMMITTED
            )
            assert part.last_stable_offset == part.high_watermark, "a transaction hangs"
            starts = sorted((t.first_offset, t.producer_id) for t in part.aborted_transactions or ())
            aborted: set[int] = set()
            view = memoryview(bytes(part.records or b""))
            for position, header in iter_batches(view):
                offset = header.next_offset
                while starts and starts[0][0] <= header.base_offset:
                    aborted.add(starts.pop(0)[1])
                if header.is_control:
                    aborted.discard(header.producer_id)
                    continue
                values = [
                    record.value or b""
                    for record in iter_records(view[position : position + header.size_bytes])
                ]
                everything += values
                visible += [] if header.producer_id in aborted else values
            if offset >= part.high_watermark:
                return everything, visible

    async def _offset(self, group_id: str) -> int:
        answer = await self.client.send(
            OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup(
                        group_id=group_id,
                        topics=[OffsetFetchRequestTopics(name=self.topic.name, partition_indexes=[0])],
                    )
                ],
                require_stable=True,
            ),
            9,
        )
        partition = one(one(one(answer.groups).topics).partitions)
        assert partition.error_code == 0, ErrorCode(partition.error_code).name
        offset: int = partition.committed_offset
        return offset


TestTransactions = TransactionsMachine.TestCase
TestTransactions.settings = settings(
    max_examples=int(os.environ.get("HISTORIES", "15")), stateful_step_count=40, deadline=None
)
