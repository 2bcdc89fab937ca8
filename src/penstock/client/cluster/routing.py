"""A cluster seen by an asyncio program: who to ask, asking, and asking again while a failure may pass."""

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Self, TypeVar

import msgspec

from penstock.client import metadata as described
from penstock.client.blocking.retry import Retry, backoff_ms
from penstock.client.cluster.connections import Address, BrokerConnection, Connections, Dialer, Message
from penstock.client.cluster.destinations import CoordinatorOf, Destination, LeaderOf, Role
from penstock.client.cluster.security import Security
from penstock.client.connection import Disconnected
from penstock.client.errors import BrokerError, ClientError, TimedOut, error_name
from penstock.client.metadata import Metadata, Partition, Topic, TopicPartition
from penstock.client.settings import ClientSettings
from penstock.observability.clock import Clock, SystemClock
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import find_coordinator, metadata

T = TypeVar("T")
ErrorOf = Callable[[Any], int]

_METADATA_AGE_MAX_MS: Final = 60_000


class UnknownBroker(ClientError):
    """No broker of the cluster has this id."""


def top_level_error(response: Any) -> int:
    """The error code of the whole answer, where it has one."""
    return getattr(response, "error_code", 0)


class Knowledge:
    """What a client and its branches have learned of a cluster."""

    __slots__ = ("coordinators", "doubtful", "metadata", "read_at_ms")

    def __init__(self) -> None:
        self.metadata = Metadata()
        self.read_at_ms: dict[str, float] = {}
        self.doubtful: set[str] = set()  # topics of which something turned out to be wrong
        self.coordinators: dict[CoordinatorOf, Address] = {}

    def learn(self, newer: Metadata, asked: frozenset[str] | None, now_ms: float) -> None:
        self.metadata = self.metadata.updated(newer, asked)
        self.read_at_ms = {n: at for n, at in self.read_at_ms.items() if n in self.metadata.topics}
        self.read_at_ms.update(dict.fromkeys(newer.topics, now_ms))
        self.doubtful -= newer.topics.keys() if asked is None else asked

    def is_good(self, topic: str, now_ms: float, doubt_ms: float) -> bool:
        """Whether what is known of a topic may be used; what is in doubt only while asking again would be too soon."""
        if topic not in self.read_at_ms:
            return False
        age_ms = now_ms - self.read_at_ms[topic]
        return age_ms <= (doubt_ms if topic in self.doubtful else _METADATA_AGE_MAX_MS)

    def forget_broker(self, node: int) -> None:
        brokers = {each: address for each, address in self.metadata.brokers.items() if each != node}
        self.metadata = msgspec.structs.replace(self.metadata, brokers=brokers)

    def forget_topic(self, name: str) -> None:
        """It was made or deleted."""
        self.read_at_ms.pop(name, None)
        topics = {each: topic for each, topic in self.metadata.topics.items() if each != name}
        self.metadata = msgspec.structs.replace(self.metadata, topics=topics)


