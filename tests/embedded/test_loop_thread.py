import asyncio
import sys

import pytest

from penstock.embedded import Broker
from penstock.embedded.loop_thread import new_event_loop


def test_the_loop_is_uvloops_if_it_is_installed() -> None:
    loop = new_event_loop()
    assert "uvloop" in type(loop).__module__
    loop.close()


def test_a_broker_runs_without_uvloop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)  # as if it could not be imported
    with Broker(topics={"orders": 1}) as broker:
        thread = broker.node._thread
        assert thread is not None
        assert isinstance(thread.loop, asyncio.SelectorEventLoop)
        broker.topic("orders").produce(b"one")
        broker.kill()
        broker.restart()
        broker.topic("orders").assert_values([b"one"])
