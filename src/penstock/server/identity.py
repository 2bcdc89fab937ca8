"""Who this broker is, and who others are to it: the parts of authentication, put together."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.themes import security
from penstock.observability.clock import Clock
from penstock.observability.offload import Offload
from penstock.security.dialer import Dialer
from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.scram_credentials import SCRAM_BY_NAME, ScramCredential

if TYPE_CHECKING:
    from penstock.security.token_keys import TokenKeys
    from penstock.server.listener_security import ListenerSecurity


class Identity:
    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        dialer: Dialer,
        credentials: Callable[[], Mapping[tuple[str, int], ScramCredential]],
        offload: Offload,
        clock: Clock,
    ) -> None:
        """Raises `ConfigError` when a listener asks for what the settings do not have."""
        self.listeners: dict[str, ListenerSecurity] = {}
        self._keys: TokenKeys | None = None
        settings = config()
        if all(each.security_protocol == "PLAINTEXT" for each in settings.listeners):
            return
        from penstock.security import token_keys  # noqa: PLC0415  see connection_host
        from penstock.security.scram_users import ScramUsers  # noqa: PLC0415
        from penstock.server.listener_security import secure_listeners  # noqa: PLC0415

        users = ScramUsers(credentials, lambda: config()[security.SCRAM_DECOY_SECRET])
        own = dialer.own_login
        if own is not None and own.mechanism in SCRAM_BY_NAME:
            listener = settings.inter_broker_listener
            users.set_own(listener, SCRAM_BY_NAME[own.mechanism], own.username, own.password)
        self._keys = token_keys.TokenKeys(offload, clock)
        brokers = {settings.inter_broker_listener: _brokers(settings, dialer)}
        self.listeners = secure_listeners(
            settings.listeners, config, users, self._keys, clock, brokers=brokers
        )

    @property
    def counts(self) -> dict[str, IdentityCounts]:
        """By listener."""
        return {name: each.counts for name, each in self.listeners.items()}

    async def start(self) -> None:
        if self._keys is not None:
            await self._keys.start()

    def stop(self) -> None:
        if self._keys is not None:
            self._keys.stop()


def _brokers(config: BrokerConfig, dialer: Dialer) -> frozenset[Principal]:
    """Who is a broker on the listener that brokers use: who shows what this broker shows there itself.

    And who is in `super.users`: certificates may name each broker differently, and a new user for all of them reaches
    one after the other. Nobody there, where brokers prove a secret instead.
    """
    if dialer.proves_secret:
        return frozenset()
    from penstock.security.acl_authorizer import parse_super_users  # noqa: PLC0415  see above

    try:
        named = parse_super_users(config[security.SUPER_USERS])
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return frozenset([*named, *_own(config, dialer)]) - {ANONYMOUS}


def _own(config: BrokerConfig, dialer: Dialer) -> list[Principal]:
    if dialer.own_login is not None:
        return [Principal(dialer.own_login.username)]
    from penstock.security.tls.own_name import own_name  # noqa: PLC0415

    name = own_name(config, config.inter_broker_listener)
    return [] if name is None else [Principal(name)]
