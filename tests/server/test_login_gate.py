import asyncio
import struct

import pytest

from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import ManualClock
from penstock.runtime.completion import Reply
from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.sasl.exchange import LoginRefused
from penstock.security.sasl.login import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, Login
from penstock.security.sasl.mechanisms import Mechanisms
from penstock.security.sasl.plain import PlainExchange
from penstock.server.connections import Answer, CloseAfterResponse, CloseConnection, Peer
from penstock.server.login_gate import LoginGate, accept

PRODUCE = 0
DELAY_MS = 500
GOOD, BAD = b"\0alice\0secret", b"\0alice\0wrong"


def frame(api_key: int) -> bytearray:
    return bytearray(struct.pack(">hhi", api_key, 1, 0))


class Room:
    """A gate before a dispatcher that only notes what it gets, and plays the part of the handlers."""

    def __init__(self, reauthenticate_ms: int = 0, *, with_headers: bool = True) -> None:
        self.clock = ManualClock()
        self.counts = IdentityCounts()
        mechanisms = Mechanisms(
            {"PLAIN": lambda: PlainExchange({"alice": "secret"})}, {"PLAIN": reauthenticate_ms}
        )
        self.login = Login(mechanisms, self.counts, self.clock)
        self.peer = Peer("CLIENTS", "127.0.0.1", 1)
        self.seen: list[int] = []
        self.token = GOOD
        self.done = 0
        self._with_headers = with_headers
        self.gate = LoginGate(
            self,
            self.login,
            failed_delay_ms=DELAY_MS,
            log_limiter=LogLimiter(self.clock),
            clock=self.clock,
            on_done=self._on_done,
        )

    def _on_done(self) -> None:
        self.done += 1

    def dispatch(self, frame: bytearray, peer: Peer) -> Answer:
        key: int = struct.unpack_from(">h", frame)[0]
        self.seen.append(key)
        if key == SASL_HANDSHAKE:
            self.login.handshake("PLAIN", with_headers=self._with_headers)
        if key == SASL_AUTHENTICATE:
            try:
                self.login.authenticate(self.token)
            except LoginRefused:
                return (b"refused",)
            accept(self.login, peer)
        return (b"answer",)

    def send(self, api_key: int) -> object:
        return self.gate.dispatch(frame(api_key), self.peer)

    def log_in(self) -> None:
        assert self.send(SASL_HANDSHAKE) == (b"answer",)
        assert self.send(SASL_AUTHENTICATE) == (b"answer",)


async def ending(answer: object, clock: ManualClock) -> CloseConnection:
    """How a refused request ends the connection: not before the delay is over."""
    assert isinstance(answer, Reply)
    assert answer.is_exclusive
    waiting = asyncio.ensure_future(answer)
    await asyncio.sleep(0)
    clock.advance(DELAY_MS - 1)
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.advance(1)
    with pytest.raises(CloseConnection) as closed:
        await waiting
    return closed.value


async def test_after_the_login_requests_are_served_and_the_peer_has_its_principal() -> None:
    room = Room()
    assert room.send(API_VERSIONS) == (b"answer",)
    assert room.peer.principal == ANONYMOUS
    room.log_in()
    assert room.peer.principal == Principal("alice")
    assert room.send(PRODUCE) == (b"answer",)
    assert room.done == 1


@pytest.mark.parametrize("before", [(), (API_VERSIONS,), (SASL_HANDSHAKE,)])
async def test_before_the_login_other_requests_close_the_connection_unserved(
    before: tuple[int, ...],
) -> None:
    room = Room()
    for key in before:
        room.send(key)
    closed = await ending(room.send(PRODUCE), room.clock)
    assert not isinstance(closed, CloseAfterResponse)  # not answered
    assert PRODUCE not in room.seen
    assert room.counts.failed_logins == 1
    await ending(room.send(SASL_HANDSHAKE), room.clock)  # nor is anything after it
    assert SASL_HANDSHAKE not in room.seen[len(before) :]


async def test_a_frame_too_short_for_a_request_closes_the_connection() -> None:
    room = Room()
    await ending(room.gate.dispatch(bytearray(b"\x00"), room.peer), room.clock)


async def test_a_failed_login_is_answered_after_a_delay_and_closes_the_connection() -> None:
    room = Room()
    room.token = BAD
    room.send(SASL_HANDSHAKE)
    closed = await ending(room.send(SASL_AUTHENTICATE), room.clock)
    assert isinstance(closed, CloseAfterResponse)
    assert closed.answer == (b"refused",)
    assert room.peer.principal == ANONYMOUS


async def test_failed_logins_of_one_host_are_rate_limited_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = Room()
    room.token = BAD
    room.send(SASL_HANDSHAKE)
    await ending(room.send(SASL_AUTHENTICATE), room.clock)
    await ending(room.send(SASL_AUTHENTICATE), room.clock)
    await ending(room.send(SASL_AUTHENTICATE), room.clock)
    logged = [each.getMessage() for each in caplog.records]
    assert sum("Failed authentication: the login was refused" in line for line in logged) == 1


# -- the handshake of before KIP-152


async def test_after_the_v0_handshake_the_exchange_uses_bare_frames() -> None:
    room = Room(with_headers=False)
    room.send(SASL_HANDSHAKE)
    assert room.gate.dispatch(bytearray(GOOD), room.peer) == (struct.pack(">i", 0), b"")
    assert room.peer.principal == Principal("alice")
    assert room.done == 1
    assert room.send(PRODUCE) == (b"answer",)


async def test_a_wrong_bare_token_closes_the_connection_without_a_response() -> None:
    room = Room(with_headers=False)
    room.send(SASL_HANDSHAKE)
    closed = await ending(room.gate.dispatch(bytearray(BAD), room.peer), room.clock)
    assert not isinstance(closed, CloseAfterResponse)
    assert PRODUCE not in room.seen


# -- logins that run out (KIP-368)


async def test_an_expired_login_closes_the_connection_at_the_next_request() -> None:
    room = Room(reauthenticate_ms=1000)
    room.log_in()
    assert room.send(PRODUCE) == (b"answer",)
    room.clock.advance(1000)
    with pytest.raises(CloseConnection, match=r"connections\.max\.reauth\.ms"):
        room.send(PRODUCE)
    assert room.seen.count(PRODUCE) == 1
    assert room.counts.sessions_expired == 1


async def test_a_login_is_renewed_on_an_open_connection() -> None:
    room = Room(reauthenticate_ms=1000)
    room.log_in()
    room.clock.advance(1500)
    room.log_in()
    assert room.send(PRODUCE) == (b"answer",)
    assert room.done == 1
    assert room.counts.good_reauthentications == 1


async def test_during_a_reauthentication_no_other_request_is_served() -> None:
    room = Room(reauthenticate_ms=1000)
    room.log_in()
    room.send(SASL_HANDSHAKE)
    await ending(room.send(PRODUCE), room.clock)
    assert PRODUCE not in room.seen


async def test_a_failed_reauthentication_closes_the_connection() -> None:
    room = Room(reauthenticate_ms=1000)
    room.log_in()
    room.send(SASL_HANDSHAKE)
    room.token = BAD
    assert isinstance(await ending(room.send(SASL_AUTHENTICATE), room.clock), CloseAfterResponse)
    assert room.counts.failed_reauthentications == 1
