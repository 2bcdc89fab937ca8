"""Connections from one broker to another, with the TLS and SASL of the inter-broker listener.

The settings are `inter.broker.listener.name`, `sasl.mechanism.inter.broker.protocol` and `sasl.jaas.config`. The
metadata quorum uses the same listener; in a cluster with nodes of Apache Kafka it uses `controller.listener.names` and
`sasl.mechanism.controller.protocol`. If a listener requires neither a login nor a certificate, brokers first prove that
they know the cluster secret (ADR 19), except to Kafka's nodes, which cannot (ADR 23).
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.client.connection import Connection
from penstock.client.connector import Connector
from penstock.client.errors import ClientError
from penstock.client.settings import SaslSettings
from penstock.config.broker import BrokerConfig
from penstock.config.controllers import controller_listener
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError, Property
from penstock.config.settings import security
from penstock.observability.log_limiter import LogLimiter
from penstock.protocol.messages import sasl_authenticate, sasl_handshake
from penstock.runtime.clock import Clock
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.mixed_cluster import MixedCluster
from penstock.security.sasl.cluster import NAME, OtherCluster, ProofFailed, client_proof
from penstock.security.scram_credentials import SCRAM_BY_NAME

if TYPE_CHECKING:  # loaded when the brokers' listener needs them
    from penstock.security.tls.contexts import FollowedContext

log = logging.getLogger(__name__)

_HANDSHAKE_VERSION, _AUTHENTICATE_VERSION = 1, 2
_MODULES = {"PLAIN": "PlainLoginModule", **dict.fromkeys(SCRAM_BY_NAME, "ScramLoginModule")}


class PeerRefused(ConnectionError):
    """The other broker rejected this one's login, or could not prove its identity."""


class NotAMember(PeerRefused):
    """The other broker, or this one, could not prove that it knows the cluster secret."""


class _Route(NamedTuple):
    """How to connect to a listener of the other nodes."""

    tls: "FollowedContext | None"
    login: SaslSettings | None
    """The credentials of this broker, where others require a login."""
    proves_secret: bool
    """Whether brokers identify each other by the cluster secret."""


