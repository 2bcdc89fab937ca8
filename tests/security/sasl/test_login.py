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


class TwoStepExchange:
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


class LoginStage:
    """A login with its dependencies."""

    def __init__(self, *, reauthenticate_ms: int = 0, expires_at_ms: int | None = None) -> None:
        def begin() -> Exchange:
            return TwoStepExchange(expires_at_ms)

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


def test_a_login_names_its_mechanism_runs_the_exchange_and_completes() -> None:
    stage = LoginStage()
    assert stage.log_in() == Step(b"welcome", 0)
    assert stage.login.is_done
    assert stage.login.principal == Principal("alice")
    assert stage.counts.good_logins == 1


def test_before_the_login_completes_other_requests_are_refused() -> None:
    stage = LoginStage()
    login = stage.login
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


def test_an_unsupported_mechanism_fails_the_login() -> None:
    stage = LoginStage()
    with pytest.raises(MechanismNotOffered):
        stage.login.handshake("WHISPERS", with_headers=True)
    assert stage.login.state is State.FAILED
    assert stage.login.offered == ["SAYS", "SHOUTS"]
    assert stage.counts.failed_logins == 1


def test_a_refusal_fails_the_login_and_is_counted_once() -> None:
    stage = LoginStage()
    stage.login.handshake("SAYS", with_headers=True)
    with pytest.raises(LoginRefused):
        stage.login.authenticate(b"no")
    stage.login.fail()
    assert stage.login.state is State.FAILED
    assert (stage.counts.failed_logins, stage.counts.good_logins) == (1, 0)
    assert all(stage.login.refuses(key) for key in (PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE))
    with pytest.raises(IllegalState):
        stage.login.authenticate(b"alice")
    with pytest.raises(IllegalState):
        stage.login.handshake("SAYS", with_headers=True)


def test_after_the_old_handshake_the_exchange_uses_bare_frames() -> None:
    stage = LoginStage()
    stage.login.handshake("SAYS", with_headers=False)
    assert stage.login.takes_bare_tokens
    stage.login.authenticate(b"hello")
    stage.login.authenticate(b"alice")
    assert not stage.login.takes_bare_tokens


def test_after_a_refused_bare_token_every_frame_is_refused() -> None:
    stage = LoginStage()
    stage.login.handshake("SAYS", with_headers=False)
    with pytest.raises(LoginRefused):
        stage.login.authenticate(b"no")
    assert not stage.login.takes_bare_tokens
    assert stage.login.refuses(SASL_AUTHENTICATE)


# -- logins that expire (KIP-368)


def test_a_login_expires_after_the_listeners_maximum() -> None:
    stage = LoginStage(reauthenticate_ms=5000)
    assert stage.log_in().lifetime_ms == 5000
    stage.clock.advance(4999)
    assert not stage.login.has_expired()
    stage.clock.advance(1)
    assert stage.login.has_expired()


@pytest.mark.parametrize(
    ("reauthenticate_ms", "expires_in_ms", "lifetime_ms"),
    [(0, 3000, 3000), (2000, 3000, 2000), (9000, 3000, 3000), (0, -5, 0)],
)
def test_a_login_expires_with_its_credential(
    reauthenticate_ms: int, expires_in_ms: int, lifetime_ms: int
) -> None:
    stage = LoginStage(reauthenticate_ms=reauthenticate_ms, expires_at_ms=NOW_MS + expires_in_ms)
    assert stage.log_in().lifetime_ms == lifetime_ms
    stage.clock.advance(lifetime_ms)
    assert stage.login.has_expired()


def test_a_reauthentication_starts_a_new_lifetime() -> None:
    stage = LoginStage(reauthenticate_ms=5000)
    stage.log_in()
    stage.clock.advance(4000)
    assert stage.log_in().lifetime_ms == 5000
    stage.clock.advance(4000)
    assert not stage.login.has_expired()
    assert (stage.counts.good_logins, stage.counts.good_reauthentications) == (1, 1)


def test_an_expired_login_can_be_renewed() -> None:
    stage = LoginStage(reauthenticate_ms=5000)
    stage.log_in()
    stage.clock.advance(6000)
    stage.log_in()
    assert not stage.login.has_expired()


def test_a_reauthentication_must_be_of_the_same_user() -> None:
    stage = LoginStage(reauthenticate_ms=5000)
    stage.log_in("alice")
    with pytest.raises(LoginRefused, match="Cannot change principals"):
        stage.log_in("bob")
    assert stage.login.state is State.FAILED
    assert stage.login.principal == Principal("alice")
    assert stage.counts.failed_reauthentications == 1


def test_a_reauthentication_must_use_the_same_mechanism() -> None:
    stage = LoginStage(reauthenticate_ms=5000)
    stage.log_in()
    with pytest.raises(MechanismNotOffered):
        stage.login.handshake("SHOUTS", with_headers=True)
    assert stage.login.state is State.FAILED


def test_logins_without_an_expiry_cannot_be_renewed() -> None:
    stage = LoginStage()
    stage.log_in()
    with pytest.raises(IllegalState):
        stage.login.handshake("SAYS", with_headers=True)
    assert stage.login.is_done  # and the connection continues


def test_a_login_is_not_renewed_more_than_once_in_a_second() -> None:
    stage = LoginStage(reauthenticate_ms=5000)
    stage.log_in()
    stage.log_in()
    with pytest.raises(IllegalState):
        stage.log_in()
    assert stage.login.is_done
    stage.clock.advance(1000)
    stage.log_in()
