"""The keys that sign tokens, read from a file or fetched from a URL, and again when they have changed.

A file is looked at when a login comes, at most once in a second. A URL is fetched when the broker starts, then every
`sasl.oauthbearer.jwks.endpoint.refresh.ms`, and soon after a token names a key that is not known. While it cannot be
fetched the keys that are known stay.
"""

import asyncio
import logging
import os
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.settings import security
from penstock.runtime.clock import Clock, sleep_or
from penstock.runtime.offload import Offload
from penstock.security.sasl.oauth import NAME, Keys, parse_key_set

log = logging.getLogger(__name__)

_REFRESH_INTERVAL_MS = 1000
_RETRY_MS = 10_000
_FETCH_S_MAX = 10
_DOCUMENT_BYTES_MAX = 1024 * 1024


class TokenKeys:
    """The keys of all listeners of a broker."""

    def __init__(self, offload: Offload, clock: Clock, *, is_started: bool = False) -> None:
        """Once started, the keys of a listener are fetched from when it is first asked for."""
        self._offload = offload
        self._clock = clock
        self._sources: dict[str, tuple[tuple[str, int], FileKeys | FetchedKeys]] = {}
        self._is_started = is_started

    def following(self, listener: str, config: BrokerConfig) -> Keys:
        """The keys of a listener by these settings. Raises `ConfigError`."""
        url = config.for_listener(listener, security.SASL_OAUTHBEARER_JWKS_ENDPOINT_URL, NAME)
        refresh_ms = config.for_listener(listener, security.SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS, NAME)
        if not url:
            raise ConfigError(
                f"listener {listener} offers OAUTHBEARER, but has no keys to verify tokens: set "
                "sasl.oauthbearer.jwks.endpoint.url to the issuer's keys (file:///… or https://…)"
            )
        wanted = (url, refresh_ms)
        found = self._sources.get(listener)
        if found is None or found[0] != wanted:
            if found is not None:
                found[1].stop()
            found = self._sources[listener] = (wanted, self._build(url, refresh_ms))
            if self._is_started:
                found[1].start()
        return found[1]

    def _build(self, url: str, refresh_ms: int) -> "FileKeys | FetchedKeys":
        parts = urlsplit(url)
        if parts.scheme == "file":
            return FileKeys(unquote(parts.path), self._clock)
        if parts.scheme in ("http", "https"):
            return FetchedKeys(url, refresh_ms, self._offload, self._clock)
        raise ConfigError(
            f"Invalid value {url} for configuration sasl.oauthbearer.jwks.endpoint.url: expected file:///…, "
            "https://… or http://…"
        )

    async def start(self) -> None:
        """Returns when each URL has been tried once."""
        self._is_started = True
        for _, source in list(self._sources.values()):
            source.start()
            await source.tried()

    def stop(self) -> None:
        for _, source in self._sources.values():
            source.stop()


class FileKeys:
    def __init__(self, path: str, clock: Clock) -> None:
        """Raises `ConfigError` when the file has no keys."""
        self._path = path
        self._clock = clock
        self._refreshed_ms = clock.monotonic_ms()
        self._seen = self._stamp()
        try:
            self._keys = self._read()
        except (OSError, ValueError) as error:
            raise ConfigError(f"the keys of tokens cannot be read from {path}: {error}") from None

    def key_set(self) -> Any:
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._refreshed_ms >= _REFRESH_INTERVAL_MS:
            self._refreshed_ms = now_ms
            self._refresh()
        return self._keys

    def _refresh(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._keys = self._read()
        except (OSError, ValueError) as error:
            log.error("Cannot read JWKS file %s, keeping the current keys: %s", self._path, error)  # noqa: TRY400

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _read(self) -> Any:
        with open(self._path, "rb") as file:
            return parse_key_set(file.read(_DOCUMENT_BYTES_MAX))

    def request_refresh(self) -> None:
        self._refreshed_ms -= _REFRESH_INTERVAL_MS

    def start(self) -> None:
        pass

    async def tried(self) -> None:
        pass

    def stop(self) -> None:
        pass


class FetchedKeys:
    def __init__(self, url: str, refresh_ms: int, offload: Offload, clock: Clock) -> None:
        self._url = url
        self._refresh_ms = refresh_ms
        self._offload = offload
        self._clock = clock
        self._keys: Any = None
        self._fetched_ms = 0.0
        self._wanted = asyncio.Event()
        self._tried = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def key_set(self) -> Any:
        return self._keys

    def request_refresh(self) -> None:
        """Not more often than retries are: anybody can name a key that does not exist."""
        if self._clock.monotonic_ms() - self._fetched_ms >= _RETRY_MS:
            self._wanted.set()

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow(), name="token-keys")

    async def tried(self) -> None:
        await self._tried.wait()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _follow(self) -> None:
        while True:
            is_good = await self._fetch()
            self._tried.set()
            self._wanted.clear()
            await sleep_or(self._clock, self._refresh_ms if is_good else _RETRY_MS, self._wanted)

    async def _fetch(self) -> bool:
        self._fetched_ms = self._clock.monotonic_ms()
        try:
            self._keys = await self._offload.run(lambda: parse_key_set(_download(self._url)))
        except (OSError, ValueError) as error:
            log.error("Cannot fetch the JWKS from %s: %s", self._url, error)  # noqa: TRY400
            return False
        return True


def _download(url: str) -> bytes:
    import urllib.request  # noqa: PLC0415  slow to load, and few brokers need it

    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310  http or https
    with urllib.request.urlopen(request, timeout=_FETCH_S_MAX) as response:  # noqa: S310
        document: bytes = response.read(_DOCUMENT_BYTES_MAX)
    return document
