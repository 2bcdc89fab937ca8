"""A member of aiokafka."""

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from tests.interop.members import reporting

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library is not typed
    def on_partitions_revoked(self, revoked: Any) -> None:
        reporting.assigned([])

    def on_partitions_assigned(self, assigned: Any) -> None:
        reporting.assigned(p.partition for p in assigned)


async def main() -> None:
    wanted = reporting.arguments()
    stop = reporting.stop_requested()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=wanted.bootstrap,
        group_id=wanted.group,
        group_instance_id=wanted.instance_id,
        session_timeout_ms=wanted.session_timeout_ms,
        heartbeat_interval_ms=reporting.HEARTBEAT_MS,
        partition_assignment_strategy=(ASSIGNORS[wanted.assignor],),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
    )
    consumer.subscribe([wanted.topic], listener=Listener())
    await consumer.start()
    while not stop.is_set():
        polled = await consumer.getmany(timeout_ms=int(reporting.POLL_S * 1000), max_records=100)
        records = [r for batch in polled.values() for r in batch]
        ends = {p: batch[-1].offset + 1 for p, batch in polled.items()}
        if records and await _commit(consumer, ends):
            reporting.processed((r.partition, r.offset, r.value) for r in records)
    await consumer.stop()


async def _commit(consumer: Any, offsets: Any) -> bool:
    """Commit, and retry while the coordinator is unavailable; False after a rebalance."""
    while True:
        try:
            await consumer.commit(offsets)
        except (CommitFailedError, IllegalStateError) as error:
            reporting.emit("refused", error=repr(error))
            return False
        except KafkaError as error:
            reporting.emit("refused", error=repr(error))
            await asyncio.sleep(reporting.POLL_S)
        else:
            return True


if __name__ == "__main__":
    asyncio.run(main())
