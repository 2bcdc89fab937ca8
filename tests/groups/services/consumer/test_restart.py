"""KIP-848 groups in the log: what a restart finds."""

from pathlib import Path

from tests.groups.services.consumer.members import SETTINGS, Consumer, beat_until_stable, group_of
from tests.server.live import TopicHandle, code, running_broker


async def test_members_continue_unchanged_after_a_restart(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=4)
        first = await Consumer(client, "g", "m1", topic).find()
        second = Consumer(client, "g", "m2", topic)
        await first.join()
        await second.join(subscribed_topic_regex=topic.name, subscribed_topic_names=[])
        await beat_until_stable(first, second)
        before = await first.describe()
    async with running_broker(tmp_path, SETTINGS) as live:
        first.client = second.client = await live.connect()
        await first.find()

        assert await first.describe() == before
        assert (await first.beat()).assignment is None
        assert (await second.beat()).assignment is None


async def test_a_restarted_coordinator_finds_topics_created_meanwhile_that_match_a_pattern(
    tmp_path: Path,
) -> None:
    """Another broker may lead the group's partition while topics are created: this one's state is older then."""
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        await client.create_topic(name="t-1")
        consumer = await Consumer(client, "g", "m1").find()
        await consumer.join(subscribed_topic_regex="t-.", subscribed_topic_names=[])
        group_of(live).regexes.clear()  # so that it does not hear of the next
        await client.create_topic(name="t-2")
    async with running_broker(tmp_path, SETTINGS) as live:
        consumer.client = await live.connect()
        await consumer.find()
        await beat_until_stable(consumer)

        assert len(consumer.held) == 2


async def test_a_group_is_unchanged_when_its_record_is_too_large_for_the_log(
    consumer: Consumer, topic: TopicHandle
) -> None:
    names = [f"{topic.name}-{number:0200}" for number in range(6000)]
    answer = await consumer.join(subscribed_topic_names=names)
    assert code(answer.error_code) == "UNKNOWN_SERVER_ERROR"

    async def is_loaded() -> bool:
        return code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"

    for _ in range(100):
        if await is_loaded():
            break
    assert await is_loaded()
    assert code((await consumer.join()).error_code) == "NONE"
