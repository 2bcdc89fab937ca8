"""The source of a mirror, as one broker sees it: a client, and the topics and leaders of its last Metadata response."""

from typing import Final

from penstock.client.aio.client import Client
from penstock.client.aio.pool import Dialer
from penstock.client.aio.security import ANONYMOUS, of_settings
from penstock.client.connection import Connection
from penstock.client.connector import Connector
from penstock.client.errors import AuthenticationFailed, ClientError, UnsupportedApi
from penstock.client.metadata import NO_LEADER, Metadata
from penstock.cluster.controller.alter_mirrors import client_settings
from penstock.cluster.metadata.mirrors import Mirror
from penstock.config.property import ConfigError
from penstock.runtime.clock import Clock

FAILURES: Final = (ClientError, ConfigError, OSError, TimeoutError)
"""What the requests to a source raise."""


class Source:
    """Close it after use. Its settings do not change: a mirror with other settings is another `Source`."""

    def __init__(self, mirror: Mirror, network: Connector, clock: Clock) -> None:
        """Raises `ClientError` or `ConfigError` for settings that cannot be used here, such as a missing file."""
        settings = client_settings(mirror)
        security = of_settings(settings) if settings.tls or settings.sasl else ANONYMOUS
        self._dialer = Dialer(
            security, client_id=settings.client_id, timeout_ms=settings.connect_timeout_ms, network=network
        )
        self.client = Client(settings, security=security, clock=clock, dialer=self._dialer)
        self.metadata = Metadata()

    async def refresh(self) -> Metadata:
        """Fetch the metadata of all topics. Raises one of `FAILURES`."""
        self.metadata = await self.client.metadata()
        return self.metadata

    def leader_of(self, topic: str, partition: int) -> int:
        known = self.metadata.topics.get(topic)
        found = None if known is None else known.partitions.get(partition)
        return NO_LEADER if found is None else found.leader_id

    async def connect(self, broker_id: int) -> Connection:
        """Open a connection to a broker of the source. Raises `OSError`."""
        address = self.metadata.brokers.get(broker_id)
        if address is None:
            raise ConnectionError(f"the source has no broker {broker_id} any more")
        try:
            return await self._dialer(address)
        except (AuthenticationFailed, UnsupportedApi) as error:
            raise ConnectionError(str(error)) from error

    async def close(self) -> None:
        await self.client.close()
