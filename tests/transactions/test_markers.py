"""Markers for partitions that are led here."""

import asyncio
from pathlib import Path

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.transactions.markers import Marker
from penstock.transactions.state import TRANSACTION_VERSION_2, TopicPartition
from tests.server.live import batch, running_broker
from tests.storage.logs import AnyTransaction


def test_a_resent_marker_is_answered_when_the_first_is_committed(tmp_path: Path) -> None:
    """Seed 511 of the simulated clusters: its leader died, the marker was gone, and its transaction called complete."""

    async def story() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            name = (await client.create_topic()).name
            await client.close()
            leader = live.services.replicas.leader_of(name, 0)
            assert isinstance(leader, Replica)
            records = batch(b"v", producer_id=3, epoch=5, sequence=0, is_transactional=True)
            leader.append(
                bytearray(records),
                live.services.clock.now_ms(),
                leader_epoch=leader.leader_epoch,
                permit=AnyTransaction(leader.leader_epoch),
            )
            target = TopicPartition(name, 0)
            marker = Marker(
                producer_id=3,
                producer_epoch=6,
                is_commit=False,
                coordinator_epoch=0,
                transaction_version=TRANSACTION_VERSION_2,
            )
            committed_at_response: list[int] = []

            async def send() -> None:
                assert await live.services.markers.send(marker, [target]) == {target: ErrorCode.NONE}
                committed_at_response.append(leader.high_watermark)

            await asyncio.gather(send(), send(), send())
            assert leader.log.log_end_offset == 2  # it was written once
            assert committed_at_response == [2, 2, 2]

    asyncio.run(story())
