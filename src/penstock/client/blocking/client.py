"""A client of a cluster for processes without an event loop: Spark, embedded brokers, tools.

It performs the operations of `client.core` with plain sockets.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, assert_never

import msgspec

from penstock.client.blocking.clock import BlockingClock, SystemBlockingClock
from penstock.client.blocking.connection import BlockingConnection
from penstock.client.blocking.pool import ConnectionPool, Open
from penstock.client.core import fetching
from penstock.client.core.backoff import Backoff
from penstock.client.core.destinations import ANY, CoordinatorKind, CoordinatorOf, Destination, LeaderOf
from penstock.client.core.fetching import FetchedPartition, FetchLimits
from penstock.client.core.operations import EARLIEST, LATEST, OffsetAt, Operations
from penstock.client.core.routing import ErrorOf, top_level_error
from penstock.client.core.steps import Address, Message, MessageFor, Operation, Send, SendAll, Sleep, Step
from penstock.client.errors import Disconnected, Retry, UnknownPartition, Unreachable
from penstock.client.metadata import Topic, TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.apis import APIS

__all__ = [
    "EARLIEST",
    "GROUP",
    "LATEST",
    "TRANSACTION",
    "BlockingClient",
    "Leader",
    "OffsetAt",
    "UnknownPartition",
]

T = TypeVar("T")

GROUP = CoordinatorKind.GROUP
TRANSACTION = CoordinatorKind.TRANSACTION


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """The leader of a partition, and the fields that requests to it need."""

    node_id: int
    address: Address
    epoch: int
    topic_id: bytes


class RetryTimer:
    """Sleeps between the attempts of a caller's own loop."""

    def __init__(self, backoff: Backoff, clock: BlockingClock) -> None:
        self._backoff = backoff
        self._clock = clock

    def reset(self) -> None:
        """An attempt succeeded: the deadline counts from now."""
        self._backoff.reset()

    def sleep_after(self, failure: Exception) -> None:
        """Wait before the next attempt. Raises `TimedOut` when there is no time for one."""
        self._clock.sleep(self._backoff.delay_after(failure))


