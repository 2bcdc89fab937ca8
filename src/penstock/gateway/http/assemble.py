"""The admin port of one broker, put together from its parts; loaded with the first connection (see `port`)."""

import socket
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from penstock.client.aio import Security
from penstock.client.settings import ClientSettings
from penstock.cluster.metadata.image import MetadataImage
from penstock.config.broker import BrokerConfig
from penstock.config.settings.admin import (
    ADMIN_ALLOWED_HOSTS,
    ADMIN_LISTENER,
    ADMIN_MAX_CONNECTIONS_PER_IP,
    admin_address,
)
from penstock.console import app as console
from penstock.gateway.http import health, metrics, openapi, produce, read, stream, subscribe
from penstock.gateway.http.access import kafka_access
from penstock.gateway.http.app import CLIENTS, Paths, make_app
from penstock.gateway.http.clients import Clients, KafkaAccess
from penstock.gateway.http.server import AdminServer
from penstock.security.scram_credentials import ScramCredential, ScramMechanism
from penstock.server.broker import Broker
from penstock.server.listeners import advertised_endpoints
from penstock.server.metrics.scrape import scrape

_GATEWAYS: Final = (produce, read, stream, subscribe)
PARTS: Final[tuple[Paths, ...]] = (health.PATHS, metrics.PATHS, *(each.PATHS for each in _GATEWAYS))


async def serve(broker: Broker, listening: socket.socket) -> AdminServer:
    services = broker.services
    return await AdminServer.start(
        application(broker),
        listening,
        clock=services.clock,
        connections_per_ip_max=services.config[ADMIN_MAX_CONNECTIONS_PER_IP],
    )


def application(broker: Broker) -> web.Application:
    services = broker.services
    config = services.config
    app = make_app(allowed_hosts(config), services.clock)
    health.routes(app, lambda: health.obstacles_of(services), lambda: health.troubles_of(services))
    metrics.routes(app, lambda: scrape(services))
    if not config.is_broker:
        return app  # gateways and console are clients of this node
    access = kafka_access(config, advertised_endpoints(broker.endpoints, config.advertised_listeners))
    _gateways(
        app, Clients(access, services.clock, lambda user: _password_of(services.controller.image, user))
    )
    openapi.routes(app, PARTS)
    _console(app, access, config)
    return app


def _password_of(image: MetadataImage, user: str) -> tuple[ScramCredential | None, ...]:
    return tuple(image.credentials.get((user, mechanism)) for mechanism in ScramMechanism)


def _gateways(app: web.Application, clients: Clients) -> None:
    app[CLIENTS] = clients
    for part in _GATEWAYS:
        part.routes(app)

    async def closing(_app: web.Application) -> AsyncIterator[None]:
        yield
        await clients.close()

    app.cleanup_ctx.append(closing)


def _console(app: web.Application, access: KafkaAccess, config: BrokerConfig) -> None:
    settings = console.ConsoleSettings(
        connection=ClientSettings(bootstrap_servers=access.bootstrap),
        security=Security(tls=access.tls),
        needs_login=access.needs_login,
        allowed_hosts=allowed_hosts(config),
    )
    console.routes(app, settings)


def allowed_hosts(config: BrokerConfig) -> frozenset[str]:
    """The host names of this broker, and the configured ones."""
    own = admin_address(config[ADMIN_LISTENER])
    names = {
        *config[ADMIN_ALLOWED_HOSTS],
        *(each.host for each in config.advertised_listeners),
        socket.gethostname(),
        own[0] if own is not None else "",
    }
    return frozenset(name.lower() for name in names if name)
