"""Authentication of a broker: the security of its listeners, and its own identity towards other brokers."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.client.settings import SaslSettings
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.config.settings import security
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.security.dialer import Dialer, is_authenticated, own_login
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
        names = {each.name for each in endpoints}
        brokers: dict[str, frozenset[Principal]] = {}
        for listener, login in self._logins_among_nodes(settings).items():
            if listener not in names:
                continue
            if login is not None and login.mechanism in SCRAM_BY_NAME:
                users.add_own(listener, SCRAM_BY_NAME[login.mechanism], login.username, login.password)
            brokers[listener] = _brokers(settings, listener, login)
        return secure_listeners(endpoints, config, users, keys, self._clock, brokers=brokers)

    def _logins_among_nodes(self, settings: BrokerConfig) -> dict[str, SaslSettings | None]:
        """The listeners of brokers and of controllers, with this node's credentials there. Raises `ConfigError`."""
        logins: dict[str, SaslSettings | None] = {}
        for listener in settings.controller_listeners:
            is_sasl = settings.protocol_of(listener).startswith("SASL_")
            setting = security.SASL_MECHANISM_CONTROLLER_PROTOCOL
            logins[listener] = own_login(settings, listener, setting) if is_sasl else None
        return {**logins, settings.inter_broker_listener: self._dialer.own_login}

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


def _brokers(config: BrokerConfig, listener: str, login: SaslSettings | None) -> frozenset[Principal]:
    """Return the principals of nodes on a listener of theirs: this node's own, and all in `super.users`.

    Certificates may name each broker differently, and a new user reaches one broker after the other. There are none
    where brokers prove the secret of the cluster instead.
    """
    if not is_authenticated(config, listener):
        return frozenset()
    from penstock.security.acl_authorizer import parse_super_users  # noqa: PLC0415  see above

    try:
        named = parse_super_users(config[security.SUPER_USERS])
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return frozenset([*named, *_own(config, listener, login)]) - {ANONYMOUS}


def _own(config: BrokerConfig, listener: str, login: SaslSettings | None) -> list[Principal]:
    if login is not None:
        return [Principal(login.username)]
    from penstock.security.tls.own_user import own_user  # noqa: PLC0415

    name = own_user(config, listener)
    return [] if name is None else [Principal(name)]
