"""The client that a request gets, by its credentials."""

import asyncio
import base64

import pytest

from penstock.client.aio import AuthenticationFailed, Client
from penstock.gateway.http import clients as module
from penstock.gateway.http.clients import IDLE_MS, Clients, KafkaAccess, credentials
from penstock.gateway.http.problems import Problem
from penstock.runtime.clock import ManualClock
from penstock.security.login_limit import FAILURES_MAX
from tests.server.live import until

OPEN = KafkaAccess(bootstrap=(("127.0.0.1", 1),))
LOGIN = KafkaAccess(bootstrap=(("127.0.0.1", 1),), needs_login=True)
ADDRESS = "192.0.2.1"


async def accepted(_client: Client) -> None:
    """The broker accepts every login."""


async def refused_login(_client: Client) -> None:
    raise AuthenticationFailed


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_a_password_is_tried_with_the_safest_mechanism_first() -> None:
    logins = credentials(basic("ann:s:ecret"), None).logins
    assert [each.mechanism for each in logins] == ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]
    assert {(each.username, each.password) for each in logins} == {("ann", "s:ecret")}


def test_a_token_is_used_unchanged() -> None:
    [login] = credentials("bearer a.b.c", None).logins
    assert (login.mechanism, login.token) == ("OAUTHBEARER", "a.b.c")


@pytest.mark.parametrize(
    "header", ["", "Basic", "Basic !!", basic("nocolon"), basic(":x"), "Bearer ", "Digest x"]
)
def test_anything_else_is_refused_without_being_quoted(header: str) -> None:
    with pytest.raises(Problem, match="cannot be read") as refused:
        credentials(header, None)
    assert refused.value.status == 401


async def test_without_logins_all_requests_share_one_client() -> None:
    clients = Clients(OPEN, ManualClock())
    async with clients.lent(None, ADDRESS) as one, clients.lent(basic("a:b"), ADDRESS) as other:
        assert one is other
        assert one.security.logins == ()
    await clients.close()


async def test_each_credential_has_its_own_client() -> None:
    clients = Clients(LOGIN, ManualClock(), log_in=accepted)
    async with clients.lent(basic("a:b"), ADDRESS) as one, clients.lent(basic("a:c"), ADDRESS) as other:
        assert one is not other
    async with clients.lent(basic("a:b"), ADDRESS) as again:
        assert again is one
    with pytest.raises(Problem, match="requires a login"):
        async with clients.lent(None, ADDRESS):
            pass
    await clients.close()


async def test_an_unused_client_is_closed_after_a_while() -> None:
    clock = ManualClock()
    clients = Clients(LOGIN, clock, log_in=accepted)
    async with clients.lent(basic("a:b"), ADDRESS):
        await asyncio.sleep(0)
        clock.advance(IDLE_MS * 2)
        assert len(clients) == 1
    for _ in range(4):
        await asyncio.sleep(0)
        clock.advance(IDLE_MS / 2)
    await until(lambda: len(clients) == 0)


async def test_a_refused_login_is_not_cached() -> None:
    for log_in in (accepted, refused_login):
        clients = Clients(LOGIN, ManualClock(), log_in=log_in)
        with pytest.raises(AuthenticationFailed):
            async with clients.lent(basic("a:b"), ADDRESS):
                raise AuthenticationFailed
        assert len(clients) == 0
        await clients.close()


async def test_an_address_with_failed_logins_is_refused_for_a_while_without_a_request_to_the_cluster(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, asked = ManualClock(), 0
    waits: list[str] = []

    async def log_in(client: Client) -> None:
        nonlocal asked
        asked += 1
        if client.security.logins[0].password != "right":
            raise AuthenticationFailed

    clients = Clients(LOGIN, clock, log_in=log_in)

    async def request(credentials: str, address: str = ADDRESS) -> int:
        try:
            async with clients.lent(basic(credentials), address):
                return 200
        except AuthenticationFailed:
            return 401
        except Problem as problem:
            waits.append(problem.headers()["Retry-After"])
            return problem.status

    assert await request("ann:right") == 200
    statuses = await asyncio.gather(*(request(f"ann:{guess}") for guess in range(30)))
    assert statuses == [401] * FAILURES_MAX + [429] * (30 - FAILURES_MAX)
    assert (asked, len(clients)) == (1 + FAILURES_MAX, 1)
    assert await request("bob:right") == 429
    assert [await request("ann:right"), await request("bob:right", "192.0.2.2")] == [200, 200]
    assert [each.getMessage() for each in caplog.records] == [
        f"Rejected a login from {ADDRESS}: too many have failed"
    ]
    clock.advance(6_000)
    assert [await request("cat:wrong"), await request("cat:right")] == [401, 429]
    assert set(waits) == {"6"}
    await clients.close()


async def test_concurrent_requests_with_the_same_credential_log_in_once() -> None:
    asked = 0

    async def log_in(_client: Client) -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)

    clients = Clients(LOGIN, ManualClock(), log_in=log_in)

    async def request() -> None:
        async with clients.lent(basic("ann:x"), ADDRESS):
            pass

    await asyncio.gather(*(request() for _ in range(20)))
    assert asked == 1
    await clients.close()


async def test_the_least_recently_used_client_is_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLIENTS_MAX", 2)
    clock = ManualClock()
    clients = Clients(LOGIN, clock, log_in=accepted)
    async with clients.lent(basic("a:1"), ADDRESS) as first:
        pass
    clock.advance(1)
    async with clients.lent(basic("b:1"), ADDRESS), clients.lent(basic("c:1"), ADDRESS):
        with pytest.raises(Problem) as refused:
            async with clients.lent(basic("d:1"), ADDRESS):
                pass
        assert refused.value.status == 503
    async with clients.lent(basic("a:1"), ADDRESS) as again:
        assert again is not first
    await clients.close()


async def test_a_client_of_a_user_with_a_changed_password_is_not_reused() -> None:
    passwords = {"ann": "old", "bob": "his"}
    clients = Clients(LOGIN, ManualClock(), passwords.get, accepted)
    async with (
        clients.lent(basic("ann:x"), ADDRESS) as before,
        clients.lent(basic("bob:y"), ADDRESS) as other,
    ):
        pass
    passwords["ann"] = "new"
    async with (
        clients.lent(basic("ann:x"), ADDRESS) as after,
        clients.lent(basic("bob:y"), ADDRESS) as other_again,
    ):
        assert after is not before
        assert other_again is other
        passwords["ann"] = "newer"
        async with clients.lent(basic("ann:x"), ADDRESS) as last:
            assert last is not after
    assert len(clients) == 2
    await clients.close()


def test_a_caller_is_identified_by_name_or_by_address() -> None:
    clock = ManualClock()
    by_login = Clients(LOGIN, clock, log_in=accepted)
    assert (
        by_login.user_key(basic("ann:x"), "1.2.3.4") == by_login.user_key(basic("ann:y"), "5.6.7.8") == "ann"
    )
    assert by_login.user_key("Bearer a.b.c", "1.2.3.4") != by_login.user_key("Bearer d.e.f", "1.2.3.4")
    with pytest.raises(Problem, match="requires a login"):
        by_login.user_key(None, "1.2.3.4")
    assert Clients(OPEN, clock).user_key(basic("ann:x"), "1.2.3.4") == "1.2.3.4"
