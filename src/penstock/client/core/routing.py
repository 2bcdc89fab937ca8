"""Finding the broker behind a destination, and asking it again while an error is retriable. Pure: see `steps`."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from penstock.client import metadata as described
from penstock.client.core.backoff import Backoff
from penstock.client.core.cluster_state import ClusterState
from penstock.client.core.destinations import ANY, CoordinatorOf, Destination, LeaderOf, Role, describe
from penstock.client.core.steps import Address, Message, MessageFor, Operation, Send, Sleep, api_key_of
from penstock.client.errors import (
    BrokerError,
    Disconnected,
    Retry,
    UnknownBroker,
    UnknownPartition,
    Unreachable,
    error_name,
)
from penstock.client.metadata import Metadata, Partition, Topic, TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import find_coordinator, metadata

T = TypeVar("T")
ErrorOf = Callable[[Any], int]

_FIND_ONE_LAST: Final = 3  # of FindCoordinator: later versions ask for several keys at once (KIP-699)
_STALE_COORDINATOR: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


def top_level_error(response: Any) -> int:
    """The error code of the whole response, where it has one."""
    return getattr(response, "error_code", 0)


def retriable_error(part_of: Callable[[Any], Any], *final: int) -> ErrorOf:
    """Finds the error of a part of the response if it is retriable; others, and those in `final`, are the caller's."""

    def error_of(response: Any) -> int:
        code: int = part_of(response).error_code
        return code if is_retriable(code) and code not in final else 0

    return error_of


