"""Markers for partitions that are led here."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.observability.clock import ManualClock
from penstock.observability.completion import Completion
from penstock.protocol.errors import ErrorCode
from penstock.transactions.guards import Guards
from penstock.transactions.markers import LocalMarkers, Marker
from penstock.transactions.state import TRANSACTION_VERSION_2, TopicPartition

TARGET = TopicPartition("ledger", 0)


class MarkedReplica(Replica):
    """Its log has the marker of epoch 6 at offset 24 already, which is not committed yet."""

    def __init__(self) -> None:
        known = SimpleNamespace(producer_epoch=6, transaction_first_offset=None)
        self._log = cast("Any", SimpleNamespace(producers={3: known}, log_end_offset=25))
        self.high_watermark = 24
        self.waiting: Completion[None] = Completion()

    def committed(self, last_offset: int) -> Completion[None] | None:
        return None if self.high_watermark > last_offset else self.waiting


def test_a_marker_that_is_sent_again_is_answered_when_the_first_is_committed() -> None:
    """Seed 511 of the simulated clusters: its leader died, the marker was gone, and its transaction called complete."""

    async def story() -> None:
        replica = MarkedReplica()
        replicas = cast("Replicas", SimpleNamespace(leader_of=lambda _topic, _partition: replica))
        nothing = cast("CoordinatorPartitions[Any]", SimpleNamespace(topic="__consumer_offsets"))
        markers = LocalMarkers(replicas, ManualClock(), Guards(), nothing)
        marker = Marker(
            producer_id=3,
            producer_epoch=6,
            is_commit=False,
            coordinator_epoch=0,
            transaction_version=TRANSACTION_VERSION_2,
        )
        sending = asyncio.ensure_future(markers.send(marker, [TARGET]))
        await asyncio.sleep(0)
        assert not sending.done()

        replica.high_watermark = 25
        replica.waiting.resolve(None)
        assert await sending == {TARGET: ErrorCode.NONE}
        assert await markers.send(marker, [TARGET]) == {TARGET: ErrorCode.NONE}

    asyncio.run(story())
