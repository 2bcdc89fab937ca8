"""A cluster as a blocking client sees it: finds leaders and coordinators, and asks them until they answer.

Broken connections, leaders that moved, coordinators that load and other passing states are ridden out with backoff
until a deadline; what does not pass is raised at once. Versions are agreed on for each connection, so a request is
given as a function of its version.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from penstock.client import metadata as described
from penstock.client.blocking.clock import BlockingClock, SystemBlockingClock
from penstock.client.blocking.connection import BlockingConnection
from penstock.client.blocking.pool import ConnectionPool, Open
from penstock.client.blocking.retry import Patience, Retry, until_done
from penstock.client.connection import Disconnected
from penstock.client.errors import BrokerError, error_name
from penstock.client.metadata import Metadata, Partition, Topic, TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.apis import APIS
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import create_topics, find_coordinator, metadata
from penstock.protocol.messages import list_offsets as offsets_api

T = TypeVar("T")
RequestFor = Callable[[int], Any]
ErrorOf = Callable[[Any], int]

EARLIEST: Final = -2
LATEST: Final = -1

GROUP: Final = 0
TRANSACTION: Final = 1

_STALE_COORDINATOR: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


class UnknownPartition(Retry):
    """No such topic or partition, by what the brokers say now: one that was just made may not be known everywhere."""


class OffsetAt(msgspec.Struct, frozen=True, kw_only=True):
    """What ListOffsets found; offset and timestamp are -1 when no record is that young."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """Who leads a partition, and what requests to it name."""

    node_id: int
    address: tuple[str, int]
    epoch: int
    topic_id: bytes


class Cluster:
    """May be used by several threads; each request borrows a connection of its own."""

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
        self._metadata = Metadata()
        self._coordinators: dict[tuple[int, str], tuple[str, int]] = {}

    def close(self) -> None:
        self._pool.close()

    # -- asking

    def until_done(self, what: str, attempt: Callable[[], T], *, deadline_ms: float | None = None) -> T:
        """Repeat an attempt that raises `Retry` or `Disconnected`; see `retry`."""
        return until_done(what, attempt, settings=self.settings, clock=self._clock, deadline_ms=deadline_ms)

    def patience(self, what: str) -> Patience:
        """For whoever repeats something in a way of its own."""
        return Patience(what, settings=self.settings, clock=self._clock)

    def call_any(self, api_key: int, request_for: RequestFor, error_of: ErrorOf | None = None) -> Any:
        """Ask whichever broker answers. An error of the answer that passes is retried, another one is raised."""

        def attempt() -> Any:
            with self.any_connection() as connection:
                response = _ask(connection, api_key, request_for)
            _check(response, error_of, APIS[api_key].name)
            return response

        return self.until_done(APIS[api_key].name, attempt)

    def call_leader(
        self,
        where: TopicPartition,
        api_key: int,
        request_for: Callable[[int, Leader], Any],
        error_of: ErrorOf | None = None,
    ) -> Any:
        """Ask the leader of a partition, whoever it is by then."""
        what = f"{APIS[api_key].name} for {where}"

        def attempt() -> Any:
            leader = self.leader(where)
            with self._forgetting_leader(where), self.connection(leader.address) as connection:
                response = _ask(connection, api_key, lambda version: request_for(version, leader))
            try:
                _check(response, error_of, what)
            except Retry:
                self.forget_leader(where)
                raise
            return response

        return self.until_done(what, attempt)

    def call_coordinator(
        self, kind: int, key: str, api_key: int, request_for: RequestFor, error_of: ErrorOf | None = None
    ) -> Any:
        """Ask the coordinator of a group (`GROUP`) or of a transactional id (`TRANSACTION`)."""
        what = f"{APIS[api_key].name} for {key!r}"

        def attempt() -> Any:
            address = self._coordinator(kind, key)
            try:
                with self.connection(address) as connection:
                    response = _ask(connection, api_key, request_for)
            except Disconnected:
                self.forget_coordinator(kind, key)
                raise
            if error_of is not None and error_of(response) in _STALE_COORDINATOR:
                self.forget_coordinator(kind, key)
            _check(response, error_of, what)
            return response

        return self.until_done(what, attempt)

    def connection(self, address: tuple[str, int]) -> contextlib.AbstractContextManager[BlockingConnection]:
        """A connection to one broker, for whoever wants to pipeline; not retried."""
        return self._pool.lent(address)

    @contextlib.contextmanager
    def any_connection(self) -> Iterator[BlockingConnection]:
        """A connection to the first broker that can be reached: those known by now, then the bootstrap servers."""
        known = [*self._metadata.brokers.values()]
        failures: list[str] = []
        for address in dict.fromkeys([*known, *self.settings.bootstrap_servers]):
            lent = self._pool.lent(address)
            try:
                connection = lent.__enter__()
            except Disconnected as failure:
                failures.append(str(failure))
                continue
            with contextlib.ExitStack() as stack:
                stack.push(lent)
                yield connection
            return
        raise Disconnected("; ".join(failures) + ". Is the broker up, and bootstrap.servers right?")

    # -- metadata

    def topics(self, names: Iterable[str] | None = None) -> Mapping[str, Topic]:
        """The topics of these names that exist (None: all that there are), asked for now. Creates none."""
        asked = None if names is None else frozenset(names)
        if asked is not None and not asked:
            return {}
        return self.until_done("asking for metadata", lambda: self._refreshed(asked)).topics

    def _refreshed(self, asked: frozenset[str] | None) -> Metadata:
        with self.any_connection() as connection:
            newer = described.from_response(
                _ask(connection, metadata.API_KEY, lambda _: _metadata_request(asked))
            )
        self._metadata = self._metadata.updated(newer, asked)
        return newer

    def leader(self, where: TopicPartition) -> Leader:
        """Who leads a partition; asked for when not known. `Retry` while nobody does."""
        partition = self._metadata.leader(where)
        if partition is None:
            topic = self._refreshed(frozenset([where.topic])).topics.get(where.topic)
            if topic is not None and topic.error and not is_retriable(topic.error):
                raise BrokerError(topic.error, f"looking for topic {where.topic!r}")
            if topic is None or where.partition not in topic.partitions:
                raise UnknownPartition(f"{where} does not exist")
            partition = self._metadata.leader(where)
        if partition is None:
            raise Retry(f"{where} has no leader at the moment")
        return self._leader(where, partition)

    def forget_leader(self, where: TopicPartition) -> None:
        """Ask again who leads, next time. For whoever was told by a broker that it is not the leader."""
        topics = {name: topic for name, topic in self._metadata.topics.items() if name != where.topic}
        self._metadata = msgspec.structs.replace(self._metadata, topics=topics)

    def _leader(self, where: TopicPartition, partition: Partition) -> Leader:
        return Leader(
            node_id=partition.leader_id,
            address=self._metadata.brokers[partition.leader_id],
            epoch=partition.leader_epoch,
            topic_id=self._metadata.topics[where.topic].topic_id,
        )

    @contextlib.contextmanager
    def _forgetting_leader(self, where: TopicPartition) -> Iterator[None]:
        try:
            yield
        except Disconnected:
            self.forget_leader(where)
            raise

    # -- coordinators

    def coordinator(self, kind: int, key: str) -> tuple[str, int]:
        """The address of a coordinator; waits until there is one."""
        return self.until_done(f"finding the coordinator of {key!r}", lambda: self._coordinator(kind, key))

    def forget_coordinator(self, kind: int, key: str) -> None:
        self._coordinators.pop((kind, key), None)

    def _coordinator(self, kind: int, key: str) -> tuple[str, int]:
        known = self._coordinators.get((kind, key))
        if known is not None:
            return known
        with self.any_connection() as connection:
            response = _ask(
                connection,
                find_coordinator.API_KEY,
                lambda version: (
                    find_coordinator.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
                    if version >= 4
                    else find_coordinator.FindCoordinatorRequest(key_type=kind, key=key)
                ),
            )
        found = response.coordinators[0] if response.coordinators else response
        _check(found, lambda answer: int(answer.error_code), f"finding the coordinator of {key!r}")
        self._coordinators[kind, key] = (found.host, found.port)
        return self._coordinators[kind, key]

    # -- offsets and topics

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, reads_committed_only: bool = False
    ) -> dict[TopicPartition, OffsetAt]:
        """The offset of each partition at a timestamp, or at `EARLIEST` or `LATEST` (committed: the last stable one).

        Leaders are asked once each; partitions whose leader moved are asked for again.
        """
        found: dict[TopicPartition, OffsetAt] = {}

        def attempt() -> None:
            by_leader: dict[tuple[str, int], dict[TopicPartition, int]] = {}
            for where in wanted.keys() - found.keys():
                by_leader.setdefault(self.leader(where).address, {})[where] = wanted[where]
            failed: list[str] = []
            for address, part in by_leader.items():
                for where, answer in self._list_offsets_of(address, part, reads_committed_only).items():
                    if not answer.error_code:
                        found[where] = OffsetAt(
                            offset=answer.offset,
                            timestamp=answer.timestamp,
                            leader_epoch=answer.leader_epoch,
                        )
                    elif is_retriable(answer.error_code):
                        self.forget_leader(where)
                        failed.append(f"{where} was answered with {error_name(answer.error_code)}")
                    else:
                        raise BrokerError(answer.error_code, f"looking for offsets of {where}")
            if failed:
                raise Retry("; ".join(failed[:3]))

        self.until_done(f"looking for offsets of {_some(wanted)}", attempt)
        return found

    def _list_offsets_of(
        self, address: tuple[str, int], wanted: Mapping[TopicPartition, int], reads_committed_only: bool
    ) -> dict[TopicPartition, offsets_api.ListOffsetsPartitionResponse]:
        request = _list_offsets_request(wanted, reads_committed_only, self.settings.request_timeout_ms)
        try:
            with self.connection(address) as connection:
                response = _ask(connection, offsets_api.API_KEY, lambda _: request)
        except Disconnected:
            for where in wanted:
                self.forget_leader(where)
            raise
        return {
            TopicPartition(topic.name, answer.partition_index): answer
            for topic in response.topics
            for answer in topic.partitions
        }

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> bool:
        """Create a topic; -1 leaves a number to the broker. False when it was there already."""
        request = create_topics.CreateTopicsRequest(
            topics=[
                create_topics.CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=replication_factor,
                    configs=[
                        create_topics.CreatableTopicConfig(name=key, value=value)
                        for key, value in (configs or {}).items()
                    ],
                )
            ],
            timeout_ms=self.settings.request_timeout_ms,
        )
        response = self.call_any(
            create_topics.API_KEY,
            lambda _: request,
            lambda answer: _unless_exists(answer.topics[0].error_code),
        )
        return bool(response.topics[0].error_code != ErrorCode.TOPIC_ALREADY_EXISTS)


# --- one cluster for each set of settings, in processes that live for many tasks ------------------------------

_shared: dict[tuple[int, ClientSettings], Cluster] = {}
_shared_lock = threading.Lock()


def shared_cluster(settings: ClientSettings) -> Cluster:
    """The cluster of these settings in this process. Spark forks and reuses its workers, hence the process id."""
    key = (os.getpid(), settings)
    with _shared_lock:
        if key not in _shared:
            _shared[key] = Cluster(settings)
        return _shared[key]


# --- pure -----------------------------------------------------------------------------------------------------


def _ask(connection: BlockingConnection, api_key: int, request_for: RequestFor) -> Any:
    version = connection.version(api_key)
    return connection.call(api_key, version, request_for(version))


def _check(response: Any, error_of: ErrorOf | None, what: str) -> None:
    code = 0 if error_of is None else error_of(response)
    if not code:
        return
    if is_retriable(code):
        raise Retry(f"{what} was answered with {error_name(code)}")
    raise BrokerError(code, what, getattr(response, "error_message", None))


def _unless_exists(code: int) -> int:
    return 0 if code == ErrorCode.TOPIC_ALREADY_EXISTS else code


def _metadata_request(names: frozenset[str] | None) -> metadata.MetadataRequest:
    topics = None if names is None else [metadata.MetadataRequestTopic(name=name) for name in sorted(names)]
    return metadata.MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def _list_offsets_request(
    wanted: Mapping[TopicPartition, int], reads_committed_only: bool, timeout_ms: int
) -> offsets_api.ListOffsetsRequest:
    by_topic: dict[str, list[offsets_api.ListOffsetsPartition]] = {}
    for where, timestamp in wanted.items():
        partition = offsets_api.ListOffsetsPartition(partition_index=where.partition, timestamp=timestamp)
        by_topic.setdefault(where.topic, []).append(partition)
    return offsets_api.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(reads_committed_only),
        topics=[
            offsets_api.ListOffsetsTopic(name=name, partitions=partitions)
            for name, partitions in by_topic.items()
        ],
        timeout_ms=timeout_ms,
    )


def _some(wanted: Iterable[TopicPartition]) -> str:
    names = sorted(str(where) for where in wanted)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
