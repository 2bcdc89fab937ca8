"""The mechanisms of one listener, made of its settings."""

import secrets
from collections.abc import Callable, Mapping
from functools import partial

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.settings import security
from penstock.runtime.clock import Clock
from penstock.security.sasl import oauth, plain
from penstock.security.sasl.exchange import Exchange
from penstock.security.sasl.jaas import LoginModule, parse_jaas
from penstock.security.sasl.scram import ScramExchange
from penstock.security.scram_credentials import SCRAM_BY_NAME, ScramMechanism
from penstock.security.scram_users import ScramUsers
from penstock.security.token_keys import TokenKeys

SUPPORTED = (plain.NAME, *SCRAM_BY_NAME, oauth.NAME)
_NONCE_BYTES = 24

Begin = Callable[[], Exchange]


class Mechanisms:
    """`names` in the order in which they are offered."""

    def __init__(self, begin: Mapping[str, Begin], reauthenticate_ms: Mapping[str, int]) -> None:
        self.names = tuple(begin)
        self._begin = begin
        self._reauthenticate_ms = reauthenticate_ms

    def begin(self, mechanism: str) -> Exchange:
        return self._begin[mechanism]()

    def reauthenticate_ms(self, mechanism: str) -> int:
        """The longest lifetime of a login; 0 without limit."""
        return self._reauthenticate_ms[mechanism]


def mechanisms_of(
    config: BrokerConfig, listener: str, users: ScramUsers, keys: TokenKeys, clock: Clock
) -> Mechanisms:
    """Raises `ConfigError` when the settings do not say enough."""
    names = config.for_listener(listener, security.SASL_ENABLED_MECHANISMS)
    if not names:
        raise ConfigError(
            f"listener {listener} asks for a login, but sasl.enabled.mechanisms is empty: "
            f"name some of {', '.join(SUPPORTED)}"
        )
    begin: dict[str, Begin] = {}
    for name in names:
        if name == plain.NAME:
            begin[name] = partial(plain.PlainExchange, _plain_users(config, listener))
        elif name in SCRAM_BY_NAME:
            begin[name] = partial(_scram, users, SCRAM_BY_NAME[name], listener)
        elif name == oauth.NAME:
            begin[name] = partial(
                oauth.OAuthBearerExchange,
                keys.following(listener, config),
                oauth.rules_of(config, listener),
                clock,
            )
        else:
            raise ConfigError(
                f"sasl.enabled.mechanisms names {name}, which Penstock does not support: "
                f"use some of {', '.join(SUPPORTED)}"
            )
    return Mechanisms(
        begin,
        {name: config.for_listener(listener, security.CONNECTIONS_MAX_REAUTH_MS, name) for name in names},
    )


def login_module(config: BrokerConfig, listener: str, mechanism: str, kind: str) -> LoginModule | None:
    """The module of a kind (`PlainLoginModule`) that the settings have for a listener and mechanism."""
    text = config.for_listener(listener, security.SASL_JAAS_CONFIG, mechanism)
    modules = parse_jaas(text) if text else []
    return next((module for module in modules if module.name == kind), None)


def _plain_users(config: BrokerConfig, listener: str) -> dict[str, str]:
    module = login_module(config, listener, plain.NAME, "PlainLoginModule")
    if module is None:
        raise ConfigError(
            f"listener {listener} offers PLAIN, but has no users: set "
            f'listener.name.{listener.lower()}.plain.sasl.jaas.config to "org.apache.kafka.common.security.plain.'
            'PlainLoginModule required user_alice=\\"…\\";"'
        )
    return module.users


def _scram(users: ScramUsers, mechanism: ScramMechanism, listener: str) -> ScramExchange:
    return ScramExchange(
        mechanism,
        partial(users.known, mechanism, listener),
        partial(users.decoy, mechanism),
        lambda: secrets.token_urlsafe(_NONCE_BYTES),
    )
