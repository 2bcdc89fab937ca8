import asyncio
import time

from penstock.observability.loop_lag import LoopLag


def test_a_blocked_loop_is_measured() -> None:
    asyncio.run(_hold_the_loop())


async def _hold_the_loop() -> None:
    lag = LoopLag()
    lag.start()
    time.sleep(0.25)  # longer than the timer: it fires at least so late
    while not lag.seconds.count:
        await asyncio.sleep(0.01)
    lag.stop()
    assert lag.seconds.total >= 0.1
