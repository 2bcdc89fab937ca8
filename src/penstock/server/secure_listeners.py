"""Makes the security of each listener: TLS, client certificates, logins."""

import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.settings import security
from penstock.runtime.clock import Clock
from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.principal_rules import PrincipalRules, subject_name
from penstock.security.sasl.listener import ListenerLogins
from penstock.security.scram_users import ScramUsers
from penstock.security.tls.contexts import FollowedContext, server_context
from penstock.security.token_keys import TokenKeys
from penstock.server.listener_security import ListenerSecurity

log = logging.getLogger(__name__)


class ListenerTls:
    def __init__(self, listener: str, config: Callable[[], BrokerConfig], clock: Clock) -> None:
        """Raises `ConfigError`."""
        self._context = FollowedContext(listener, config, server_context, clock)
        self._rules = PrincipalRules(config().for_listener(listener, security.SSL_PRINCIPAL_MAPPING_RULES))

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        return self._context.current()

    def look(self) -> None:
        self._context.look()

    def principal_of(self, tls: Any) -> Principal:
        """Return the principal of the client certificate, or ANONYMOUS without one. Raises `NoMatchingRule`."""
        certificate = tls.getpeercert()
        if not certificate:
            return ANONYMOUS
        return Principal(self._rules.name_of(subject_name(certificate["subject"])))


_READABLE = ("PLAIN", "OAUTHBEARER")
_LOOPBACK = ("127.", "localhost", "::1")


def _warn_if_readable(endpoint: Endpoint, config: BrokerConfig) -> None:
    """Warn of mechanisms that send the secret in clear text over a connection without encryption."""
    mechanisms = config.for_listener(endpoint.name, security.SASL_ENABLED_MECHANISMS)
    readable = [each for each in mechanisms if each in _READABLE]
    if (
        readable
        and endpoint.security_protocol == "SASL_PLAINTEXT"
        and not endpoint.host.startswith(_LOOPBACK)
    ):
        log.warning(
            "Logins are not encrypted, and anybody on the network can read the passwords: use SASL_SSL. listener=%s "
            "mechanisms=%s",
            endpoint.name,
            ",".join(readable),
        )


def secure_listeners(
    endpoints: Sequence[Endpoint],
    config: Callable[[], BrokerConfig],
    users: ScramUsers,
    keys: TokenKeys,
    clock: Clock,
    *,
    brokers: Mapping[str, frozenset[Principal]] | None = None,
) -> dict[str, ListenerSecurity]:
    """Return the security of the listeners that are not PLAINTEXT, by name. Raises `ConfigError`."""
    secured = {}
    for endpoint in endpoints:
        protocol, name = endpoint.security_protocol, endpoint.name
        if protocol == "PLAINTEXT":
            continue
        _warn_if_readable(endpoint, config())
        counts = IdentityCounts()
        secured[name] = ListenerSecurity(
            ListenerTls(name, config, clock) if protocol.endswith("SSL") else None,
            ListenerLogins(name, config, users, keys, counts=counts, clock=clock)
            if protocol.startswith("SASL_")
            else None,
            counts,
            (brokers or {}).get(name, frozenset()),
        )
    return secured
