"""A share partition at its leader: which fetch may read it, and which is woken."""

import asyncio
from functools import partial

from penstock.protocol.errors import ErrorCode
from penstock.share.led_partition import LedPartition
from penstock.share.partition.share_partition import SharePartition
from penstock.share.partition.values import OffsetRange, PartitionSettings
from penstock.share.state.values import SharePartitionKey, ShareState

SETTINGS = PartitionSettings(lock_duration_ms=30_000, delivery_count_limit=5, record_locks_max=100)


def led_partition(*, is_loaded: bool = True) -> LedPartition:
    led = LedPartition(SharePartitionKey("group", b"t" * 16, 0), leader_epoch=5)
    if is_loaded:
        led.begin(SharePartition(ShareState(1, 0), start_offset_if_new=0, settings=SETTINGS))
    return led


def test_reading_is_refused_before_the_load_and_after_the_end() -> None:
    assert not led_partition(is_loaded=False).begin_reading()
    led = led_partition()
    led.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not led.begin_reading()
    assert (led.was_loaded, led.failure) == (True, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_one_reads_at_a_time() -> None:
    led = led_partition()
    assert led.begin_reading()
    assert not led.begin_reading()
    led.end_reading()
    assert led.begin_reading()


def test_reading_is_refused_while_nothing_can_be_acquired() -> None:
    led = led_partition()
    assert led.state is not None
    led.state.acquire(
        "anne", fetch_offset=0, batches=[OffsetRange(0, 99)], records_max=100, batch_size=100, now_ms=0
    )
    assert not led.begin_reading()


def test_a_waiting_reader_is_woken_when_the_active_one_is_done() -> None:
    async def story() -> None:
        led = led_partition()
        new_future = asyncio.get_running_loop().create_future
        reading, kept_out, waiting = new_future(), new_future(), new_future()
        for each in (reading, kept_out, waiting):
            led.watch(each)
        led.begin_reading(reading)
        led.begin_reading(kept_out)
        led.end_reading()
        assert [each.done() for each in (reading, kept_out, waiting)] == [False, True, False]

    asyncio.run(story())


def test_a_removed_watcher_is_not_woken() -> None:
    async def story() -> None:
        led = led_partition()
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        led.watch(waiting)
        led.begin_reading()
        led.begin_reading(waiting)
        led.unwatch(waiting)
        led.end_reading()
        led.wake()
        assert not waiting.done()

    asyncio.run(story())


def _note(looked: list[int], number: int, _done: "asyncio.Future[None]") -> None:
    looked.append(number)


def test_the_longest_waiting_fetch_is_woken_first() -> None:
    looked: list[int] = []

    async def scenario() -> None:
        led = led_partition()
        assert led.begin_reading()
        for number in range(100):
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.add_done_callback(partial(_note, looked, number))
            if number < 50:
                led.begin_reading(waiting)
            else:
                led.watch(waiting)
        led.end_reading()
        led.wake()
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert looked == list(range(100))