class BlockingClient:
    """Thread-safe: each request borrows a connection of its own."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        clock: BlockingClock | None = None,
        open_connection: Open | None = None,
    ) -> None:
        self.settings = settings
        self._clock: BlockingClock = clock or SystemBlockingClock()
        self._pool = ConnectionPool(
            open_connection or (lambda host, port: BlockingConnection.open(host, port, settings))
        )
        self._core = Operations(settings, self._clock.monotonic_ms, waits_for_topics=True)

    def close(self) -> None:
        self._pool.close()

    # -- performing operations

    def run(self, operation: Operation[T]) -> T:
        """Perform an operation of `client.core`."""
        try:
            step = next(operation)
            while True:
                try:
                    result = self._perform(step)
                except (Disconnected, Retry) as failure:
                    step = operation.throw(failure)
                else:
                    step = operation.send(result)
        except StopIteration as done:
            value: T = done.value
            return value
        finally:
            operation.close()

    def _perform(self, step: Step) -> Any:
        if isinstance(step, Send):
            return self._send(step)
        if isinstance(step, SendAll):
            return self._send_all(step.sends)
        if isinstance(step, Sleep):
            return self._clock.sleep(step.delay_ms)
        assert_never(step)

    def _send(self, step: Send) -> Any:
        (result,) = self._send_all([step])
        if isinstance(result, Disconnected):
            raise result
        return result

    def _send_all(self, steps: Sequence[Send]) -> list[Any]:
        """Send all requests before the first response is awaited: brokers work on them at the same time."""
        with contextlib.ExitStack() as stack:
            results: list[Any] = []
            for step in steps:
                try:
                    connection = stack.enter_context(self.connection(step.address))
                except Disconnected as failure:
                    results.append(Unreachable(str(failure)))
                    continue
                try:
                    version = connection.version(step.api_key, step.version_max)
                    connection.send(step.api_key, version, step.message_for(version))
                    results.append(connection)
                except Disconnected as failure:
                    results.append(failure)
            results = [_received(each) if isinstance(each, BlockingConnection) else each for each in results]
        for step, result in zip(steps, results, strict=True):
            if isinstance(result, Disconnected):
                self._pool.forget(step.address)
        return results

    def until_done(self, what: str, attempt: Callable[[], T], *, deadline_ms: float | None = None) -> T:
        """Repeat an attempt that raises `Retry` or `Disconnected`, with backoff; `TimedOut` at the deadline."""
        timer = RetryTimer(self._core.backoff(what, deadline_ms), self._clock)
        while True:
            try:
                return attempt()
            except (Retry, Disconnected) as failure:
                timer.sleep_after(failure)

    def retry_timer(self, what: str) -> RetryTimer:
        return RetryTimer(self._core.backoff(what), self._clock)

    def connection(self, address: Address) -> contextlib.AbstractContextManager[BlockingConnection]:
        """A connection to one broker, for pipelined requests; nothing is retried."""
        return self._pool.lent(address)

    # -- requests

    def request(
        self,
        to: Destination,
        message: Message,
        *,
        error_of: ErrorOf = top_level_error,
        version_max: int | None = None,
        what: str | None = None,
    ) -> Any:
        """Ask until the response has no retriable error. Raises `BrokerError` for any other error."""
        return self.run(
            self._core.request(to, message, error_of=error_of, version_max=version_max, what=what)
        )

    def call_any(self, api_key: int, message_for: MessageFor, error_of: ErrorOf | None = None) -> Any:
        """Like `request`, to any broker, for a message that depends on the version; no `error_of`: no check."""
        return self._call(ANY, api_key, message_for, error_of, APIS[api_key].name)

    def call_leader(
        self,
        where: TopicPartition,
        api_key: int,
        message_for: Callable[[int, Leader], Message],
        error_of: ErrorOf | None = None,
    ) -> Any:
        return self._call(
            LeaderOf(*where),
            api_key,
            lambda version: message_for(version, self._known_leader(where)),
            error_of,
            f"{APIS[api_key].name} for {where}",
        )

    def call_coordinator(
        self, kind: int, key: str, api_key: int, message_for: MessageFor, error_of: ErrorOf | None = None
    ) -> Any:
        to = CoordinatorOf(kind, key)
        return self._call(to, api_key, message_for, error_of, f"{APIS[api_key].name} for {key!r}")

    def _call(
        self, to: Destination, api_key: int, message_for: MessageFor, error_of: ErrorOf | None, what: str
    ) -> Any:
        check = error_of or (lambda _: 0)
        return self.run(self._core.request_for(to, api_key, message_for, error_of=check, what=what))

    # -- metadata

    def topics(self, names: Iterable[str] | None = None) -> Mapping[str, Topic]:
        """Fetch the topics of these names that exist (None: all of them). Creates none."""
        asked = None if names is None else list(names)
        return {} if asked == [] else self.run(self._core.metadata(asked)).topics

    def leader(self, where: TopicPartition) -> Leader:
        """The leader of a partition, from the cache if it is known. Raises `Retry` while there is none."""
        self.run(self._core.leader(where))
        return self._known_leader(where)

    def _known_leader(self, where: TopicPartition) -> Leader:
        metadata = self._core.state.metadata
        partition = metadata.leader(where)
        if partition is None:
            raise Retry(f"the leader of {where} has just changed")
        return Leader(
            node_id=partition.leader_id,
            address=metadata.brokers[partition.leader_id],
            epoch=partition.leader_epoch,
            topic_id=metadata.topics[where.topic].topic_id,
        )

    def forget_leader(self, where: TopicPartition) -> None:
        """Look the leader up again before the next request: a broker returned NOT_LEADER."""
        self._core.state.forget(LeaderOf(*where))

    def coordinator(self, kind: int, key: str) -> Address:
        """The address of a coordinator; waits until there is one."""
        to = CoordinatorOf(kind, key)
        what = f"finding the coordinator of {key!r}"
        return self.run(self._core.retrying(what, lambda: self._core.coordinator(to)))

    def forget_coordinator(self, kind: int, key: str) -> None:
        self._core.state.forget(CoordinatorOf(kind, key))

    # -- operations

    def fetch(
        self, positions: Mapping[TopicPartition, int], limits: FetchLimits = fetching.DEFAULT_LIMITS
    ) -> dict[TopicPartition, FetchedPartition]:
        return self.run(self._core.fetch(positions, limits))

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, reads_committed_only: bool = False
    ) -> dict[TopicPartition, OffsetAt]:
        return self.run(self._core.list_offsets(wanted, reads_committed_only=reads_committed_only))

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return self.run(self._core.commit(group, offsets))

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> bool:
        return self.run(
            self._core.create_topic(
                name, partitions=partitions, replication_factor=replication_factor, configs=configs
            )
        )

    def delete_topic(self, name: str) -> None:
        self.run(self._core.delete_topic(name))


def _received(connection: BlockingConnection) -> Any:
    try:
        return connection.receive()
    except Disconnected as failure:
        return failure


_shared: dict[tuple[int, ClientSettings], BlockingClient] = {}
_shared_lock = threading.Lock()


def shared_client(settings: ClientSettings) -> BlockingClient:
    """The client of these settings in this process. Spark forks and reuses its workers, hence the process id."""
    key = (os.getpid(), settings)
    with _shared_lock:
        if key not in _shared:
            _shared[key] = BlockingClient(settings)
        return _shared[key]
