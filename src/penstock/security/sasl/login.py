"""The SASL login of one connection: handshake, exchange, and later re-authentication.

    NEW --handshake--> EXCHANGING --last step--> DONE --handshake (KIP-368)--> EXCHANGING --last step--> DONE
     |                      |                                                     |
     +----------------------+------------------ refused ------------------------+--> FAILED

A connection whose login has expired accepts only a new handshake. Re-authentication must use the same mechanism and
prove the same user.
"""

import enum
from typing import NamedTuple

from penstock.runtime.clock import Clock
from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import Principal
from penstock.security.sasl.exchange import Exchange, Granted, LoginRefused
from penstock.security.sasl.mechanisms import Mechanisms

_REAUTHENTICATE_AT_MOST_EVERY_MS = 1000

SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36


class State(enum.Enum):
    NEW = enum.auto()
    EXCHANGING = enum.auto()
    DONE = enum.auto()
    FAILED = enum.auto()


_ACCEPTED = {
    State.NEW: (API_VERSIONS, SASL_HANDSHAKE),
    State.EXCHANGING: (SASL_AUTHENTICATE,),
    State.FAILED: (),
}
"""The requests that are accepted before a login is done."""


class IllegalState(Exception):
    """The request is not allowed in this state; the text is for the client."""


class MechanismNotOffered(Exception):
    """The text names the mechanism."""


class Step(NamedTuple):
    """The response, and the lifetime of a completed login; 0: without limit, or not completed."""

    answer: bytes
    lifetime_ms: int = 0


class Login:
    __slots__ = (
        "_clock",
        "_counts",
        "_exchange",
        "_mechanism",
        "_mechanisms",
        "_reauthenticated_at_ms",
        "expires_at_ms",
        "is_done",
        "principal",
        "state",
        "takes_bare_tokens",
    )

    def __init__(self, mechanisms: Mechanisms, counts: IdentityCounts, clock: Clock) -> None:
        self._mechanisms = mechanisms
        self._counts = counts
        self._clock = clock
        self._exchange: Exchange | None = None
        self._mechanism = ""
        self._reauthenticated_at_ms: float | None = None
        self.state = State.NEW
        self.is_done = False  # state is DONE: read for every request
        self.principal: Principal | None = None  # once it was done
        self.expires_at_ms: float | None = None  # of the monotonic clock
        self.takes_bare_tokens = False  # the exchange continues in frames without a header, as before KIP-152

    @property
    def offered(self) -> list[str]:
        return list(self._mechanisms.names)

    def refuses(self, api_key: int) -> bool:
        """Whether a request is not allowed before the login is done."""
        return self.state is not State.DONE and api_key not in _ACCEPTED[self.state]

    def has_expired(self) -> bool:
        return self.expires_at_ms is not None and self._clock.monotonic_ms() >= self.expires_at_ms

    def handshake(self, mechanism: str, *, with_headers: bool) -> None:
        """Begin. Raises `MechanismNotOffered` or `IllegalState`; the first ends the login."""
        if self.state is State.DONE:
            self._begin_reauthentication()
        elif self.state is not State.NEW:
            raise IllegalState("SaslHandshake request received during an exchange")
        if mechanism not in self._mechanisms.names:
            self.fail()
            raise MechanismNotOffered(mechanism)
        if self.principal is not None and mechanism != self._mechanism:
            self.fail()
            raise MechanismNotOffered(mechanism)
        self._mechanism = mechanism
        self._exchange = self._mechanisms.begin(mechanism)
        self.takes_bare_tokens = not with_headers
        self._become(State.EXCHANGING)

    def _begin_reauthentication(self) -> None:
        """Allowed only where logins expire, and at most once a second, as in Kafka."""
        now_ms = self._clock.monotonic_ms()
        began_ms = self._reauthenticated_at_ms
        if self.expires_at_ms is None or (
            began_ms is not None and now_ms - began_ms < _REAUTHENTICATE_AT_MOST_EVERY_MS
        ):
            raise IllegalState("SaslHandshake request received after successful authentication")
        self._reauthenticated_at_ms = now_ms

    def authenticate(self, received: bytes) -> Step:
        """One step of the exchange. Raises `LoginRefused`, which ends the login, or `IllegalState`."""
        if self.state is not State.EXCHANGING or self._exchange is None:
            raise IllegalState("SaslAuthenticate request received after successful authentication")
        try:
            response = self._exchange.step(received)
            granted = self._exchange.granted
            if granted is None:
                return Step(response)
            return Step(response, self._complete(granted))
        except LoginRefused:
            self.fail()
            raise

    def _complete(self, granted: Granted) -> int:
        principal = Principal(granted.user)
        if self.principal not in (None, principal):
            raise LoginRefused(
                f"Cannot change principals during re-authentication from {self.principal}: {principal}"
            )
        if self.principal is None:
            self._counts.good_logins += 1
        else:
            self._counts.good_reauthentications += 1
        self.principal = principal
        self._exchange = None
        self.takes_bare_tokens = False
        self._become(State.DONE)
        return self._set_expiry(granted)

    def _set_expiry(self, granted: Granted) -> int:
        """The lifetime is that of the credentials, bounded by the listener's limit."""
        limits = []
        if (most_ms := self._mechanisms.reauthenticate_ms(self._mechanism)) > 0:
            limits.append(most_ms)
        if granted.expires_at_ms is not None:
            limits.append(max(0, granted.expires_at_ms - self._clock.now_ms()))
        if not limits:
            self.expires_at_ms = None
            return 0
        self.expires_at_ms = self._clock.monotonic_ms() + min(limits)
        return min(limits)

    def fail(self) -> None:
        """Reject every further request."""
        if self.state is State.FAILED:
            return
        if self.principal is None:
            self._counts.failed_logins += 1
        else:
            self._counts.failed_reauthentications += 1
        self._exchange = None
        self.takes_bare_tokens = False
        self._become(State.FAILED)

    def expire(self) -> None:
        self._counts.sessions_expired += 1
        self._exchange = None
        self._become(State.FAILED)

    def _become(self, state: State) -> None:
        self.state = state
        self.is_done = state is State.DONE
