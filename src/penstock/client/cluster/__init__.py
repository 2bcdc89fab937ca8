"""An asyncio client of a whole cluster, for what runs inside Penstock: the HTTP gateways and the web console.

    async with Client("127.0.0.1:9092") as client:
        await client.create_topic("words", partitions=3)
        outcomes = await client.produce("words", None, [NewRecord(key=b"k", value=b"v")])
        fetched = await client.fetch({TopicPartition("words", 0): 0})

`Client(bootstrap | ClientSettings, security=…)` connects when first asked something, keeps one connection for each
broker, and learns by itself who leads, coordinates and controls. Who it is: `ANONYMOUS` (the default),
`with_password(user, password, tls=None)`, `with_token(token, tls=None)`, or by Kafka's properties:
`Client(ClientSettings.from_properties({"bootstrap.servers": …, "security.protocol": …}))`.

Asking
- `await client.request(to, message, error_of=…, version_max=…, wait_ms=…, deadline_ms=…)` sends any request of
  `penstock.protocol.messages` in the newest version that both sides know. `to` is a broker's id, `ANY`, `CONTROLLER`,
  `LeaderOf(topic, partition)` or `CoordinatorOf(kind, key)` (`coordinator_of_group(group)`). Errors that pass are
  retried with backoff until the deadline; by default the error looked at is the answer's own `error_code`, so errors
  inside the answer (of one topic, say) are the caller's to see, or `error_of` tells them.
- `request_once` asks without retrying; `until_done` repeats a thing of the caller's own.
- `await client.metadata(names | None)`: fresh, `Metadata` with brokers, controller, topics, partitions, leaders;
  `await client.topic(name)`: from the cache.

Records
- `await client.produce(topic, partition | None, [NewRecord, …]) -> [Produced, …]`: one outcome for each record
  (`NewRecord` is in `penstock.protocol.records.builder`); each is stored once although sending is retried.
- `await client.fetch({TopicPartition: offset}, FetchLimits(…)) -> {TopicPartition: FetchedPartition}`
- `await client.list_offsets({TopicPartition: EARLIEST | LATEST | timestamp_ms}) -> {TopicPartition: OffsetAt}`
- `reader.Reader(client.branch(), FetchLimits(wait_ms=…))` reads on and on: `assign`, `revoke`, `await next()`.
- `membership.Membership` is a member of a KIP-848 group, without I/O: it says what to send next.

Groups, topics: `list_groups`, `committed(group)`, `create_topic`, `delete_topic`, `describe_configs(kind, name)`.

A broker answers one connection in order, so long polls (`FetchLimits.wait_ms` > 0) belong on `client.branch()`: the
same user and knowledge, with connections of its own.

Raised: `BrokerError` (`.code` is Kafka's), `AuthenticationFailed`, `TimedOut` (retries ended; the outcome of a produce
is then open), `UnsupportedApi`, all of them `ClientError`; `Disconnected` where nothing was retried.
"""

from penstock.client.blocking.cluster import EARLIEST, LATEST, OffsetAt
from penstock.client.cluster.client import Client
from penstock.client.cluster.destinations import (
    ANY,
    CONTROLLER,
    CoordinatorKind,
    CoordinatorOf,
    LeaderOf,
    coordinator_of_group,
)
from penstock.client.cluster.fetching import FetchedPartition, FetchLimits
from penstock.client.cluster.producing import Produced
from penstock.client.cluster.security import ANONYMOUS, Security, with_password, with_token
from penstock.client.connection import Disconnected
from penstock.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    SettingsError,
    TimedOut,
    UnsupportedApi,
)
from penstock.client.metadata import Metadata, Topic, TopicPartition
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
    "CoordinatorKind",
    "CoordinatorOf",
    "Disconnected",
    "FetchLimits",
    "FetchedPartition",
    "LeaderOf",
    "Metadata",
    "OffsetAt",
    "Produced",
    "Security",
    "SettingsError",
    "TimedOut",
    "Topic",
    "TopicPartition",
    "UnsupportedApi",
    "coordinator_of_group",
    "with_password",
    "with_token",
]
