"""An asyncio client of a cluster, used by the HTTP gateways and the web console.

    async with Client("127.0.0.1:9092") as client:
        await client.create_topic("words", partitions=3)
        outcomes = await client.produce("words", None, [NewRecord(key=b"k", value=b"v")])
        fetched = await client.fetch({TopicPartition("words", 0): 0})

`Client(bootstrap | ClientSettings, security=…)` connects with its first request and keeps one connection to each
broker. Its user is `ANONYMOUS` (the default), `with_password(user, password, tls=None)`, `with_token(token, tls=None)`,
or set by Kafka's properties: `Client(ClientSettings.from_properties({"bootstrap.servers": …}))`.

- `request(to, message, error_of=…)` sends any request of `penstock.protocol.messages` in the newest version that both
  sides know. `to` is a broker's id, `ANY`, `CONTROLLER`, `LeaderOf(topic, partition)` or `CoordinatorOf(kind, key)`.
  Retriable errors are retried until the deadline. By default only the top-level `error_code` is checked; `error_of`
  finds an error inside the response.
- A broker answers one connection in order, so long polls (`FetchLimits.wait_ms` > 0) belong on `client.branch()`:
  the same user and metadata with its own connections. `reader.Reader` uses one to read continuously.
- `core.membership.Membership` is a member of a KIP-848 group, without I/O.

Raises `BrokerError` (`.code` is Kafka's), `AuthenticationFailed`, `TimedOut` (the outcome of a produce is then
unknown) and `UnsupportedApi`, all of them `ClientError`; `Disconnected` where nothing is retried.
"""

from penstock.client.aio.client import Client
from penstock.client.aio.producer import Produced
from penstock.client.aio.security import ANONYMOUS, Security, with_password, with_token
from penstock.client.connection import Disconnected
from penstock.client.core.destinations import (
    ANY,
    CONTROLLER,
    LeaderOf,
    coordinator_of_group,
)
from penstock.client.core.fetching import FetchedPartition, FetchLimits
from penstock.client.core.operations import EARLIEST, LATEST
from penstock.client.core.routing import retriable_error
from penstock.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    SettingsError,
    TimedOut,
    UnsupportedApi,
)
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings

__all__ = [
    "ANONYMOUS",
    "ANY",
    "CONTROLLER",
    "EARLIEST",
    "LATEST",
    "AuthenticationFailed",
    "BrokerError",
    "Client",
    "ClientError",
    "ClientSettings",
    "Disconnected",
    "FetchLimits",
    "FetchedPartition",
    "LeaderOf",
    "Produced",
    "Security",
    "SettingsError",
    "TimedOut",
    "TopicPartition",
    "UnsupportedApi",
    "coordinator_of_group",
    "retriable_error",
    "with_password",
    "with_token",
]
