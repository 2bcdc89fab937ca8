"""A broker with a listener of each kind, and how to reach them."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from penstock.client.connection import Connection
from penstock.client.settings import SaslSettings
from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.metadata import MetadataRequest
from penstock.security.principal import Principal
from tests.server.live import Client, Live, until
from tests.support.certificates import authority

AUTHORITY = authority()
RECEIVE_BYTES_MAX = 4096
SOFTWARE = ApiVersionsRequest(client_software_name="test", client_software_version="1")
LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "MUTUAL", "SASL_SSL")


class Secured:
    """The broker, and how to reach its listeners."""

    def __init__(self, live: Live, directory: Path) -> None:
        self.live = live
        self.directory = directory

    def port(self, listener: str) -> int:
        return next(each.port for each in self.live.broker.endpoints if each.name == listener)

    def counts(self, listener: str) -> Any:
        return self.live.broker.parts.identity.listeners[listener].counts

    def tls(self, client: str | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=AUTHORITY.pem)
        if client is not None:
            path = AUTHORITY.issue(name=client).write(self.directory / f"{client}.pem")
            context.load_cert_chain(path)
        return context

    @contextlib.asynccontextmanager
    async def connected(
        self,
        listener: str,
        tls: ssl.SSLContext | None = None,
        login: tuple[str, str, str] | None = None,
    ) -> AsyncIterator[Client]:
        """`login` is mechanism, user and password."""
        sasl = (
            None if login is None else SaslSettings(mechanism=login[0], username=login[1], password=login[2])
        )
        connection = await Connection.open("127.0.0.1", self.port(listener), tls=tls, sasl=sasl)
        try:
            yield Client(connection)
        finally:
            connection.abort()
            await until(lambda: connection.is_lost)

    def principals(self, listener: str) -> list[Principal]:
        return [each.peer.principal for each in self.live.connections() if each.peer.listener == listener]


async def is_ended(client: Client) -> None:
    """Nothing is answered any more, and the broker hangs up."""
    with pytest.raises(ConnectionError):
        await client.send(MetadataRequest())