class Router:
    """Asks the right broker. `Client` is made of it."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        security: Security,
        clock: Clock | None = None,
        knowledge: Knowledge | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        self.settings = settings
        self.security = security
        self.clock: Clock = clock or SystemClock()
        self._knowledge = knowledge or Knowledge()
        self._dialer = dialer or Dialer(
            security, client_id=settings.client_id, timeout_ms=settings.connect_timeout_ms
        )
        self._connections = Connections(self._dialer)

    async def close(self) -> None:
        await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- asking

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
        """Ask until the answer has no error that passes by itself; `BrokerError` for one that stays.

        `wait_ms` is how long the broker itself may take its time, as in a fetch.
        """
        what = f"{type(message).__name__} to {_name(to)}"

        async def attempt() -> Any:
            try:
                response = await self.request_once(to, message, version_max=version_max, wait_ms=wait_ms)
            except Disconnected:
                self.forget(to)
                raise
            code = error_of(response)
            if code and is_retriable(code):
                self.forget(to)
                raise Retry(f"{what} was answered with {error_name(code)}")
            if code:
                raise BrokerError(code, what, getattr(response, "error_message", None))
            return response

        return await self.until_done(what, attempt, deadline_ms=deadline_ms)

    async def request_once(
        self, to: Destination, message: Message, *, version_max: int | None = None, wait_ms: float = 0
    ) -> Any:
        """Ask one time. `Disconnected` when there is no answer, `Retry` while nobody is known to be asked."""
        connection = await self.connection_to(to)
        timeout_ms = self.settings.request_timeout_ms + wait_ms
        return await connection.call(message, timeout_ms=timeout_ms, version_max=version_max)

    async def until_done(
        self, what: str, attempt: Callable[[], Awaitable[T]], *, deadline_ms: float | None = None
    ) -> T:
        """Repeat what raises `Retry` or `Disconnected`, waiting longer each time; `TimedOut` at the deadline."""
        settings = self.settings
        allowed_ms = settings.deadline_ms if deadline_ms is None else deadline_ms
        give_up_at_ms = self.clock.monotonic_ms() + allowed_ms
        failures = 0
        while True:
            try:
                return await attempt()
            except (Retry, Disconnected) as failure:
                failures += 1
                delay_ms = backoff_ms(
                    failures,
                    settings.retry_backoff_ms,
                    settings.retry_backoff_max_ms,
                    random.random(),  # noqa: S311  spreads load
                )
                if self.clock.monotonic_ms() + delay_ms >= give_up_at_ms:
                    raise TimedOut(f"{what} did not work in {failures} attempts: {failure}") from failure
            await self.clock.sleep(delay_ms)

    async def connection_to(self, to: Destination) -> BrokerConnection:
        """`Disconnected` when it cannot be reached; next time it is looked for anew."""
        if to is Role.ANY:
            return await self._any()
        address = await self.address_of(to)
        try:
            return await self._connections.to(address)
        except Disconnected:
            self.forget(to)
            raise

    async def address_of(self, to: Destination) -> Address:
        if isinstance(to, LeaderOf):
            leader = await self.leader(TopicPartition(to.topic, to.partition))
            return self._knowledge.metadata.brokers[leader.leader_id]
        if isinstance(to, CoordinatorOf):
            return await self._coordinator(to)
        if isinstance(to, Role):
            if self._knowledge.metadata.controller_id not in self._knowledge.metadata.brokers:
                await self._refresh(frozenset())
            node = self._knowledge.metadata.controller_id
        else:
            node = to
        if node not in self._knowledge.metadata.brokers:
            await self._refresh(frozenset())
        if node not in self._knowledge.metadata.brokers:
            if isinstance(to, Role):
                raise Retry("the cluster has no controller at the moment")
            raise UnknownBroker(f"the cluster has no broker {node} at the moment")
        return self._knowledge.metadata.brokers[node]

    def forget(self, to: Destination) -> None:
        """Find out anew who is to be asked, next time."""
        if isinstance(to, LeaderOf):
            self._knowledge.doubtful.add(to.topic)
        elif isinstance(to, CoordinatorOf):
            self._knowledge.coordinators.pop(to, None)
        elif isinstance(to, Role):
            self._knowledge.metadata = msgspec.structs.replace(self._knowledge.metadata, controller_id=-1)
        else:
            self._knowledge.forget_broker(to)

    async def _any(self) -> BrokerConnection:
        """The first broker that can be reached: those known by now, then the bootstrap servers."""
        known = [*self._knowledge.metadata.brokers.values()]
        failures: list[str] = []
        for address in dict.fromkeys([*known, *self.settings.bootstrap_servers]):
            try:
                return await self._connections.to(address)
            except Disconnected as failure:
                failures.append(str(failure))
        raise Disconnected("; ".join(failures))

    # -- metadata

    async def metadata(self, names: Iterable[str] | None = None) -> Metadata:
        """Brokers, and the topics of these names that exist (None: all there are), asked for now. Creates none."""
        asked = None if names is None else frozenset(names)
        return await self.until_done("asking for metadata", lambda: self._refresh(asked))

    async def topic(self, name: str) -> Topic:
        """A topic, no older than a minute. `BrokerError` at once when it does not exist or may not be seen."""
        doubt_ms = self.settings.retry_backoff_ms / 2
        if not self._knowledge.is_good(name, self.clock.monotonic_ms(), doubt_ms):
            await self.metadata([name])
        topic = self._knowledge.metadata.topics.get(name)
        if topic is None:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"looking for topic {name!r}")
        if topic.error and not is_retriable(topic.error):
            raise BrokerError(topic.error, f"looking for topic {name!r}")
        return topic

    async def leader(self, where: TopicPartition) -> Partition:
        """Who leads a partition. `Retry` while nobody does, `BrokerError` when there is no such partition."""
        topic = await self.topic(where.topic)
        if where.partition not in topic.partitions:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"looking for {where}")
        partition = self._knowledge.metadata.leader(where)
        if partition is None:
            self._knowledge.doubtful.add(where.topic)
            raise Retry(f"{where} has no leader at the moment")
        return partition

    async def _refresh(self, asked: frozenset[str] | None) -> Metadata:
        topics = None if asked is None else [metadata.MetadataRequestTopic(name=n) for n in sorted(asked)]
        message = metadata.MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        newer = described.from_response(await self.request_once(Role.ANY, message))
        self._knowledge.learn(newer, asked, self.clock.monotonic_ms())
        return newer

    # -- coordinators

    async def _coordinator(self, to: CoordinatorOf) -> Address:
        known = self._knowledge.coordinators.get(to)
        if known is not None:
            return known
        connection = await self._any()
        timeout_ms = self.settings.request_timeout_ms
        if connection.introduced.version(find_coordinator.API_KEY) >= 4:  # KIP-699: several at once
            message = find_coordinator.FindCoordinatorRequest(key_type=to.kind, coordinator_keys=[to.key])
            found = (await connection.call(message, timeout_ms=timeout_ms)).coordinators[0]
        else:
            message = find_coordinator.FindCoordinatorRequest(key_type=to.kind, key=to.key)
            found = await connection.call(message, timeout_ms=timeout_ms)
        if found.error_code and is_retriable(found.error_code):
            raise Retry(f"{to.key!r} has no coordinator: {error_name(found.error_code)}")
        if found.error_code:
            raise BrokerError(found.error_code, f"finding the coordinator of {to.key!r}", found.error_message)
        address = (found.host, found.port)
        self._knowledge.coordinators[to] = address
        return address


def _name(to: Destination) -> str:
    if isinstance(to, LeaderOf):
        return f"the leader of {to.topic}-{to.partition}"
    if isinstance(to, CoordinatorOf):
        return f"the coordinator of {to.key!r}"
    return to.value if isinstance(to, Role) else f"broker {to}"
