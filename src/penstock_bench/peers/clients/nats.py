"""NATS JetStream through nats-py, on uvloop: a stream kept in files, each publish acknowledged by the stream."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import nats
import uvloop
from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig
from nats.js.errors import BadRequestError

from penstock_bench.peers.clients import Client, NotDelivered, stamped
from penstock_bench.peers.tasks import Where

_WAIT_S = 60.0
_ASK_WAIT_S = 10.0  # for a request that a cluster without a leader never answers
_PENDING_MESSAGES = 4_000
_PENDING_BYTES = 16 << 20
_READ_MAX = 1_000
T = TypeVar("T")


class NatsClient(Client):
    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._connection: Any = None
        self._stream: Any = None
        self._subscription: Any = None

    def _connect_publisher(self) -> None:
        if self._connection is not None:
            self._run(self._connection.close())
        self._connection = self._run(
            nats.connect(
                f"nats://{self._addresses[0]}",
                allow_reconnect=False,
                max_reconnect_attempts=1,  # else it would try a dead node for two minutes
                reconnect_time_wait=0,
                connect_timeout=5,
            )
        )
        self._stream = self._connection.jetstream(
            timeout=_ASK_WAIT_S, publish_async_max_pending=_PENDING_MESSAGES
        )

    def create(self) -> None:
        self._connect_publisher()
        name, replicas = self.where.stream, self.where.replicas
        config = StreamConfig(name=name, subjects=[name], storage=StorageType.FILE, num_replicas=replicas)
        self._run(self._stream.add_stream(config))

    def remove(self) -> None:
        self._connect_publisher()
        self._run(self._stream.delete_stream(self.where.stream))

    def first(self) -> None:
        try:
            self.create()
        except BadRequestError as error:
            raise NotDelivered(str(error)) from error
        self.publish_one(b"first")

    def publish_one(self, payload: bytes) -> None:
        self._run(self._stream.publish(self.where.stream, payload, timeout=self._answer_within_s))

    def publish_many(self, payload: bytes, count: int, duration_s: float) -> int:
        return self._run(self._publish_many(payload, count, duration_s))

    def publish_paced(self, size_bytes: int, count: int, interval_s: float) -> None:
        self._run(self._publish_paced(size_bytes, count, interval_s))

    def open_reader(self, group: str) -> None:
        self._connect_publisher()
        config = ConsumerConfig(ack_policy=AckPolicy.NONE)
        name = self.where.stream
        subscription = self._stream.pull_subscribe(name, durable=group or None, stream=name, config=config)
        self._subscription = self._run(subscription)

    def read(self, count: int) -> Iterator[list[bytes]]:
        left = count
        while left:
            messages = self._run(self._subscription.fetch(min(_READ_MAX, left), timeout=_WAIT_S))
            left -= len(messages)
            yield [message.data for message in messages]

    def close(self) -> None:
        if self._connection is not None:
            self._run(self._connection.close())
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    async def _publish_many(self, payload: bytes, count: int, duration_s: float) -> int:
        pending = max(1, min(_PENDING_MESSAGES, _PENDING_BYTES // len(payload)))
        publish = self._connection.jetstream(publish_async_max_pending=pending).publish_async
        name = self.where.stream
        responses: list[asyncio.Future[Any]] = []
        end = time.perf_counter() + duration_s
        while (not count or len(responses) < count) and time.perf_counter() < end:
            responses.append(await publish(name, payload, wait_stall=_WAIT_S))
        await asyncio.wait_for(asyncio.gather(*responses), _WAIT_S)
        return len(responses)

    async def _publish_paced(self, size_bytes: int, count: int, interval_s: float) -> None:
        name, publish = self.where.stream, self._stream.publish_async
        began = time.perf_counter()
        responses = []
        for number in range(count):
            due = began + number * interval_s
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            responses.append(await publish(name, stamped(due, size_bytes), wait_stall=_WAIT_S))
        await asyncio.wait_for(asyncio.gather(*responses), _WAIT_S)
