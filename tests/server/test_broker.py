"""A broker's life as its cluster sees it: started, stopped, and back."""

from pathlib import Path

from tests.server.live import Live, running_broker


def leader_epoch(live: Live, topic: str) -> int:
    partition = live.broker.services.controller.image.partition(topic, 0)
    assert partition is not None
    return partition.leader_epoch


async def test_a_broker_that_stopped_cleanly_is_known_to_have_and_leads_on_in_its_epoch(
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
