import asyncio
import threading

import pytest

from penstock.runtime.offload import InlineOffload, ThreadOffload


def test_work_runs_on_another_thread_and_gives_its_result() -> None:
    async def scenario() -> None:
        offload = ThreadOffload(2, "worker")
        assert await offload.run(lambda: 41 + 1) == 42
        name = await offload.run(lambda: threading.current_thread().name)
        assert name.startswith("worker-")
        offload.close()

    asyncio.run(scenario())


def test_an_exception_of_the_work_is_raised_in_the_waiter() -> None:
    async def scenario() -> None:
        offload = ThreadOffload(1, "worker")

        def fail() -> None:
            raise OSError(5, "broken")

        with pytest.raises(OSError, match="broken"):
            await offload.run(fail)
        assert await offload.run(lambda: "continues") == "continues"
        offload.close()

    asyncio.run(scenario())


def test_work_runs_concurrently_up_to_the_bound() -> None:
    async def scenario() -> None:
        offload = ThreadOffload(2, "worker")
        meeting = threading.Barrier(2, timeout=30)
        await asyncio.gather(offload.run(meeting.wait), offload.run(meeting.wait))
        names = await asyncio.gather(
            *(offload.run(lambda: threading.current_thread().name) for _ in range(20))
        )
        assert len(set(names)) <= 2
        offload.close()

    asyncio.run(scenario())


def test_closing_waits_for_running_work() -> None:
    async def scenario() -> None:
        offload = ThreadOffload(1, "worker")
        finished: list[int] = []
        gate = threading.Event()

        def work() -> None:
            gate.wait(30)
            finished.append(1)

        started = offload.start(work)
        gate.set()
        offload.close()
        assert finished == [1]
        await started

    asyncio.run(scenario())


def test_a_cancelled_waiter_does_not_affect_the_rest() -> None:
    async def scenario() -> None:
        offload = ThreadOffload(1, "worker")
        gate = threading.Event()
        offload.start(lambda: gate.wait(30)).cancel()
        gate.set()
        assert await offload.run(lambda: 1) == 1
        offload.close()

    asyncio.run(scenario())


def test_inline_work_is_done_before_anything_else() -> None:
    async def scenario() -> None:
        offload = InlineOffload()
        assert offload.start(lambda: 1).result() == 1
        assert await offload.run(lambda: 2) == 2

        def fail() -> None:
            raise OSError(5, "broken")

        with pytest.raises(OSError, match="broken"):
            await offload.start(fail)

    asyncio.run(scenario())