class Router:
    """Makes operations for one cluster. `waits_for_topics`: an unknown partition is retried, not an error."""

    def __init__(
        self,
        settings: ClientSettings,
        monotonic_ms: Callable[[], float],
        state: ClusterState | None = None,
        *,
        waits_for_topics: bool = False,
    ) -> None:
        self.settings = settings
        self.state = state or ClusterState()
        self._monotonic_ms = monotonic_ms
        self._waits_for_topics = waits_for_topics

    # -- requests

    def request(
        self,
        to: Destination,
        message: Message,
        *,
        error_of: ErrorOf = top_level_error,
        version_max: int | None = None,
        wait_ms: float = 0,
        deadline_ms: float | None = None,
        what: str | None = None,
    ) -> Operation[Any]:
        """Ask until the response has no retriable error. Raises `BrokerError` for any other error.

        `wait_ms` is how long the broker itself may hold the request, as in a fetch.
        """
        return self.request_for(
            to,
            api_key_of(message),
            lambda _: message,
            error_of=error_of,
            version_max=version_max,
            wait_ms=wait_ms,
            deadline_ms=deadline_ms,
            what=what or f"{type(message).__name__} to {describe(to)}",
        )

    def request_for(
        self,
        to: Destination,
        api_key: int,
        message_for: MessageFor,
        *,
        what: str,
        error_of: ErrorOf = top_level_error,
        version_max: int | None = None,
        wait_ms: float = 0,
        deadline_ms: float | None = None,
    ) -> Operation[Any]:
        """Like `request`, for a message that depends on the version."""

        def attempt() -> Operation[Any]:
            response = yield from self._send(to, api_key, message_for, version_max, wait_ms)
            code = error_of(response)
            if code and is_retriable(code):
                if not isinstance(to, CoordinatorOf) or code in _STALE_COORDINATOR:
                    self.state.forget(to)
                raise Retry(f"{what} was answered with {error_name(code)}")
            if code:
                raise BrokerError(code, what, getattr(response, "error_message", None))
            return response

        return self.retrying(what, attempt, deadline_ms)

    def request_once(
        self, to: Destination, message: Message, *, version_max: int | None = None, wait_ms: float = 0
    ) -> Operation[Any]:
        """Ask once. Raises `Disconnected` when there is no response, `Retry` while no broker has the role."""
        return self._send(to, api_key_of(message), lambda _: message, version_max, wait_ms)

    def backoff(self, what: str, deadline_ms: float | None = None) -> Backoff:
        return Backoff(what, self.settings, self._monotonic_ms, deadline_ms=deadline_ms)

    def retrying(
        self, what: str, attempt: Callable[[], Operation[T]], deadline_ms: float | None = None
    ) -> Operation[T]:
        """Repeat an attempt that raises `Retry` or `Disconnected`, with backoff; `TimedOut` at the deadline."""
        backoff = self.backoff(what, deadline_ms)
        while True:
            try:
                return (yield from attempt())
            except (Retry, Disconnected) as failure:
                delay_ms = backoff.delay_after(failure)
            yield Sleep(delay_ms)

    def _send(
        self, to: Destination, api_key: int, message_for: MessageFor, version_max: int | None, wait_ms: float
    ) -> Operation[Any]:
        timeout_ms = self.settings.request_timeout_ms + wait_ms
        if to is ANY:
            return (yield from self._send_to_any(api_key, message_for, timeout_ms, version_max))
        address = yield from self.address_of(to)
        try:
            return (yield Send(address, api_key, message_for, timeout_ms, version_max))
        except Disconnected:
            self.state.forget(to)
            raise

    def _send_to_any(
        self, api_key: int, message_for: MessageFor, timeout_ms: float, version_max: int | None = None
    ) -> Operation[Any]:
        """Ask the first broker that can be reached: those known by now, then the bootstrap servers."""
        known = [*self.state.metadata.brokers.values()]
        failures: list[str] = []
        for address in dict.fromkeys([*known, *self.settings.bootstrap_servers]):
            try:
                return (yield Send(address, api_key, message_for, timeout_ms, version_max))
            except Unreachable as failure:
                failures.append(str(failure))
        raise Disconnected("; ".join(failures) + ". Is the broker up, and bootstrap.servers right?")

    # -- addresses

    def address_of(self, to: Destination) -> Operation[Address]:
        if isinstance(to, LeaderOf):
            leader = yield from self.leader(TopicPartition(*to))
            return self.state.metadata.brokers[leader.leader_id]
        if isinstance(to, CoordinatorOf):
            return (yield from self.coordinator(to))
        if isinstance(to, Role):
            if self.state.metadata.controller_id not in self.state.metadata.brokers:
                yield from self._refresh(frozenset())
            node = self.state.metadata.controller_id
        else:
            node = to
        if node not in self.state.metadata.brokers:
            yield from self._refresh(frozenset())
        if node not in self.state.metadata.brokers:
            if isinstance(to, Role):
                raise Retry("the cluster has no controller at the moment")
            raise UnknownBroker(f"the cluster has no broker {node} at the moment")
        return self.state.metadata.brokers[node]

    def coordinator(self, to: CoordinatorOf) -> Operation[Address]:
        known = self.state.coordinators.get(to)
        if known is not None:
            return known
        message = find_coordinator.FindCoordinatorRequest(key_type=to.kind, key=to.key)
        found = yield from self.request_once(ANY, message, version_max=_FIND_ONE_LAST)
        if found.error_code and is_retriable(found.error_code):
            raise Retry(f"{to.key!r} has no coordinator: {error_name(found.error_code)}")
        if found.error_code:
            raise BrokerError(found.error_code, f"finding the coordinator of {to.key!r}", found.error_message)
        address = self.state.coordinators[to] = (found.host, found.port)
        return address

    # -- metadata

    def metadata(self, names: Iterable[str] | None = None) -> Operation[Metadata]:
        """Fetch the brokers, and the topics of these names that exist (None: all of them). Creates none."""
        asked = None if names is None else frozenset(names)
        return self.retrying("fetching metadata", lambda: self._refresh(asked))

    def topic(self, name: str) -> Operation[Topic]:
        """A topic, no older than a minute. Raises `BrokerError` when it does not exist or may not be described."""
        if not self.state.is_fresh(name, self._monotonic_ms(), self.settings.retry_backoff_ms / 2):
            yield from self._refresh(frozenset([name]))
        topic = self.state.metadata.topics.get(name)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error
        if topic is None or (code and not is_retriable(code)):
            raise BrokerError(code, f"looking for topic {name!r}")
        return topic

    def leader(self, where: TopicPartition) -> Operation[Partition]:
        """The partition with its leader. Raises `Retry` while it has none."""
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            topic = yield from self.topic(where.topic)
            if where.partition not in topic.partitions:
                self.state.forget(LeaderOf(*where))
                raise BrokerError(unknown, f"looking for {where}")  # noqa: TRY301
        except BrokerError as error:
            if error.code == unknown and self._waits_for_topics:
                raise UnknownPartition(f"{where} does not exist") from None
            raise
        partition = self.state.metadata.leader(where)
        if partition is None:
            self.state.forget(LeaderOf(*where))
            raise Retry(f"{where} has no leader at the moment")
        return partition

    def _refresh(self, asked: frozenset[str] | None) -> Operation[Metadata]:
        topics = (
            None if asked is None else [metadata.MetadataRequestTopic(name=name) for name in sorted(asked)]
        )
        message = metadata.MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        newer = described.from_response((yield from self.request_once(ANY, message)))
        self.state.update(newer, asked, self._monotonic_ms())
        return newer
