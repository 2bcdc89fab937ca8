import asyncio
import itertools
from collections.abc import Callable

from penstock.client.aio import Client
from penstock.console.sessions import AGE_MS_MAX, IDLE_MS_MAX, SESSIONS_MAX, Sessions
from penstock.runtime.clock import ManualClock


class FakeClient(Client):
    def __init__(self) -> None:
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


def _tokens() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"token-{next(numbers)}"


def _begin(sessions: Sessions, user: str = "alice") -> tuple[str, FakeClient]:
    client = FakeClient()
    return asyncio.run(sessions.begin(user, client)), client


def test_a_session_is_found_by_its_token_only() -> None:
    sessions = Sessions(ManualClock(), _tokens())
    token, client = _begin(sessions)
    found = sessions.find(token)
    assert found is not None
    assert (found.user, found.client) == ("alice", client)
    assert sessions.find("another") is None
    assert sessions.find(None) is None


def test_an_unused_session_expires() -> None:
    clock = ManualClock()
    sessions = Sessions(clock, _tokens())
    token, client = _begin(sessions)
    clock.advance(IDLE_MS_MAX - 1)
    assert sessions.find(token) is not None
    clock.advance(IDLE_MS_MAX + 1)
    assert not sessions.is_open(token)
    assert sessions.find(token) is None
    _begin(sessions, "bob")
    assert client.is_closed


def test_checking_a_session_does_not_extend_it() -> None:
    clock = ManualClock()
    sessions = Sessions(clock, _tokens())
    token, _ = _begin(sessions)
    clock.advance(IDLE_MS_MAX - 1)
    assert sessions.is_open(token)
    clock.advance(2)
    assert not sessions.is_open(token)


def test_a_session_expires_after_half_a_day_even_if_it_is_used() -> None:
    clock = ManualClock()
    sessions = Sessions(clock, _tokens())
    token, _ = _begin(sessions)
    for _ in range(AGE_MS_MAX // IDLE_MS_MAX):
        clock.advance(IDLE_MS_MAX)
        assert sessions.find(token) is not None
    clock.advance(1)
    assert sessions.find(token) is None


def test_the_least_recently_used_session_is_evicted() -> None:
    clock = ManualClock()
    sessions = Sessions(clock, _tokens())
    began = []
    for number in range(SESSIONS_MAX):
        began.append(_begin(sessions, str(number)))
        clock.advance(1)
    assert sessions.find(began[0][0]) is not None
    _begin(sessions, "one more")
    assert len(sessions) == SESSIONS_MAX
    assert sessions.find(began[0][0]) is not None
    assert began[1][1].is_closed


def test_a_logout_closes_the_connections_of_the_user() -> None:
    sessions = Sessions(ManualClock(), _tokens())
    token, client = _begin(sessions)
    asyncio.run(sessions.end(token))
    assert client.is_closed
    assert sessions.find(token) is None


def test_an_expired_session_is_removed_without_a_request() -> None:
    async def run() -> None:
        clock = ManualClock()
        sessions = Sessions(clock, _tokens())
        client = FakeClient()
        await sessions.begin("alice", client)
        sweeping = asyncio.create_task(sessions.sweep())
        await asyncio.sleep(0)
        clock.advance(IDLE_MS_MAX + 1)
        for _ in range(5):
            await asyncio.sleep(0)
        assert client.is_closed
        sweeping.cancel()

    asyncio.run(run())
