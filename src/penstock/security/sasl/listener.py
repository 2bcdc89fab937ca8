"""The logins of one listener, by its current settings."""

import logging
from collections.abc import Callable

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.settings import network, security
from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import Clock
from penstock.security.identity_counts import IdentityCounts
from penstock.security.sasl.login import Login
from penstock.security.sasl.mechanisms import Mechanisms, mechanisms_of
from penstock.security.scram_users import ScramUsers
from penstock.security.token_keys import TokenKeys

log = logging.getLogger(__name__)


class ListenerLogins:
    def __init__(
        self,
        listener: str,
        config: Callable[[], BrokerConfig],
        users: ScramUsers,
        keys: TokenKeys,
        *,
        counts: IdentityCounts,
        clock: Clock,
    ) -> None:
        """Raises `ConfigError` for incomplete settings."""
        self._listener = listener
        self._config = config
        self._users = users
        self._keys = keys
        self._counts = counts
        self._clock = clock
        self._known = config()
        self._mechanisms = self._build()
        self.log_limiter = LogLimiter(clock)
        self.frame_bytes_max = self._known[security.SASL_SERVER_MAX_RECEIVE_SIZE]
        self.failed_delay_ms = self._known[network.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS]

    def begin(self) -> Login:
        if self._config() is not self._known:
            self._update()
        return Login(self._mechanisms, self._counts, self._clock)

    def _update(self) -> None:
        self._known = self._config()
        try:
            self._mechanisms = self._build()
        except ConfigError as error:
            log.error("Kept the previous SASL settings: %s. listener=%s", error, self._listener)  # noqa: TRY400

    def _build(self) -> Mechanisms:
        return mechanisms_of(self._known, self._listener, self._users, self._keys, self._clock)
