"""The login of one connection: a handshake that names the mechanism, then the exchange, and later both again.

    NEW --handshake--> EXCHANGING --last step--> DONE --handshake (KIP-368)--> EXCHANGING --last step--> DONE
     |                      |                                                     |
     +----------------------+------------------ refused ------------------------+--> FAILED

A connection whose login has run out answers nothing but a new handshake. A new login must be by the same mechanism and
show the same user: the connection goes on, with all that was allowed on it.
"""

import enum
from typing import NamedTuple

from penstock.observability.clock import Clock
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


_TAKEN = {
    State.NEW: (API_VERSIONS, SASL_HANDSHAKE),
    State.EXCHANGING: (SASL_AUTHENTICATE,),
    State.FAILED: (),
}
"""Which requests are looked at before a login is done."""


class IllegalState(Exception):
    """The request does not belong here; the text is for the client."""


class MechanismNotOffered(Exception):
    """The text names the mechanism."""


class Step(NamedTuple):
    """What to answer, and for how long a login that is done now holds; 0 is for ever, or not done yet."""

    answer: bytes
    lifetime_ms: int = 0


class Login:
    __slots__ = (
        "_began_again_ms",
        "_clock",
        "_counts",
        "_exchange",
        "_mechanism",
        "_mechanisms",
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
        self._began_again_ms: float | None = None
        self.state = State.NEW
        self.is_done = False  # state is DONE: asked for with every request
        self.principal: Principal | None = None  # once it was done
        self.expires_at_ms: float | None = None  # of the monotonic clock
        self.takes_bare_tokens = False  # the exchange goes on in frames without a header, as before KIP-152

    @property
    def offered(self) -> list[str]:
        return list(self._mechanisms.names)

    def refuses(self, api_key: int) -> bool:
        """Whether a request has no place before the login is done."""
        return self.state is not State.DONE and api_key not in _TAKEN[self.state]

    def has_expired(self) -> bool:
        return self.expires_at_ms is not None and self._clock.monotonic_ms() >= self.expires_at_ms

    def handshake(self, mechanism: str, *, with_headers: bool) -> None:
        """Begin. Raises `MechanismNotOffered` or `IllegalState`; the first ends the login."""
        if self.state is State.DONE:
            self._begin_again()
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

    def _begin_again(self) -> None:
        """Only where logins run out, and not all the time, as Kafka has it."""
        now_ms = self._clock.monotonic_ms()
        began_ms = self._began_again_ms
        if self.expires_at_ms is None or (
            began_ms is not None and now_ms - began_ms < _REAUTHENTICATE_AT_MOST_EVERY_MS
        ):
            raise IllegalState("SaslHandshake request received after successful authentication")
        self._began_again_ms = now_ms

    def authenticate(self, received: bytes) -> Step:
        """One step of the exchange. Raises `LoginRefused`, which ends the login, or `IllegalState`."""
        if self.state is not State.EXCHANGING or self._exchange is None:
            raise IllegalState("SaslAuthenticate request received after successful authentication")
        try:
            answer = self._exchange.step(received)
            granted = self._exchange.granted
            if granted is None:
                return Step(answer)
            return Step(answer, self._complete(granted))
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
        return self._hold(granted)

    def _hold(self, granted: Granted) -> int:
        """For how long: as long as the proof is good, and no longer than the listener allows."""
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
        """Nothing more is taken on this connection."""
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
