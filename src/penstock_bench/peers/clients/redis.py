"""Redis Streams through redis-py with the parser in C (hiredis): XADD, XREAD, XREADGROUP."""

import time
from collections.abc import Iterator
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from penstock_bench.peers.clients import Client, NotDelivered, stamped
from penstock_bench.peers.tasks import Where

_WAIT_S = 60.0
_FIELD = b"v"
_READ_MAX = 1_000
# Longer pipelines are not faster, and 64 KiB messages must not fill the client's memory.
_PIPELINE_MESSAGES = 500
_PIPELINE_BYTES = 1 << 20


class RedisClient(Client):
    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._redis: Any = redis.Redis(
            host=where.host, port=where.port, socket_timeout=_WAIT_S, retry=Retry(NoBackoff(), 0)
        )
        self._group = ""
        self._last: bytes | str = "0"

    def create(self) -> None:
        """Nothing to do: the first XADD makes the stream."""
        self._redis.ping()

    def remove(self) -> None:
        self._redis.delete(self.where.stream)

    def first(self) -> None:
        self._redis.xadd(self.where.stream, {_FIELD: b"first"})

    def _connect_publisher(self) -> None:
        self._redis.ping()

    def publish_one(self, payload: bytes) -> None:
        self._redis.xadd(self.where.stream, {_FIELD: payload})

    def publish_many(self, payload: bytes, count: int, duration_s: float) -> int:
        trip = max(1, min(_PIPELINE_MESSAGES, _PIPELINE_BYTES // len(payload)))
        fields = {_FIELD: payload}
        stream = self.where.stream
        end = time.perf_counter() + duration_s
        acknowledged = 0
        while (not count or acknowledged < count) and time.perf_counter() < end:
            pipeline = self._redis.pipeline(transaction=False)
            for _ in range(min(trip, count - acknowledged) if count else trip):
                pipeline.xadd(stream, fields)
            acknowledged += len(pipeline.execute())  # raises when one was refused
        return acknowledged

    def publish_paced(self, size_bytes: int, count: int, interval_s: float) -> None:
        """One at a time: when an answer takes longer than the interval, those that are due go together."""
        began = time.perf_counter()
        number = 0
        while number < count:
            if (early := began + number * interval_s - time.perf_counter()) > 0:
                time.sleep(early)
            due_count = min(count, int((time.perf_counter() - began) / interval_s) + 1)
            pipeline = self._redis.pipeline(transaction=False)
            for each in range(number, max(due_count, number + 1)):
                pipeline.xadd(self.where.stream, {_FIELD: stamped(began + each * interval_s, size_bytes)})
            number += len(pipeline.execute())

    def open_reader(self, group: str) -> None:
        self._group = group
        if group:
            self._redis.xgroup_create(self.where.stream, group, id="0", mkstream=True)

    def read(self, count: int) -> Iterator[list[bytes]]:
        left = count
        while left:
            response = self._read_some(min(_READ_MAX, left))
            if not response:
                raise NotDelivered(f"{left} messages of {count} did not arrive")
            entries = response[0][1]
            self._last = entries[-1][0]
            left -= len(entries)
            yield [fields[_FIELD] for _, fields in entries]

    def close(self) -> None:
        self._redis.close()

    def _read_some(self, count: int) -> Any:
        block_ms = int(_WAIT_S * 500)
        stream = self.where.stream
        if not self._group:
            return self._redis.xread({stream: self._last}, count=count, block=block_ms)
        return self._redis.xreadgroup(
            self._group, "one", {stream: ">"}, count=count, block=block_ms, noack=True
        )
