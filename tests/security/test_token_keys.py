import asyncio
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey, KeySet

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import ThreadOffload
from penstock.security.token_keys import TokenKeys


def document(*names: str) -> str:
    keys = KeySet([ECKey.generate_key("P-256", {"kid": name}, private=False) for name in names])
    return json.dumps(keys.as_dict())


def settings(url: str, refresh_ms: int = 3_600_000) -> BrokerConfig:
    return BrokerConfig(
        {
            "sasl.oauthbearer.jwks.endpoint.url": url,
            "sasl.oauthbearer.jwks.endpoint.refresh.ms": str(refresh_ms),
        }
    )


def names(keys: Any) -> list[str]:
    found = keys.key_set()
    return [] if found is None else [key.kid for key in found]


@pytest.fixture
def offload() -> Iterator[ThreadOffload]:
    threads = ThreadOffload(1, "test-keys")
    yield threads
    threads.close()


def test_keys_of_a_file_are_read_again_when_it_has_changed(tmp_path: Path, offload: ThreadOffload) -> None:
    path = tmp_path / "keys.json"
    path.write_text(document("one"))
    clock = ManualClock()
    keys = TokenKeys(offload, clock).following("A", settings(f"file://{path}"))
    assert names(keys) == ["one"]
    path.write_text(document("one", "two"))
    assert names(keys) == ["one"]
    clock.advance(1000)
    assert names(keys) == ["one", "two"]
    path.write_text("{")
    clock.advance(1000)
    assert names(keys) == ["one", "two"]
    path.unlink()
    clock.advance(1000)
    assert names(keys) == ["one", "two"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "has no keys to verify tokens"),
        ("file:///no/such/file", "cannot be read from /no/such/file"),
        ("ftp://host/keys", "expected file:///"),
    ],
)
def test_a_listener_without_usable_keys_is_refused(offload: ThreadOffload, url: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        TokenKeys(offload, ManualClock()).following("A", settings(url))


class Issuer:
    """Publishes keys over HTTP, and records the requests."""

    def __init__(self) -> None:
        self.body = document("one")
        self.asked = threading.Semaphore(0)
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if issuer.body else 500)
                self.end_headers()
                self.wfile.write(issuer.body.encode())
                issuer.asked.release()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.server.shutdown()
    made.server.server_close()


async def rested() -> None:
    """Until the refresh of the keys waits for the clock again."""
    for _ in range(5):
        await asyncio.sleep(0)


async def until_named(keys: Any, wanted: list[str]) -> None:
    async with asyncio.timeout(10):
        while names(keys) != wanted:
            await asyncio.sleep(0.005)


def test_keys_of_a_url_are_there_after_the_start_and_fetched_again(
    issuer: Issuer, offload: ThreadOffload
) -> None:
    async def run() -> None:
        clock = ManualClock()
        all_keys = TokenKeys(offload, clock)
        keys = all_keys.following("A", settings(issuer.url, refresh_ms=60_000))
        assert names(keys) == []
        await all_keys.start()
        assert names(keys) == ["one"]
        issuer.body = document("two")
        await rested()
        clock.advance(60_000)
        await until_named(keys, ["two"])
        await rested()
        issuer.body = document("three")
        keys.request_refresh()  # too soon after the last time
        await asyncio.sleep(0)
        assert names(keys) == ["two"]
        clock.advance(10_000)
        keys.request_refresh()
        await until_named(keys, ["three"])
        all_keys.stop()

    asyncio.run(run())


def test_a_failing_url_is_retried_and_the_keys_are_kept(issuer: Issuer, offload: ThreadOffload) -> None:
    async def run() -> None:
        clock = ManualClock()
        all_keys = TokenKeys(offload, clock)
        issuer.body = ""
        keys = all_keys.following("A", settings(issuer.url))
        await all_keys.start()
        assert names(keys) == []
        issuer.body = document("one")
        await rested()
        clock.advance(10_000)
        await until_named(keys, ["one"])
        all_keys.stop()

    asyncio.run(run())


def test_a_listener_fetches_keys_from_a_changed_url(issuer: Issuer, offload: ThreadOffload) -> None:
    async def run() -> None:
        all_keys = TokenKeys(offload, ManualClock())
        first = all_keys.following("A", settings(issuer.url))
        assert all_keys.following("A", settings(issuer.url)) is first
        await all_keys.start()
        second = all_keys.following("A", settings(issuer.url + "?2"))
        assert second is not first
        await until_named(second, ["one"])
        all_keys.stop()

    asyncio.run(run())
