import pytest

from penstock.runtime.clock import ManualClock
from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import Principal
from penstock.security.sasl.exchange import Exchange, Granted, LoginRefused
from penstock.security.sasl.login import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    IllegalState,
    Login,
    MechanismNotOffered,
    State,
    Step,
)
from penstock.security.sasl.mechanisms import Mechanisms

PRODUCE = 0
NOW_MS = 1_000_000


class Says:
    """A mechanism of two steps: anything, then the user's name; 'no' is refused."""

    def __init__(self, expires_at_ms: int | None = None) -> None:
        self._expires_at_ms = expires_at_ms
        self._is_first = True
        self.granted: Granted | None = None

    def step(self, received: bytes) -> bytes:
        if received == b"no":
            raise LoginRefused("no")
        if self._is_first:
            self._is_first = False
            return b"who?"
        self.granted = Granted(user=received.decode(), expires_at_ms=self._expires_at_ms)
        return b"welcome"


class Desk:
    """A login with its surroundings."""

    def __init__(self, *, reauthenticate_ms: int = 0, expires_at_ms: int | None = None) -> None:
        def begin() -> Exchange:
            return Says(expires_at_ms)

        self.clock = ManualClock(NOW_MS)
        self.counts = IdentityCounts()
        mechanisms = Mechanisms(
            {"SAYS": begin, "SHOUTS": begin}, {"SAYS": reauthenticate_ms, "SHOUTS": reauthenticate_ms}
        )
        self.login = Login(mechanisms, self.counts, self.clock)

    def log_in(self, user: str = "alice", mechanism: str = "SAYS") -> Step:
        self.login.handshake(mechanism, with_headers=True)
        assert self.login.authenticate(b"hello") == Step(b"who?", 0)
        return self.login.authenticate(user.encode())


def test_a_login_names_its_mechanism_exchanges_and_is_done() -> None:
    desk = Desk()
    assert desk.log_in() == Step(b"welcome", 0)
    assert desk.login.is_done
    assert desk.login.principal == Principal("alice")
    assert desk.counts.good_logins == 1


def test_before_it_is_done_only_what_belongs_to_it_is_taken() -> None:
    desk = Desk()
    login = desk.login
    assert [
        key for key in (PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE) if login.refuses(key)
    ] == [
        PRODUCE,
        SASL_AUTHENTICATE,
    ]
    login.handshake("SAYS", with_headers=True)
    assert [
        key for key in (PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE) if login.refuses(key)
    ] == [
        PRODUCE,
        SASL_HANDSHAKE,
        API_VERSIONS,
    ]
    login.authenticate(b"hello")
    assert login.refuses(PRODUCE)
    login.authenticate(b"alice")
    assert not login.refuses(PRODUCE)


def test_a_mechanism_that_is_not_offered_ends_it() -> None:
    desk = Desk()
    with pytest.raises(MechanismNotOffered):
        desk.login.handshake("WHISPERS", with_headers=True)
    assert desk.login.state is State.FAILED
    assert desk.login.offered == ["SAYS", "SHOUTS"]
    assert desk.counts.failed_logins == 1


def test_a_refusal_ends_it_and_is_counted_once() -> None:
    desk = Desk()
    desk.login.handshake("SAYS", with_headers=True)
    with pytest.raises(LoginRefused):
        desk.login.authenticate(b"no")
    desk.login.fail()
    assert desk.login.state is State.FAILED
    assert (desk.counts.failed_logins, desk.counts.good_logins) == (1, 0)
    assert all(desk.login.refuses(key) for key in (PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE))
    with pytest.raises(IllegalState):
        desk.login.authenticate(b"alice")
    with pytest.raises(IllegalState):
        desk.login.handshake("SAYS", with_headers=True)


def test_the_exchange_goes_on_in_bare_frames_after_the_old_handshake_until_it_is_done() -> None:
    desk = Desk()
    desk.login.handshake("SAYS", with_headers=False)
    assert desk.login.takes_bare_tokens
    desk.login.authenticate(b"hello")
    desk.login.authenticate(b"alice")
    assert not desk.login.takes_bare_tokens


def test_after_a_bare_token_was_refused_nothing_is_taken() -> None:
    desk = Desk()
    desk.login.handshake("SAYS", with_headers=False)
    with pytest.raises(LoginRefused):
        desk.login.authenticate(b"no")
    assert not desk.login.takes_bare_tokens
    assert desk.login.refuses(SASL_AUTHENTICATE)


# -- logins that run out (KIP-368)


def test_a_login_holds_as_long_as_the_listener_says() -> None:
    desk = Desk(reauthenticate_ms=5000)
    assert desk.log_in().lifetime_ms == 5000
    desk.clock.advance(4999)
    assert not desk.login.has_expired()
    desk.clock.advance(1)
    assert desk.login.has_expired()


@pytest.mark.parametrize(
    ("reauthenticate_ms", "expires_in_ms", "lifetime_ms"),
    [(0, 3000, 3000), (2000, 3000, 2000), (9000, 3000, 3000), (0, -5, 0)],
)
def test_a_login_holds_no_longer_than_what_proved_it(
    reauthenticate_ms: int, expires_in_ms: int, lifetime_ms: int
) -> None:
    desk = Desk(reauthenticate_ms=reauthenticate_ms, expires_at_ms=NOW_MS + expires_in_ms)
    assert desk.log_in().lifetime_ms == lifetime_ms
    desk.clock.advance(lifetime_ms)
    assert desk.login.has_expired()


def test_a_new_login_on_the_same_connection_holds_anew() -> None:
    desk = Desk(reauthenticate_ms=5000)
    desk.log_in()
    desk.clock.advance(4000)
    assert desk.log_in().lifetime_ms == 5000
    desk.clock.advance(4000)
    assert not desk.login.has_expired()
    assert (desk.counts.good_logins, desk.counts.good_reauthentications) == (1, 1)


def test_a_login_can_be_renewed_after_it_has_run_out() -> None:
    desk = Desk(reauthenticate_ms=5000)
    desk.log_in()
    desk.clock.advance(6000)
    desk.log_in()
    assert not desk.login.has_expired()


def test_a_new_login_must_be_of_the_same_user() -> None:
    desk = Desk(reauthenticate_ms=5000)
    desk.log_in("alice")
    with pytest.raises(LoginRefused, match="Cannot change principals"):
        desk.log_in("bob")
    assert desk.login.state is State.FAILED
    assert desk.login.principal == Principal("alice")
    assert desk.counts.failed_reauthentications == 1


def test_a_new_login_must_be_by_the_same_mechanism() -> None:
    desk = Desk(reauthenticate_ms=5000)
    desk.log_in()
    with pytest.raises(MechanismNotOffered):
        desk.login.handshake("SHOUTS", with_headers=True)
    assert desk.login.state is State.FAILED


def test_where_logins_do_not_run_out_there_is_no_second_one() -> None:
    desk = Desk()
    desk.log_in()
    with pytest.raises(IllegalState):
        desk.login.handshake("SAYS", with_headers=True)
    assert desk.login.is_done  # and the connection goes on


def test_a_login_is_not_renewed_more_than_once_in_a_second() -> None:
    desk = Desk(reauthenticate_ms=5000)
    desk.log_in()
    desk.log_in()
    with pytest.raises(IllegalState):
        desk.log_in()
    assert desk.login.is_done
    desk.clock.advance(1000)
    desk.log_in()
