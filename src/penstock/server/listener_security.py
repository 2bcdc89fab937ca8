"""The security of a listener. Every connection needs one, so that none is open to all by omission."""

from typing import TYPE_CHECKING

import msgspec

from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import Principal

if TYPE_CHECKING:  # loaded only by brokers with authentication
    from penstock.security.sasl.listener import ListenerLogins
    from penstock.server.secure_listeners import ListenerTls


class ListenerSecurity(msgspec.Struct, eq=False):
    """`tls` and `logins` are None where the security protocol has none; `brokers` are the principals of brokers."""

    tls: "ListenerTls | None"
    logins: "ListenerLogins | None"
    counts: IdentityCounts
    brokers: frozenset[Principal] = frozenset()
    is_closed: bool = False
    """Connections that were accepted just before the listener was closed are closed too."""


def plaintext() -> ListenerSecurity:
    """Make the security of a PLAINTEXT listener."""
    return ListenerSecurity(None, None, IdentityCounts())
