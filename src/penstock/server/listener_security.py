"""What a listener asks of those who connect. Every connection is made with it: none is open to all by omission."""

from typing import TYPE_CHECKING

from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import Principal

if TYPE_CHECKING:  # most brokers ask nobody who they are, and need not load what it takes
    from penstock.security.sasl.listener import ListenerLogins
    from penstock.server.secure_listeners import ListenerTls


class ListenerSecurity:
    """Of one listener from the time it is opened. `tls` and `logins` are None where its protocol has them not.

    `brokers` are who is a broker on it.
    """

    def __init__(
        self,
        tls: "ListenerTls | None",
        logins: "ListenerLogins | None",
        counts: IdentityCounts,
        brokers: frozenset[Principal] = frozenset(),
    ) -> None:
        self.tls = tls
        self.logins = logins
        self.counts = counts
        self.brokers = brokers
        self.is_closed = False
        """Whoever was accepted just before the listener was closed is turned away."""


def asks_nothing() -> ListenerSecurity:
    """Of a listener whose security protocol is PLAINTEXT."""
    return ListenerSecurity(None, None, IdentityCounts())
