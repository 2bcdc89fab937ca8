"""RabbitMQ through pika: a durable queue, persistent messages, publisher confirms.

The blocking connection waits for each confirm; many at once go through pika's connection with callbacks, with a bounded
number unconfirmed. Readers acknowledge automatically, which is cheapest for the broker: reading
removes a message.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pika

from penstock_bench.peers.clients import Client, NotDelivered, stamped
from penstock_bench.peers.tasks import Where

_WAIT_S = 60.0
_PERSISTENT = pika.BasicProperties(delivery_mode=2)
_UNCONFIRMED_MESSAGES = 2_000
_UNCONFIRMED_BYTES = 16 << 20
_AT_ONCE = 100


class RabbitClient(Client):
    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._connection: Any = None
        self._channel: Any = None
        self._queue = where.stream
        # Several groups: an exchange that copies to the queue of each.
        self._exchange, self._key = (where.stream, "") if where.groups else ("", where.stream)

    def create(self) -> None:
        channel = self._open()
        arguments = self.where.options
        if not self.where.groups:
            channel.queue_declare(self._queue, durable=True, arguments=arguments)
            return
        channel.exchange_declare(self._exchange, "fanout", durable=True)
        for queue in self._group_queues():
            channel.queue_declare(queue, durable=True, arguments=arguments)
            channel.queue_bind(queue, self._exchange)

    def remove(self) -> None:
        channel = self._open()
        for queue in self._group_queues() or [self._queue]:
            channel.queue_delete(queue)
        if self.where.groups:
            channel.exchange_delete(self._exchange)

    def first(self) -> None:
        self.create()
        self._channel.confirm_delivery()
        self.publish_one(b"first")

    def _connect_publisher(self) -> None:
        self._open().confirm_delivery()

    def publish_one(self, payload: bytes) -> None:
        # Raises when it was refused or could not be routed.
        self._channel.basic_publish(self._exchange, self._key, payload, _PERSISTENT, mandatory=True)

    def publish_many(self, payload: bytes, count: int, duration_s: float) -> int:
        window = max(1, min(_UNCONFIRMED_MESSAGES, _UNCONFIRMED_BYTES // len(payload)))
        end = time.perf_counter() + duration_s

        def next_payload(number: int) -> tuple[bytes | None, float]:
            is_over = (count and number >= count) or time.perf_counter() >= end
            return (None if is_over else payload), 0.0

        return _Publishing(self._parameters, self._exchange, self._key, window, next_payload).run()

    def publish_paced(self, size_bytes: int, count: int, interval_s: float) -> None:
        began = time.perf_counter()

        def next_payload(number: int) -> tuple[bytes | None, float]:
            due = began + number * interval_s
            early = due - time.perf_counter()
            return (stamped(due, size_bytes) if number < count else None), early

        _Publishing(self._parameters, self._exchange, self._key, count, next_payload).run()

    def open_reader(self, group: str) -> None:
        self._open()
        if group:
            self._queue = f"{self.where.stream}-{group}"

    def read(self, count: int) -> Iterator[list[bytes]]:
        left = count
        for method, _, body in self._channel.consume(self._queue, auto_ack=True, inactivity_timeout=_WAIT_S):
            if method is None:
                raise NotDelivered(f"{left} messages of {count} did not arrive")
            left -= 1
            yield [body]
            if not left:
                return

    def close(self) -> None:
        if self._connection is not None and self._connection.is_open:
            self._connection.close()

    @property
    def _parameters(self) -> Any:
        host, _, port = self._addresses[0].partition(":")
        return pika.ConnectionParameters(host, int(port), heartbeat=0)

    def _open(self) -> Any:
        self._connection = pika.BlockingConnection(self._parameters)
        self._channel = self._connection.channel()
        return self._channel

    def _group_queues(self) -> list[str]:
        return [f"{self.where.stream}-group-{number}" for number in range(self.where.groups)]


class _Publishing:
    """Publishes the results of `next_payload`: a payload (None: no more) and the delay before it."""

    def __init__(
        self,
        parameters: Any,
        exchange: str,
        key: str,
        window: int,
        next_payload: Callable[[int], tuple[bytes | None, float]],
    ) -> None:
        self._exchange, self._key, self._window = exchange, key, window
        self._next_payload = next_payload
        self._sent = 0
        self._unconfirmed: dict[int, None] = {}  # tags, in order
        self._is_over = self._is_scheduled = False
        self._failure = ""
        self._channel: Any = None
        self._connection: Any = pika.SelectConnection(
            parameters,
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._on_channel),
            on_open_error_callback=lambda _, error: self._stop(str(error)),
            on_close_callback=lambda _, __: self._connection.ioloop.stop(),
        )

    def run(self) -> int:
        self._connection.ioloop.start()
        if self._failure:
            raise NotDelivered(self._failure)
        return self._sent

    def _on_channel(self, channel: Any) -> None:
        self._channel = channel
        channel.confirm_delivery(self._on_confirm, callback=lambda _: self._publish())
        channel.add_on_close_callback(lambda _, error: None if self._is_over else self._stop(str(error)))

    def _publish(self) -> None:
        """Publish a few messages at a time, so that confirms are handled in between."""
        self._is_scheduled = False
        for _ in range(_AT_ONCE):
            if self._is_over or len(self._unconfirmed) >= self._window:
                break
            payload, early_s = self._next_payload(self._sent)
            if payload is None:
                self._is_over = True
                break
            if early_s > 0:
                self._schedule(early_s)
                return
            self._channel.basic_publish(self._exchange, self._key, payload, _PERSISTENT)
            self._sent += 1
            self._unconfirmed[self._sent] = None  # the broker counts from 1, too
        else:
            self._schedule(0)
        self._end_if_done()

    def _schedule(self, delay_s: float) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._connection.ioloop.call_later(delay_s, self._publish)

    def _on_confirm(self, frame: Any) -> None:
        method = frame.method
        if not isinstance(method, pika.spec.Basic.Ack):
            self._stop("a message was refused")
            return
        if method.multiple:
            while self._unconfirmed and (first := next(iter(self._unconfirmed))) <= method.delivery_tag:
                del self._unconfirmed[first]
        else:
            del self._unconfirmed[method.delivery_tag]
        self._schedule(0)
        self._end_if_done()

    def _end_if_done(self) -> None:
        if self._is_over and not self._unconfirmed and self._connection.is_open:
            self._connection.close()

    def _stop(self, failure: str) -> None:
        self._failure = failure
        self._connection.ioloop.stop()
