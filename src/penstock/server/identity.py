"""Authentication of a broker: the security of its listeners, and its own identity towards other brokers."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.config.settings import security
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.security.dialer import Dialer
from penstock.security.identity_counts import IdentityCounts
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.scram_credentials import SCRAM_BY_NAME, ScramCredential
from penstock.server.listener_security import ListenerSecurity

if TYPE_CHECKING:
    from penstock.security.token_keys import TokenKeys


class Identity:
    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        dialer: Dialer,
        credentials: Callable[[], Mapping[tuple[str, int], ScramCredential]],
        offload: Offload,
        clock: Clock,
    ) -> None:
        """Raises `ConfigError` when the settings lack something that a listener needs."""
        self.listeners: dict[str, ListenerSecurity] = {}
        self._config = config
        self._dialer = dialer
        self._credentials = credentials
        self._offload = offload
        self._clock = clock
        self._keys: TokenKeys | None = None
        self._is_started = False
        self.secure(config().listeners)

    def secure(self, endpoints: Sequence[Endpoint]) -> None:
        """Make the security of these listeners. Raises `ConfigError`."""
        if all(each.security_protocol == "PLAINTEXT" for each in endpoints):
            return
        if self._keys is None:
            self._keys = self._make_keys(is_started=self._is_started)
        self.listeners.update(self._secured(endpoints, self._config, self._keys))

    def check(self, endpoints: Sequence[Endpoint], settings: BrokerConfig) -> None:
        """Raises `ConfigError` when these settings lack something that the listeners need."""
        if any(each.security_protocol != "PLAINTEXT" for each in endpoints):
            self._secured(endpoints, lambda: settings, self._make_keys())

    def forget(self, listener: str) -> None:
        self.listeners.pop(listener, None)

    def _make_keys(self, *, is_started: bool = False) -> "TokenKeys":
        from penstock.security import token_keys  # noqa: PLC0415  see connections

        return token_keys.TokenKeys(self._offload, self._clock, is_started=is_started)

    def _secured(
        self, endpoints: Sequence[Endpoint], config: Callable[[], BrokerConfig], keys: "TokenKeys"
    ) -> dict[str, ListenerSecurity]:
        from penstock.security.scram_users import ScramUsers  # noqa: PLC0415  see connections
        from penstock.server.secure_listeners import secure_listeners  # noqa: PLC0415

        settings = config()
        users = ScramUsers(self._credentials, lambda: config()[security.SCRAM_DECOY_SECRET])
        own = self._dialer.own_login
        listener = settings.inter_broker_listener
        is_among = any(each.name == listener for each in endpoints)
        if is_among and own is not None and own.mechanism in SCRAM_BY_NAME:
            users.set_own(listener, SCRAM_BY_NAME[own.mechanism], own.username, own.password)
        brokers = {listener: _brokers(settings, self._dialer)} if is_among else {}
        return secure_listeners(endpoints, config, users, keys, self._clock, brokers=brokers)

    @property
    def counts(self) -> dict[str, IdentityCounts]:
        """By listener."""
        return {name: each.counts for name, each in self.listeners.items()}

    async def start(self) -> None:
        self._is_started = True
        if self._keys is not None:
            await self._keys.start()

    def stop(self) -> None:
        if self._keys is not None:
            self._keys.stop()


def _brokers(config: BrokerConfig, dialer: Dialer) -> frozenset[Principal]:
    """Return the principals of brokers on the inter-broker listener: this broker's own, and all in `super.users`.

    Certificates may name each broker differently, and a new user reaches one broker after the other. There are none
    where brokers prove the secret of the cluster instead.
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
    from penstock.security.tls.own_user import own_user  # noqa: PLC0415

    name = own_user(config, config.inter_broker_listener)
    return [] if name is None else [Principal(name)]
