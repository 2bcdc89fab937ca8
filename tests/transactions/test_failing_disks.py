"""When a disk fails during a transaction, producers get a retriable error and always a response."""

import asyncio
from pathlib import Path
from random import Random

from penstock.protocol.errors import ErrorCode
from penstock.transactions.state import Transaction
from penstock.transactions.states import State
from penstock_simulation.disk import FaultyDisk
from tests.server.live import Live, running_broker, until
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer

SETTINGS = {"transaction.state.log.num.partitions": "1", "log.cleaner.enable": "false"}
ANSWER_S = 20


def state_of(live: Live) -> State | None:
    transaction = live.services.transactions.get("app")
    return transaction.state if isinstance(transaction, Transaction) else None


async def test_a_failed_log_is_an_error_and_the_transaction_ends_after_a_restart() -> None:
    disk = FaultyDisk(Random(3))
    async with running_broker(Path("/data"), SETTINGS, files=disk) as live:
        client = await live.connect()
        topic = await client.create_topic()
        mine = LiveProducer(client, "app")
        await mine.init()
        await mine.write(topic, b"x")
        disk.fail("sync", ".journal")
        code = await asyncio.wait_for(mine.end(commit=True), ANSWER_S)
        assert code is ErrorCode.NOT_COORDINATOR
        code = await asyncio.wait_for(mine.end(commit=True), ANSWER_S)
        assert code is ErrorCode.NOT_COORDINATOR
        await client.close()
    disk = disk.crash()
    async with running_broker(Path("/data"), SETTINGS, files=disk) as live:
        mine.client = await live.connect()
        await until(lambda: state_of(live) is State.ONGOING)  # the decision was never answered, and is lost
        assert await mine.end(commit=True) is ErrorCode.NONE
        await until(lambda: state_of(live) is State.COMPLETE_COMMIT)
        part = await mine.client.fetch(topic, isolation_level=READ_COMMITTED)
        assert part.last_stable_offset == 2
        await mine.client.close()


async def test_a_partition_whose_disk_fails_gets_its_marker_after_a_restart() -> None:
    disk = FaultyDisk(Random(4))
    async with running_broker(Path("/data"), SETTINGS, files=disk) as live:
        client = await live.connect()
        sick, well = await client.create_topic(name="sick"), await client.create_topic(name="well")
        mine = LiveProducer(client, "app")
        await mine.init()
        await mine.write(sick, b"x")
        await mine.write(well, b"x")
        disk.fail("write", "sick-0")
        assert await asyncio.wait_for(mine.end(commit=True), ANSWER_S) is ErrorCode.NONE
        well_replica = live.services.replicas.get("well", 0)
        assert well_replica is not None
        await until(lambda: well_replica.last_stable_offset == 2)
        assert state_of(live) is State.PREPARE_COMMIT
        await client.close()
    disk = disk.crash()
    async with running_broker(Path("/data"), SETTINGS, files=disk) as live:
        client = await live.connect()
        await until(lambda: state_of(live) is State.COMPLETE_COMMIT)
        for topic in (sick, well):
            part = await client.fetch(topic, isolation_level=READ_COMMITTED)
            assert part.last_stable_offset == part.high_watermark > 0
            assert part.aborted_transactions == []
        await client.close()
