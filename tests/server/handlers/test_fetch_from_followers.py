"""Consumers that read from a follower (KIP-392) while it follows the next leader after an unclean election."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cluster.fetching.followed_partition import FollowedPartition
from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import set_base_offset_and_epoch
from penstock.storage.log.log import Log
from penstock.storage.log.values import COLD, LogSlice
from tests.server.live import batch, code, running_broker

OTHER = 9


def follow_other(replica: Replica) -> int:
    """Broker 9 leads in the next epoch."""
    state = replica.state
    assert state is not None
    epoch = state.leader_epoch + 1
    replica.follow(
        msgspec.structs.replace(state, replicas=(1, OTHER), isr=(OTHER,), leader=OTHER, leader_epoch=epoch)
    )
    return epoch


@pytest.mark.parametrize("is_replaced", [True, False], ids=["next-leader", "same-leader"])
async def test_an_uncommitted_record_never_replaces_a_truncated_committed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_replaced: bool
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"committed"))
        replica = live.services.replicas.leader_of(topic.name, 0)
        assert isinstance(replica, Replica)
        first_epoch = follow_other(replica)
        read_cold = Log.read_cold

        async def read_when_truncated(log: Log, *args: Any, **limits: Any) -> LogSlice:
            """A read looks at the log again, with the same limits, when it was truncated meanwhile."""
            epoch = follow_other(replica) if is_replaced else first_epoch
            followed = FollowedPartition(replica, live.broker.parts.store)
            await followed.truncate(0)
            records = bytearray(batch(b"not committed"))
            set_base_offset_and_epoch(records, 0, 0, epoch)
            followed.append(bytes(records), live.services.clock.now_ms())
            return await read_cold(log, *args, **limits)

        monkeypatch.setattr(Log, "read", lambda *_, **__: COLD)
        monkeypatch.setattr(Log, "read_cold", read_when_truncated)
        part = await client.fetch(topic)
        assert (code(part.error_code), bytes(part.records or b"")) == ("NOT_LEADER_OR_FOLLOWER", b"")
        assert (replica.log.log_end_offset, replica.high_watermark) == (1, 0)
        await client.close()
