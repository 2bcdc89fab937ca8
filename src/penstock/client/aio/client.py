"""The asyncio client: performs the operations of `client.core` on an event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar, assert_never

from penstock.client.aio.pool import ConnectionPool, Dialer
from penstock.client.aio.producer import Produced, Producer
from penstock.client.aio.security import ANONYMOUS, Security, of_settings
from penstock.client.core import fetching
from penstock.client.core.cluster_state import ClusterState
from penstock.client.core.destinations import Destination
from penstock.client.core.fetching import FetchedPartition, FetchLimits
from penstock.client.core.operations import OffsetAt, Operations
from penstock.client.core.routing import ErrorOf, top_level_error
from penstock.client.core.steps import Message, Operation, Send, SendAll, Sleep, Step
from penstock.client.errors import Disconnected, Retry
from penstock.client.metadata import Metadata, Partition, Topic, TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.messages.describe_configs import DescribeConfigsResourceResult
from penstock.protocol.records.builder import NewRecord
from penstock.runtime.clock import Clock, SystemClock

T = TypeVar("T")


class Client:
    """Close it, or use it in `async with`. The operations are documented in `core.operations` and `core.routing`."""

    def __init__(
        self,
        bootstrap: str | ClientSettings,
        *,
        security: Security | None = None,
        clock: Clock | None = None,
        state: ClusterState | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        """`bootstrap` is host:port,… or all settings; `security` wins over the security in those."""
        if isinstance(bootstrap, str):
            bootstrap = ClientSettings.from_properties({"bootstrap.servers": bootstrap})
        if security is None:
            security = of_settings(bootstrap) if bootstrap.tls or bootstrap.sasl else ANONYMOUS
        self.settings = bootstrap
        self.security = security
        self.clock: Clock = clock or SystemClock()
        self._core = Operations(bootstrap, self.clock.monotonic_ms, state)
        self._dialer = dialer or Dialer(
            security, client_id=bootstrap.client_id, timeout_ms=bootstrap.connect_timeout_ms
        )
        self._pool = ConnectionPool(self._dialer)
        self._producer = Producer(self)

    def branch(self) -> "Client":
        """Another client with the same user and metadata, and its own connections; close it separately.

        For long polls: a broker answers the requests of one connection in order, so a fetch that waits for records
        would delay all other requests.
        """
        return Client(
            self.settings,
            security=self.security,
            clock=self.clock,
            state=self._core.state,
            dialer=self._dialer,
        )

    async def close(self) -> None:
        await self._producer.close()
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- performing operations

    async def run(self, operation: Operation[T]) -> T:
        """Perform an operation of `client.core`."""
        try:
            step = next(operation)
            while True:
                try:
                    result = await self._perform(step)
                except (Disconnected, Retry) as failure:
                    step = operation.throw(failure)
                else:
                    step = operation.send(result)
        except StopIteration as done:
            value: T = done.value
            return value
        finally:
            operation.close()

    async def _perform(self, step: Step) -> Any:
        if isinstance(step, Send):
            return await self._pool.send(step)
        if isinstance(step, SendAll):
            return await asyncio.gather(*map(self._pool.send, step.sends), return_exceptions=True)
        if isinstance(step, Sleep):
            return await self.clock.sleep(step.delay_ms)
        assert_never(step)

    async def until_done(
        self, what: str, attempt: Callable[[], Awaitable[T]], *, deadline_ms: float | None = None
    ) -> T:
        """Repeat an attempt that raises `Retry` or `Disconnected`, with backoff; `TimedOut` at the deadline."""
        backoff = self._core.backoff(what, deadline_ms)
        while True:
            try:
                return await attempt()
            except (Retry, Disconnected) as failure:
                delay_ms = backoff.delay_after(failure)
            await self.clock.sleep(delay_ms)

    # -- requests

    async def request(
        self,
        to: Destination,
        message: Message,
        *,
        error_of: ErrorOf = top_level_error,
        version_max: int | None = None,
        wait_ms: float = 0,
        deadline_ms: float | None = None,
    ) -> Any:
        return await self.run(
            self._core.request(
                to,
                message,
                error_of=error_of,
                version_max=version_max,
                wait_ms=wait_ms,
                deadline_ms=deadline_ms,
            )
        )

    async def request_once(self, to: Destination, message: Message, *, version_max: int | None = None) -> Any:
        return await self.run(self._core.request_once(to, message, version_max=version_max))

    def forget(self, to: Destination) -> None:
        """Look up this destination again before the next request."""
        self._core.state.forget(to)

    # -- metadata

    async def metadata(self, names: Iterable[str] | None = None) -> Metadata:
        return await self.run(self._core.metadata(names))

    async def topic(self, name: str) -> Topic:
        """A topic, no older than a minute. Raises `BrokerError` when it does not exist or may not be described."""
        what = f"fetching the metadata of topic {name!r}"
        return await self.run(self._core.retrying(what, lambda: self._core.topic(name)))

    async def leader(self, where: TopicPartition) -> Partition:
        """The partition with its leader. Raises `Retry` while it has none, `BrokerError` if it does not exist."""
        return await self.run(self._core.leader(where))

    # -- records

    async def produce(
        self, topic: str, partition: int | None, records: Sequence[NewRecord]
    ) -> list[Produced]:
        """Append records, each exactly once although sending is retried; returns an outcome for each.

        Without a partition the key of each decides, as in Kafka's clients; records without a key stay together.
        """
        return await self._producer.produce(topic, partition, records)

    async def fetch(
        self, positions: Mapping[TopicPartition, int], limits: FetchLimits = fetching.DEFAULT_LIMITS
    ) -> dict[TopicPartition, FetchedPartition]:
        """Fetch from these offsets; with `limits.wait_ms` above 0 use a `branch`.

        A partition without a reachable leader is left out, unless all are.
        """
        return await self.run(self._core.fetch(positions, limits))

    async def fetch_from(
        self, node: int, positions: Mapping[TopicPartition, int], limits: FetchLimits
    ) -> dict[TopicPartition, FetchedPartition]:
        return await self.run(self._core.fetch_from(node, positions, limits))

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, reads_committed_only: bool = False
    ) -> dict[TopicPartition, OffsetAt]:
        return await self.run(self._core.list_offsets(wanted, reads_committed_only=reads_committed_only))

    # -- groups, topics

    async def commit(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        member_id: str = "",
        member_epoch: int = -1,
    ) -> dict[TopicPartition, int]:
        operation = self._core.commit(group, offsets, member_id=member_id, member_epoch=member_epoch)
        return await self.run(operation)

    async def committed(
        self, group: str, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        return await self.run(self._core.committed(group, partitions))

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> bool:
        return await self.run(
            self._core.create_topic(
                name, partitions=partitions, replication_factor=replication_factor, configs=configs
            )
        )

    async def delete_topic(self, name: str) -> None:
        await self.run(self._core.delete_topic(name))

    async def describe_configs(self, kind: int, name: str) -> list[DescribeConfigsResourceResult]:
        return await self.run(self._core.describe_configs(kind, name))
