"""Metrics that clients send of themselves (KIP-714): who shall send what, and what they sent last.

A subscription is a configuration resource: names of metrics, an interval, and patterns that choose clients. A client
asks what applies to it, gets an id for that set, and pushes under this id until its broker says that it no longer
holds. What arrives is told to Prometheus with everything else. Clients that fall silent are forgotten.
"""

import random
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

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
"""Of one client: what a client makes up must not fill the memory or the scrape."""
_HELD_BYTES_MAX = 16 * 1024 * 1024
"""Of all clients: names and attributes are theirs to choose, and may be long."""
_SERIES_BYTES = 128  # what each costs besides its text
_CLIENT_ID_MAX = 255
_SILENT_MS_MIN = 60_000

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name and its attributes."""


class Client:
    """One client instance: what it was told to send, and what it has sent."""

    __slots__ = (
        "asked_ms",
        "client_id",
        "error",
        "held_bytes",
        "instance_id",
        "interval_ms",
        "is_terminating",
        "metrics",
        "pushed_ms",
        "seen_ms",
        "software",
        "subscription_id",
        "values",
        "version",
    )

    def __init__(self, instance_id: bytes, client_id: str, software: str) -> None:
        self.instance_id = instance_id
        self.client_id = client_id
        self.software = software
        self.version = -1  # of the subscriptions that the following were worked out from
        self.metrics: tuple[str, ...] = ()
        self.interval_ms = INTERVAL_MS_DEFAULT
        self.subscription_id = 0
        self.asked_ms: float | None = None
        self.pushed_ms: float | None = None
        self.seen_ms = 0.0
        self.error = ErrorCode.NONE
        self.is_terminating = False
        self.held_bytes = 0
        self.values: dict[Series, tuple[str, float]] = {}


class Telemetry:
    def __init__(self, clock: Clock, randomness: random.Random, *, bytes_max: int = _BYTES_MAX) -> None:
        """`bytes_max` is how much a client may push at once."""
        self.bytes_max = bytes_max
        self._clock = clock
        self._random = randomness
        self._subscriptions: dict[str, Subscription] = {}
        self._version = 0
        self._clients: dict[bytes, Client] = {}  # the one seen last stands last
        self._held_bytes = 0

    def follow(self, settings: Mapping[str, Mapping[str, str]]) -> None:
        """Subscriptions changed: from now on these hold, by name."""
        found: dict[str, Subscription] = {}
        for name, values in settings.items():
            try:
                found[name] = parse_subscription(values)
            except ConfigError:  # a newer version may have written what this one does not understand
                continue
        self._subscriptions = found
        self._version += 1

    @property
    def is_wanted(self) -> bool:
        """Whether there is any subscription."""
        return bool(self._subscriptions)

    # -- requests

    def subscribe(self, instance_id: bytes, peer: Peer, client_id: str) -> Client | ErrorCode:
        """What a client shall send. One that asks again too soon, with nothing changed, is told to be patient."""
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
        """Whose metrics these are; they are read with `read_metrics`, which takes long, and given to `keep`."""
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
        """Remember what a client has sent. When that is too much, those who were silent longest are forgotten."""
        if self._clients.get(client.instance_id) is not client:
            return  # it was forgotten while they were read
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
            client = Client(instance_id, client_id[:_CLIENT_ID_MAX], peer.software_name)
        self._clients[instance_id] = client
        client.seen_ms = now_ms
        if client.version != self._version:
            self._evaluate(client, _facts(instance_id, peer, client_id))
        return client

    def _forget_silent(self, now_ms: float) -> None:
        for instance_id, client in list(self._clients.items()):
            is_silent = now_ms - client.seen_ms > max(_SILENT_MS_MIN, 3 * client.interval_ms)
            if is_silent or len(self._clients) >= _CLIENTS_MAX:
                self._clear(self._clients.pop(instance_id))

    def _evaluate(self, client: Client, facts: Mapping[str, str]) -> None:
        chosen = [each for each in self._subscriptions.values() if each.matches(facts)]
        names = {name for each in chosen for name in each.metrics}
        client.metrics = (ALL,) if ALL in names else tuple(sorted(names))
        client.interval_ms = min((INTERVAL_MS_DEFAULT, *(each.interval_ms for each in chosen)))
        told = f"{client.metrics}{client.interval_ms}".encode()
        client.subscription_id = (zlib.crc32(told + client.instance_id) & 0xFFFFFFFF) - 2**31
        client.version = self._version

    # -- what arrived

    def series(self) -> Iterator[tuple[Client, Series, str, float]]:
        """Every value of every client that is not silent: whose, of what, its kind, the value."""
        self._forget_gone()
        for client in self._clients.values():
            for series, (kind, value) in client.values.items():
                yield client, series, kind, value

    def _forget_gone(self) -> None:
        now_ms = self._clock.monotonic_ms()
        gone = [
            instance_id
            for instance_id, client in self._clients.items()
            if client.is_terminating or now_ms - client.seen_ms > max(_SILENT_MS_MIN, 3 * client.interval_ms)
        ]
        for instance_id in gone:
            self._clear(self._clients[instance_id])


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
    """What a push carries, as far as it is looked at. Raises `NotOtlp` or `ProtocolError`."""
    return list(islice(parse(decompress(Codec(codec), metrics, bytes_max)), _POINTS_READ_MAX))


def _size_bytes(client: Client, series: Series) -> int:
    """What a series costs in a scrape, where the client's names stand beside each, and about the same in memory."""
    name, attributes = series
    return _SERIES_BYTES + len(client.client_id) + len(name) + sum(len(k) + len(v) for k, v in attributes)
