"""Client metrics (KIP-714): the subscriptions of clients, and the last values that they pushed.

A subscription is a configuration resource: names of metrics, an interval, and patterns that select clients. A client
asks for its subscription, gets an id for it, and pushes under this id until its broker rejects the id as outdated. The
values are exported to Prometheus with all other metrics. Clients that fall silent are removed.
"""

import random
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from penstock.cluster.controller.identifiers import new_uuid
from penstock.config.client_metrics import Subscription, parse_subscription
from penstock.config.property import ConfigError
from penstock.config.settings.client_metrics import INTERVAL_MS_DEFAULT
from penstock.observability.otlp import Point, parse
from penstock.protocol.compression import Codec, decompress
from penstock.protocol.errors import ErrorCode
from penstock.protocol.wire import ZERO_UUID
from penstock.runtime.clock import Clock
from penstock.server.connections import Peer

ALL = "*"
_BYTES_MAX = 1024 * 1024
ACCEPTED_CODECS = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
_CLIENTS_MAX = 1000
_POINTS_MAX = 500
_POINTS_READ_MAX = 4 * _POINTS_MAX
"""Per client: invented series must not fill the memory or the scrape."""
_HELD_BYTES_MAX = 16 * 1024 * 1024
"""For all clients: clients choose names and attributes, which may be long."""
_SERIES_BYTES = 128  # the size of a series without its text
_CLIENT_ID_MAX = 255
_SILENT_MS_MIN = 60_000

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name and its attributes."""


class Client(msgspec.Struct, eq=False):
    """One client instance: its subscription, and the values that it has pushed."""

    instance_id: bytes
    client_id: str
    version: int = -1  # of the subscriptions that the following fields are derived from
    metrics: tuple[str, ...] = ()
    interval_ms: int = INTERVAL_MS_DEFAULT
    subscription_id: int = 0
    asked_ms: float | None = None
    pushed_ms: float | None = None
    seen_ms: float = 0.0
    error: ErrorCode = ErrorCode.NONE
    is_terminating: bool = False
    held_bytes: int = 0
    values: dict[Series, tuple[str, float]] = msgspec.field(default_factory=dict)

    def is_silent(self, now_ms: float) -> bool:
        return now_ms - self.seen_ms > max(_SILENT_MS_MIN, 3 * self.interval_ms)


class Telemetry:
    def __init__(self, clock: Clock, randomness: random.Random, *, bytes_max: int = _BYTES_MAX) -> None:
        """`bytes_max` is the maximum size of one push."""
        self.bytes_max = bytes_max
        self._clock = clock
        self._random = randomness
        self._subscriptions: dict[str, Subscription] = {}
        self._version = 0
        self._clients: dict[bytes, Client] = {}  # the most recently seen client is last
        self._held_bytes = 0

    def follow(self, settings: Mapping[str, Mapping[str, str]]) -> None:
        """Subscriptions changed: these apply from now on, by name."""
        found: dict[str, Subscription] = {}
        for name, values in settings.items():
            try:
                found[name] = parse_subscription(values)
            except ConfigError:  # a newer version may have written a setting unknown to this one
                continue
        self._subscriptions = found
        self._version += 1

    @property
    def is_wanted(self) -> bool:
        """Whether there is any subscription."""
        return bool(self._subscriptions)

    # -- requests

    def subscribe(self, instance_id: bytes, peer: Peer, client_id: str) -> Client | ErrorCode:
        """The subscription of a client. A client that asks again too soon, with nothing changed, is throttled."""
        if instance_id == ZERO_UUID:
            instance_id = new_uuid(self._random)
        known_version = self._clients[instance_id].version if instance_id in self._clients else -1
        client = self._client(instance_id, peer, client_id)
        now_ms = self._clock.monotonic_ms()
        is_early = client.asked_ms is not None and now_ms - client.asked_ms < client.interval_ms
        may_repeat = client.error in (
            ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        )
        if is_early and known_version == client.version and not may_repeat:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        client.asked_ms = now_ms
        client.error = ErrorCode.NONE
        return client

    def begin_push(
        self,
        peer: Peer,
        client_id: str,
        *,
        instance_id: bytes,
        subscription_id: int,
        is_terminating: bool,
        codec: int,
        size_bytes: int,
    ) -> Client | ErrorCode:
        """The client of a push, or an error; `read_metrics` reads its metrics, which takes long, for `keep`."""
        if instance_id == ZERO_UUID:
            return ErrorCode.INVALID_REQUEST
        client = self._client(instance_id, peer, client_id)
        client.error = self._refusal(
            client, subscription_id, codec, size_bytes, is_terminating=is_terminating
        )
        client.is_terminating = client.is_terminating or is_terminating
        return client.error or client

    def _refusal(
        self, client: Client, subscription_id: int, codec: int, size_bytes: int, *, is_terminating: bool
    ) -> ErrorCode:
        if client.is_terminating:
            return ErrorCode.INVALID_REQUEST
        now_ms = self._clock.monotonic_ms()
        is_early = client.pushed_ms is not None and now_ms - client.pushed_ms < client.interval_ms
        may_be_early = client.asked_ms is not None and client.asked_ms > (client.pushed_ms or 0)
        if is_early and not may_be_early and not is_terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        client.pushed_ms = now_ms
        if subscription_id != client.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if codec not in (Codec.NONE, *ACCEPTED_CODECS):
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if size_bytes > self.bytes_max:
            return ErrorCode.TELEMETRY_TOO_LARGE
        return ErrorCode.NONE

    def keep(self, client: Client, points: Iterable[Point]) -> None:
        """Store the points that a client has pushed. Above the limit, clients silent for longest are removed."""
        if self._clients.get(client.instance_id) is not client:
            return  # it was removed while they were read
        for point in points:
            series = (point.name, point.attributes)
            if series not in client.values:
                if len(client.values) >= _POINTS_MAX:
                    continue
                size_bytes = _size_bytes(client, series)
                if not self._has_room(client, size_bytes):
                    break
                client.held_bytes += size_bytes
                self._held_bytes += size_bytes
            before = client.values[series][1] if point.is_delta and series in client.values else 0.0
            client.values[series] = (point.kind, before + point.value)

    def _has_room(self, client: Client, size_bytes: int) -> bool:
        for other in self._clients.values():
            if self._held_bytes + size_bytes <= _HELD_BYTES_MAX:
                break
            if other is not client:
                self._clear(other)
        return self._held_bytes + size_bytes <= _HELD_BYTES_MAX

    def _clear(self, client: Client) -> None:
        client.values.clear()
        self._held_bytes -= client.held_bytes
        client.held_bytes = 0

    # -- clients

    def _client(self, instance_id: bytes, peer: Peer, client_id: str) -> Client:
        client = self._clients.pop(instance_id, None)
        now_ms = self._clock.monotonic_ms()
        if client is None:
            self._forget_silent(now_ms)
            client = Client(instance_id, client_id[:_CLIENT_ID_MAX])
        self._clients[instance_id] = client
        client.seen_ms = now_ms
        if client.version != self._version:
            self._evaluate(client, _facts(instance_id, peer, client_id))
        return client

    def _forget_silent(self, now_ms: float) -> None:
        for instance_id, client in list(self._clients.items()):
            if client.is_silent(now_ms) or len(self._clients) >= _CLIENTS_MAX:
                self._clear(self._clients.pop(instance_id))

    def _evaluate(self, client: Client, facts: Mapping[str, str]) -> None:
        chosen = [each for each in self._subscriptions.values() if each.matches(facts)]
        names = {name for each in chosen for name in each.metrics}
        client.metrics = (ALL,) if ALL in names else tuple(sorted(names))
        client.interval_ms = min((INTERVAL_MS_DEFAULT, *(each.interval_ms for each in chosen)))
        subscription = f"{client.metrics}{client.interval_ms}".encode()
        client.subscription_id = (zlib.crc32(subscription + client.instance_id) & 0xFFFFFFFF) - 2**31
        client.version = self._version

    # -- values

    def series(self) -> Iterator[tuple[Client, Series, str, float]]:
        """Every value of every client that is not silent: client, series, kind, value."""
        now_ms = self._clock.monotonic_ms()
        for client in self._clients.values():
            if client.is_terminating or client.is_silent(now_ms):
                self._clear(client)
            for series, (kind, value) in client.values.items():
                yield client, series, kind, value


def _facts(instance_id: bytes, peer: Peer, client_id: str) -> dict[str, str]:
    return {
        "client_instance_id": instance_id.hex(),
        "client_id": client_id,
        "client_software_name": peer.software_name,
        "client_software_version": peer.software_version,
        "client_source_address": peer.host,
        "client_source_port": str(peer.port),
    }


def read_metrics(codec: int, metrics: bytes, bytes_max: int = _BYTES_MAX) -> list[Point]:
    """The points of a push, up to the limit. Raises `NotOtlp` or `ProtocolError`."""
    return list(islice(parse(decompress(Codec(codec), metrics, bytes_max)), _POINTS_READ_MAX))


def _size_bytes(client: Client, series: Series) -> int:
    """The size of a series in a scrape, where the client's names are repeated for each, and roughly in memory."""
    name, attributes = series
    return _SERIES_BYTES + len(client.client_id) + len(name) + sum(len(k) + len(v) for k, v in attributes)
