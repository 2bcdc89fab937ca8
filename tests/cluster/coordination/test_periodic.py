import asyncio
import logging

import pytest

from penstock.cluster.coordination.periodic import PeriodicTasks
from penstock.runtime.clock import ManualClock


def test_a_task_runs_at_its_interval_even_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        clock, runs = ManualClock(), []
        tasks = PeriodicTasks(clock)

        def work() -> None:
            runs.append(clock.now_ms())
            if len(runs) == 1:
                raise OSError("no room")

        tasks.start("sweep", lambda: 100, work)
        for _ in range(3):
            await asyncio.sleep(0)
            clock.advance(100)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await tasks.stop()

        assert len(runs) == 3
        assert [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR] == [
            "A periodic task failed. task=sweep retry_ms=100"
        ]

    asyncio.run(scenario())