class Dialer:
    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        network: Connector,
        clock: Clock,
        secret: ClusterSecret,
        *,
        client_id: str,
        mixed: MixedCluster | None = None,
    ) -> None:
        """Raises `ConfigError` for incomplete settings."""
        settings = config()
        self._network = network
        self._client_id = client_id
        self._secret = secret
        self._mixed = MixedCluster() if mixed is None else mixed
        self._log_limiter = LogLimiter(clock)
        self._brokers = _route(
            settings.inter_broker_listener, security.SASL_MECHANISM_INTER_BROKER_PROTOCOL, config, clock
        )
        self._config = config
        self._clock = clock
        self._controllers: _Route | None = None
        if self._mixed.is_mixed and controller_listener(settings) is not None:
            self._controllers = self._route_to_controllers()

    @property
    def own_login(self) -> SaslSettings | None:
        """The credentials of this broker on the brokers' listener, where others require a login."""
        return self._brokers.login

    @property
    def proves_secret(self) -> bool:
        """Whether brokers identify each other by the cluster secret."""
        return self._brokers.proves_secret

    @property
    def proves_secret_to_controllers(self) -> bool:
        """Whether nodes prove the cluster secret on the listener of controllers, if there is a separate one."""
        settings = self._config()
        listener = controller_listener(settings)
        return listener is not None and not is_authenticated(settings, listener)

    async def open(self, endpoint: Endpoint) -> Connection:
        """Raises `OSError`."""
        try:
            route = self._route_to(endpoint)
            connection = await self._connect(endpoint, route)
            try:
                if route.proves_secret:
                    await self._prove(connection)
            except BaseException:
                connection.abort()
                raise
        except PeerRefused as error:
            if self._log_limiter.times((endpoint.host, endpoint.port)):
                log.warning(
                    "Cannot connect to a broker: %s. address=%s:%d", error, endpoint.host, endpoint.port
                )
            raise
        return connection

    def _route_to(self, endpoint: Endpoint) -> _Route:
        if endpoint.name != controller_listener(self._config()):
            return self._brokers
        if self._controllers is None:
            try:
                self._controllers = self._route_to_controllers()
            except ConfigError as error:
                raise PeerRefused(str(error)) from error
        return self._controllers

    def _route_to_controllers(self) -> _Route:
        """The route to the listener of the quorum, where it is not the brokers'. Raises `ConfigError`."""
        listener = controller_listener(self._config())
        assert listener is not None
        mechanism = security.SASL_MECHANISM_CONTROLLER_PROTOCOL
        return _route(listener, mechanism, self._config, self._clock)

    async def _connect(self, endpoint: Endpoint, route: _Route) -> Connection:
        """Connect, learn the API versions of the other node, and log in."""
        connection = await Connection.open(
            endpoint.host,
            endpoint.port,
            client_id=self._client_id,
            tls=route.tls.current() if route.tls is not None else None,
            network=self._network,
        )
        try:
            await connection.handshake(f"{endpoint.host}:{endpoint.port}", route.login)
        except BaseException as error:
            connection.abort()
            if isinstance(error, ClientError):
                raise PeerRefused(str(error)) from error
            raise
        return connection

    async def _prove(self, connection: Connection) -> None:
        """Prove membership to the other broker, after it has proved its own.

        A node that has no such mechanism may be one of Kafka, while Kafka's nodes are in the cluster.
        """
        answer: Any = await connection.call(
            sasl_handshake.API_KEY,
            _HANDSHAKE_VERSION,
            sasl_handshake.SaslHandshakeRequest(mechanism=NAME),
        )
        if answer.error_code:
            if self._mixed.is_mixed:
                return
            raise NotAMember(
                "it accepts no proof of a cluster token: it has none yet, is an earlier version, or is not Penstock"
            )
        steps = client_proof(self._secret.nonce(), self._secret.of)
        message = next(steps)
        while True:
            request = sasl_authenticate.SaslAuthenticateRequest(auth_bytes=message)
            answer = await connection.call(sasl_authenticate.API_KEY, _AUTHENTICATE_VERSION, request)
            if answer.error_code:
                raise NotAMember(f"it rejected this broker's token: {answer.error_message}")
            try:
                message = steps.send(bytes(answer.auth_bytes))
            except OtherCluster as failure:
                raise PeerRefused(str(failure)) from None
            except ProofFailed as failure:
                raise NotAMember(str(failure)) from None
            except StopIteration as done:
                self._secret.value, _ = done.value
                return


def _route(
    listener: str, mechanism: Property[str], config: Callable[[], BrokerConfig], clock: Clock
) -> _Route:
    """Raises `ConfigError`."""
    settings = config()
    protocol = settings.protocol_of(listener)
    tls: FollowedContext | None = None
    if protocol.endswith("SSL"):
        from penstock.security.tls import contexts  # noqa: PLC0415

        tls = contexts.FollowedContext(listener, config, contexts.client_context, clock)
    login = own_login(settings, listener, mechanism) if protocol.startswith("SASL_") else None
    return _Route(tls, login, proves_secret=not is_authenticated(settings, listener))


def is_authenticated(config: BrokerConfig, listener: str) -> bool:
    """Whether every peer on a listener has a login or a certificate."""
    protocol = config.protocol_of(listener)
    if protocol == "SSL":
        return bool(config.for_listener(listener, security.SSL_CLIENT_AUTH) == "required")
    return protocol.startswith("SASL_")


def own_login(config: BrokerConfig, listener: str, setting: Property[str]) -> SaslSettings:
    """The credentials for a listener, with the mechanism of a setting. Raises `ConfigError`."""
    from penstock.security.sasl.mechanisms import login_module  # noqa: PLC0415

    mechanism = config[setting]
    if mechanism not in _MODULES:
        raise ConfigError(
            f"{setting.name} is {mechanism}: brokers log in to each other by one of "
            f"{', '.join(_MODULES)}, or use a listener that asks for no login (inter.broker.listener.name)"
        )
    module = login_module(config, listener, mechanism, _MODULES[mechanism])
    user, password = (module.options.get(key, "") for key in ("username", "password")) if module else ("", "")
    if not user or not password:
        raise ConfigError(
            f"brokers log in to each other by {mechanism} on listener {listener}, but sasl.jaas.config has no "
            f'credentials: set it to "{_MODULES[mechanism]} required username=\\"…\\" password=\\"…\\";"'
        )
    return SaslSettings(mechanism=mechanism, username=user, password=password)
