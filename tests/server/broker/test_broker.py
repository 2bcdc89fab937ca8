"""A broker's life as its cluster sees it: started, stopped, and back."""

import os
import stat
from pathlib import Path

import pytest

from tests.server.live import Live, batch, running_broker


def leader_epoch(live: Live, topic: str) -> int:
    partition = live.broker.services.controller.image.partition(topic, 0)
    assert partition is not None
    return partition.leader_epoch


async def test_a_broker_keeps_its_leader_epoch_after_a_clean_stop_and_not_after_a_crash(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = (await client.create_topic()).name
        await client.close()
        assert leader_epoch(live, topic) == 0
    async with running_broker(tmp_path) as live:
        assert leader_epoch(live, topic) == 0
    (tmp_path / ".kafka_cleanshutdown").unlink()  # as if it had crashed
    async with running_broker(tmp_path) as live:
        assert leader_epoch(live, topic) == 1


async def test_the_data_directory_is_readable_by_its_owner_only_whatever_the_umask(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)  # as an earlier version left it
    before = os.umask(0)
    try:
        for _ in range(2):
            async with running_broker(data) as live:
                client = await live.connect()
                topic = await client.create_topic(partitions=2)
                await client.produce(topic, batch(b"secret"))
                await client.close()
    finally:
        os.umask(before)
    found = {str(each): stat.S_IMODE(each.stat().st_mode) for each in (data, *data.rglob("*"))}
    assert len(found) > 10
    assert {path: mode for path, mode in found.items() if mode & 0o077} == {}
    assert caplog.text.count("Changed the mode of") == 1
