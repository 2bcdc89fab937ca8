"""A broker inside a Python process: for tests, notebooks and programs that need no other.

    with Broker(topics={"orders": 3}) as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})

It listens on a free port of the loopback interface, and runs on a thread of its own.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from typing import Literal, Self, TypeVar

from penstock.embedded.node import Node
from penstock.embedded.places import Directory, Memory, Place
from penstock.embedded.temporary import TemporaryDirectory
from penstock.observability.clock import SystemClock

T = TypeVar("T")
Setting = str | int | float | bool
Storage = Literal["memory", "temporary"]

DEFAULTS: Mapping[str, Setting] = {
    "group.initial.rebalance.delay.ms": 0,  # nobody waits three seconds for members that will not come
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}


class Broker:
    """`config` has Kafka's names. `storage` is "memory", of which nothing outlives the process, or "temporary", a
    directory that is removed in the end; `directory` names one that stays.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, Setting] | None = None,
        storage: Storage = "memory",
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self._settings = {name: render(value) for name, value in {**DEFAULTS, **(config or {})}.items()}
        self._storage = storage
        self._directory = directory
        self._temporary: TemporaryDirectory | None = None
        self._node: Node | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given to connect to."""
        assert self._node is not None, (
            "the broker is not started: use it in a `with` statement, or call start()"
        )
        return self._node.address

    def start(self) -> Self:
        place: Place
        if self._directory is not None:
            place = Directory(os.path.abspath(self._directory))
        elif self._storage == "temporary":
            self._temporary = TemporaryDirectory()
            place = Directory(os.path.join(self._temporary.path, "data"))
        else:
            place = Memory(SystemClock())
        self._node = Node(1, place, self._settings, SystemClock())
        self._node.start()
        return self

    def stop(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            if self._directory is not None:
                node.stop()
            node.close()
        if self._temporary is not None:
            self._temporary.remove()
            self._temporary = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await beside_loop(self.start)

    async def __aexit__(self, *_: object) -> None:
        await beside_loop(self.stop)


def render(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def beside_loop(work: Callable[[], T]) -> T:
    """Run something that blocks on a thread of its own: the host's loop goes on, and keeps no thread of ours."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            loop.call_soon_threadsafe(_fail, done, error)
        else:
            loop.call_soon_threadsafe(_finish, done, result)

    threading.Thread(target=run, name="penstock-embedded", daemon=True).start()
    return await asyncio.shield(done)


def _finish(done: "asyncio.Future[T]", result: T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: "asyncio.Future[T]", error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
