"""Share groups that begin anew while a member of before, which has left, is still connected."""

from collections.abc import Awaitable, Callable

import pytest

from tests.groups.group_client import unique_group
from tests.groups.services.share.members import ShareConsumer, group_of
from tests.server.handlers.share_support import Member, acquired, led, partitions_of
from tests.server.handlers.test_share_fetch_settings import set_for
from tests.server.live import Client, Live, batch, code, until


async def delete_group(consumer: ShareConsumer) -> None:
    assert await consumer.delete_group() == "NONE"


async def delete_offsets(consumer: ShareConsumer) -> None:
    assert code((await consumer.delete_offsets(consumer.topics[0].name)).error_code) == "NONE"


async def set_offsets(consumer: ShareConsumer) -> None:
    assert code((await consumer.alter(consumer.topics[0].name, {0: 0})).error_code) == "NONE"


async def delete_offsets_and_set_them(consumer: ShareConsumer) -> None:
    await delete_offsets(consumer)
    await set_offsets(consumer)


async def delete_group_and_set_offsets(consumer: ShareConsumer) -> None:
    await delete_group(consumer)
    await set_offsets(consumer)


@pytest.mark.parametrize(
    "begin_anew",
    [
        delete_group,
        delete_offsets,
        set_offsets,
        delete_offsets_and_set_them,
        delete_group_and_set_offsets,
    ],
)
async def test_a_recreated_group_does_not_continue_from_its_old_state(
    live: Live, client: Client, begin_anew: Callable[[ShareConsumer], Awaitable[None]]
) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(*[b"v"] * 5))
    consumer = await ShareConsumer(client, unique_group(), "m1", topic).find()
    await set_for(client, consumer.group, {"share.auto.offset.reset": "earliest"})
    for begin in (consumer.alter(topic.name, {0: 0}), consumer.join()):
        assert code((await begin).error_code) == "NONE"
    connected = await live.connect()
    before = Member(connected, consumer.group, topic, "m1")
    await before.take()
    assert await before.done_with(0, 4) == 0
    await consumer.leave()

    await begin_anew(consumer)
    await ShareConsumer(client, consumer.group, "m2", topic).join()
    stale = led(live, consumer.group, topic)
    after = Member(client, consumer.group, topic, "m2")
    await after.fetch()
    await until(lambda: bool(stale.failure))

    taken = partitions_of(await after.fetch(max_wait_ms=100_000))
    assert acquired(taken[0]) == [(0, 4, 1)]
    await connected.close()


async def test_a_member_that_joins_an_active_group_does_not_disturb_it(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v"))
    consumer = await ShareConsumer(client, unique_group(), "m1", topic).find()
    await set_for(client, consumer.group, {"share.auto.offset.reset": "earliest"})
    await consumer.join()
    first = Member(client, consumer.group, topic, "m1")
    await first.take()
    await ShareConsumer(client, consumer.group, "m2", topic).join()

    await Member(client, consumer.group, topic, "m2").fetch(max_wait_ms=100)

    assert await first.done_with(0, 0) == 0


async def test_the_epochs_of_a_recreated_group_continue_after_those_of_the_deleted_one(
    live: Live, consumer: ShareConsumer
) -> None:
    await consumer.join()
    await consumer.leave()
    epoch = group_of(live, consumer.group).epoch
    await delete_group(consumer)
    shard = live.services.groups.find(consumer.group)
    live.services.groups.shards._reload(shard)  # type: ignore[arg-type]  # as on another broker
    await consumer.find()

    assert (await consumer.join()).member_epoch > epoch
