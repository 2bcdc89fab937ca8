"""Whose client a request gets."""

import asyncio
import base64

import pytest

from penstock.client.cluster import AuthenticationFailed
from penstock.gateway.http import clients as module
from penstock.gateway.http.clients import IDLE_MS, Clients, KafkaAccess, credentials
from penstock.gateway.http.problems import Problem
from penstock.observability.clock import ManualClock
from tests.server.live import until

OPEN = KafkaAccess(bootstrap=(("127.0.0.1", 1),))
LOGIN = KafkaAccess(bootstrap=(("127.0.0.1", 1),), wants_login=True)


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_a_user_with_a_password_is_tried_with_what_shows_it_least() -> None:
    logins = credentials(basic("ann:s:ecret"), None).logins
    assert [each.mechanism for each in logins] == ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]
    assert {(each.username, each.password) for each in logins} == {("ann", "s:ecret")}


def test_a_token_is_taken_as_it_is() -> None:
    [login] = credentials("bearer a.b.c", None).logins
    assert (login.mechanism, login.token) == ("OAUTHBEARER", "a.b.c")


@pytest.mark.parametrize(
    "header", ["", "Basic", "Basic !!", basic("nocolon"), basic(":x"), "Bearer ", "Digest x"]
)
def test_anything_else_is_refused_without_repeating_it(header: str) -> None:
    with pytest.raises(Problem, match="cannot be read") as refused:
        credentials(header, None)
    assert refused.value.status == 401


async def test_without_a_login_everybody_shares_one_client_whatever_they_send() -> None:
    clients = Clients(OPEN, ManualClock())
    async with clients.lent(None) as one, clients.lent(basic("a:b")) as other:
        assert one is other
        assert one.security.logins == ()
    await clients.close()


async def test_each_credential_has_a_client_of_its_own() -> None:
    clients = Clients(LOGIN, ManualClock())
    async with clients.lent(basic("a:b")) as one, clients.lent(basic("a:c")) as other:
        assert one is not other
    async with clients.lent(basic("a:b")) as again:
        assert again is one
    with pytest.raises(Problem, match="who you are"):
        async with clients.lent(None):
            pass
    await clients.close()


async def test_a_client_that_nobody_uses_is_closed_after_a_while() -> None:
    clock = ManualClock()
    clients = Clients(LOGIN, clock)
    async with clients.lent(basic("a:b")):
        await asyncio.sleep(0)
        clock.advance(IDLE_MS * 2)
        assert len(clients) == 1
    for _ in range(4):
        await asyncio.sleep(0)
        clock.advance(IDLE_MS / 2)
    await until(lambda: len(clients) == 0)


async def test_a_refused_login_is_not_remembered() -> None:
    clients = Clients(LOGIN, ManualClock())
    with pytest.raises(AuthenticationFailed):
        async with clients.lent(basic("a:b")):
            raise AuthenticationFailed
    assert len(clients) == 0


async def test_the_one_unused_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLIENTS_MAX", 2)
    clock = ManualClock()
    clients = Clients(LOGIN, clock)
    async with clients.lent(basic("a:1")) as first:
        pass
    clock.advance(1)
    async with clients.lent(basic("b:1")), clients.lent(basic("c:1")):
        with pytest.raises(Problem) as refused:
            async with clients.lent(basic("d:1")):
                pass
        assert refused.value.status == 503
    async with clients.lent(basic("a:1")) as again:
        assert again is not first
    await clients.close()


async def test_a_client_whose_user_has_another_password_is_not_lent_again() -> None:
    passwords = {"ann": "old", "bob": "his"}
    clients = Clients(LOGIN, ManualClock(), passwords.get)
    async with clients.lent(basic("ann:x")) as before, clients.lent(basic("bob:y")) as other:
        pass
    passwords["ann"] = "new"
    async with clients.lent(basic("ann:x")) as after, clients.lent(basic("bob:y")) as other_again:
        assert after is not before
        assert other_again is other
        passwords["ann"] = "newer"
        async with clients.lent(basic("ann:x")) as last:
            assert last is not after
    assert len(clients) == 2
    await clients.close()


def test_who_asks_is_known_by_name_or_by_address() -> None:
    clock = ManualClock()
    by_login = Clients(LOGIN, clock)
    assert by_login.who(basic("ann:x"), "1.2.3.4") == by_login.who(basic("ann:y"), "5.6.7.8") == "ann"
    assert by_login.who("Bearer a.b.c", "1.2.3.4") != by_login.who("Bearer d.e.f", "1.2.3.4")
    with pytest.raises(Problem, match="who you are"):
        by_login.who(None, "1.2.3.4")
    assert Clients(OPEN, clock).who(basic("ann:x"), "1.2.3.4") == "1.2.3.4"
