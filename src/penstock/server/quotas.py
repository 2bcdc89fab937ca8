"""Quota enforcement: each request is charged to its sender's account, and a sender above its quota is throttled.

As in Kafka the response is sent at once and contains the wait (`throttle_time_ms`); the connection is not read for that
long, so a client that ignores it is slowed down as well. A fetch that exceeds its quota is answered without records,
and is not charged.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.property import INT_MAX
from penstock.config.settings import network, security
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock
from penstock.security.quotas import entities
from penstock.security.quotas.entities import Entity, Share, share_of
from penstock.security.quotas.rates import SampledRate, TokenBucket
from penstock.server.connections import Peer

_PRODUCE = 0
_ACCOUNTS_MAX = 10_000
"""Client ids are the clients' choice: unused accounts are evicted for new ones."""
_CLIENT_ID_MAX = 255
"""Longer ids are replaced by their digest: an id may have 32 kB."""

Quotas = Mapping[Entity, Mapping[str, float]]
_Account = tuple[str, str | None, str | None]


class Charged(Protocol):
    """Per-request quota charge: the cost of a request, and the client that is charged."""

    peer: Peer
    client_id: str
    request_bytes: int
    busy_ms: float


class QuotaKeeper:
    """The accounts of one broker. `is_active` is false while no quota is set: then nothing is counted."""

    def __init__(self, current_config: Callable[[], BrokerConfig], clock: Clock) -> None:
        self._clock = clock
        self._current_config = current_config
        config = current_config()
        self._sample_count = config[security.QUOTA_WINDOW_NUM]
        self._sample_ms = 1000 * config[security.QUOTA_WINDOW_SIZE_SECONDS]
        self._burst_seconds = float(
            config[security.CONTROLLER_QUOTA_WINDOW_NUM]
            * config[security.CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS]
        )
        self._quotas: Quotas = {}
        self._rates: dict[_Account, SampledRate] = {}
        self._buckets: dict[_Account, TokenBucket] = {}
        self._shares: dict[_Account, Share | None] = {}
        self.is_active = False

    def follow(self, quotas: Quotas) -> None:
        """Quotas changed: the new ones apply from now on. The usage recorded so far is kept."""
        self._quotas = {entity: dict(values) for entity, values in quotas.items()}
        self._shares.clear()
        self.is_active = bool(quotas)

    # -- requests

    def settle(self, request: "Charged", api_key: int, response: Any) -> Any:
        """Charge a handled request and throttle its connection. Returns the response with its throttle time."""
        peer, client_id = request.peer, request.client_id
        wait_ms = float(getattr(response, "throttle_time_ms", 0))
        if api_key == _PRODUCE:
            wait_ms = max(wait_ms, self.wait_after_produce_ms(peer, client_id, request.request_bytes))
        # 100 percent is the whole event loop: this broker's one thread that handles requests.
        busy = self._charge(entities.REQUEST_PERCENTAGE, peer, client_id, request.busy_ms / 10)
        wait_ms = max(wait_ms, min(busy, self._sample_ms))
        if wait_ms < 1:
            return response
        peer.mute(wait_ms)
        if response is None:
            return None
        return msgspec.structs.replace(response, throttle_time_ms=math.ceil(wait_ms))

    def wait_after_produce_ms(self, peer: Peer, client_id: str, size_bytes: int) -> float:
        """Charge a producer. Returns how long it must wait now."""
        return self._charge(entities.PRODUCER_BYTE_RATE, peer, client_id, size_bytes)

    def wait_before_fetch_ms(self, peer: Peer, client_id: str, size_bytes: int) -> int:
        """The time a consumer must wait for records of this size; 0 if it gets them, and is charged for them."""
        account = self._account(entities.CONSUMER_BYTE_RATE, peer, client_id)
        if account is None:
            return 0
        rate, share = account
        now_ms = self._clock.monotonic_ms()
        wait_ms = rate.wait_ms(share.limit, now_ms)
        if wait_ms < 1:
            rate.record(size_bytes, now_ms)
            return 0
        return math.ceil(wait_ms)

    # -- connections

    def connection_wait(self, host: str) -> tuple[float, bool]:
        """Count a new connection. Returns how many milliseconds it must wait, and whether it is closed after that."""
        limits: list[tuple[_Account, float, bool]] = []
        of_all = self._current_config()[network.MAX_CONNECTION_CREATION_RATE]
        if of_all < INT_MAX:
            limits.append(((entities.CONNECTION_CREATION_RATE, None, None), max(of_all, 1), False))
        for name in (host, None):
            own = self._quotas.get(((entities.IP, name),), {}).get(entities.CONNECTION_CREATION_RATE)
            if own is not None:
                limits.append(((entities.CONNECTION_CREATION_RATE, host, None), own, True))
                break
        wait_ms, is_closed_after = 0.0, False
        now_ms = self._clock.monotonic_ms()
        for account, limit, must_close in limits:
            rate = self._rate(account)
            rate.record(1, now_ms)
            own_wait_ms = rate.wait_ms(limit, now_ms)
            wait_ms = max(wait_ms, own_wait_ms)
            is_closed_after = is_closed_after or (must_close and own_wait_ms > 0)
        return wait_ms, is_closed_after

    def _charge(self, key: str, peer: Peer, client_id: str, amount: float) -> float:
        account = self._account(key, peer, client_id)
        if account is None:
            return 0.0
        rate, share = account
        now_ms = self._clock.monotonic_ms()
        rate.record(amount, now_ms)
        return rate.wait_ms(share.limit, now_ms)

    def _account(self, key: str, peer: Peer, client_id: str) -> tuple[SampledRate, Share] | None:
        share = self._share(key, peer, client_id)
        if share is None:
            return None
        return self._rate((key, share.user, share.client_id)), share

    def _rate(self, account: _Account) -> SampledRate:
        rate = self._rates.pop(account, None)
        if rate is None:
            _make_room(self._rates)
            rate = SampledRate(self._sample_count, self._sample_ms)
        self._rates[account] = rate  # the most recently used account is last
        return rate

    def _share(self, key: str, peer: Peer, client_id: str) -> Share | None:
        if len(client_id) > _CLIENT_ID_MAX:
            client_id = hashlib.sha256(client_id.encode()).hexdigest()
        name = (key, peer.principal.name, client_id)
        try:
            return self._shares[name]
        except KeyError:
            if len(self._shares) >= _ACCOUNTS_MAX:
                self._shares.clear()
            share = self._shares[name] = share_of(self._quotas, key, peer.principal.name, client_id)
            return share

    # -- topic changes

    def mutations(self, peer: Peer, client_id: str, *, is_strict: bool) -> "MutationQuota":
        """The quota for partitions created and deleted by one request (KIP-599)."""
        share = self._share(entities.CONTROLLER_MUTATION_RATE, peer, client_id) if self.is_active else None
        if share is None:
            return MutationQuota(None, 0.0, self._clock, is_strict=is_strict)
        name = (entities.CONTROLLER_MUTATION_RATE, share.user, share.client_id)
        bucket = self._buckets.pop(name, None)
        if bucket is None:
            _make_room(self._buckets)
            bucket = TokenBucket(self._burst_seconds, share.limit, self._clock.monotonic_ms())
        self._buckets[name] = bucket
        return MutationQuota(bucket, share.limit, self._clock, is_strict=is_strict)


class MutationQuota:
    """A strict quota refuses changes that exceed it; otherwise, for older clients, it only throttles."""

    __slots__ = ("_bucket", "_clock", "_is_strict", "_limit")

    def __init__(self, bucket: TokenBucket | None, limit: float, clock: Clock, *, is_strict: bool) -> None:
        self._bucket = bucket
        self._limit = limit
        self._clock = clock
        self._is_strict = is_strict

    def charge(self, partitions: int) -> ErrorCode:
        """NONE, or THROTTLING_QUOTA_EXCEEDED when the change must not be made now."""
        if self._bucket is None:
            return ErrorCode.NONE
        now_ms = self._clock.monotonic_ms()
        if self._is_strict and self._bucket.wait_ms(self._limit, now_ms) > 0:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self._bucket.record(partitions, self._limit, now_ms)
        return ErrorCode.NONE

    @property
    def wait_ms(self) -> int:
        if self._bucket is None:
            return 0
        return math.ceil(self._bucket.wait_ms(self._limit, self._clock.monotonic_ms()))


def _make_room(accounts: "dict[_Account, Any]") -> None:
    """Evict the least recently used account."""
    if len(accounts) >= _ACCOUNTS_MAX:
        del accounts[next(iter(accounts))]
