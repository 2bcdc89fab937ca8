"""What all clients share: connections, and finding out who leads or coordinates."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from penstock.client.connection import Connection
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import find_coordinator, metadata
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.history import History

_METADATA, _FIND_COORDINATOR = (3, 12), (10, 3)
_ANSWER_S_MAX = 4.0
_REST_S_MAX = 0.2
_KNOWN_S_MAX = 0.5
GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators."""

Address = tuple[str, int]


class NoAnswer(Exception):
    """Nobody knows whether it was done: the connection broke, the answer took too long, or made no sense."""


class Known(msgspec.Struct, frozen=True):
    """Where a partition is."""

    topic_id: bytes
    leader: Address | None
    replicas: dict[int, Address]


class Client:
    """Every failure makes it look again."""

    def __init__(self, bootstrap: Sequence[Address], history: History, random: Random, clock: Clock) -> None:
        self._bootstrap = bootstrap
        self._connections: dict[Address, Connection] = {}
        self._known: dict[PartitionName, tuple[Known, float]] = {}
        self.history = history
        self.random = random
        self.clock = clock

    def another(self, history: History | None = None) -> "Client":
        """With connections of its own, and perhaps another history."""
        return Client(self._bootstrap, history or self.history, self.random, self.clock)

    def only_at(self, address: Address) -> "Client":
        """One that asks this node alone."""
        return Client([address], self.history, self.random, self.clock)

    @property
    def now_s(self) -> float:
        return self.clock.monotonic_ms() / 1000

    async def call(self, address: Address, api: tuple[int, int], request: Any) -> Any:
        """Ask one node. Raises `NoAnswer`."""
        (answer,) = await self.call_all(address, api, [request])
        if isinstance(answer, NoAnswer):
            raise answer
        return answer

    async def call_all(
        self, address: Address, api: tuple[int, int], requests: Sequence[Any]
    ) -> list[Any | NoAnswer]:
        """Pipeline requests on one connection; gives their answers in order, a `NoAnswer` for each that has none."""
        sent: list[asyncio.Future[Any]] = []
        why: Exception | None = None
        try:
            async with asyncio.timeout(_ANSWER_S_MAX):
                connection = self._connections.get(address)
                if connection is None or connection.is_lost:
                    connection = self._connections[address] = await Connection.open(*address)
                sent = [connection.call(*api, each) for each in requests]
                await asyncio.gather(*sent, return_exceptions=True)
        except (OSError, ProtocolError, TimeoutError) as error:
            why = error
        answers = [_answer(each, why) for each in sent] or [_no_answer(why) for _ in requests]
        if isinstance(answers[-1], NoAnswer):
            lost = self._connections.pop(address, None)
            if lost is not None:
                lost.abort()
        return answers

    async def ask_anybody(self, api: tuple[int, int], request: Any) -> Any:
        return await self.call(self.random.choice(self._bootstrap), api, request)

    async def find(self, partition: PartitionName) -> Known:
        """Where a partition is, as some node had it a moment ago at most. Raises `NoAnswer`."""
        known, found_s = self._known.get(partition, (None, 0.0))
        if known is None or self.now_s > found_s + _KNOWN_S_MAX:
            known = await self._look_up(partition)
            self._known[partition] = (known, self.now_s)
        return known

    async def _look_up(self, partition: PartitionName) -> Known:
        topic = metadata.MetadataRequestTopic(name=partition[0])
        answer = await self.ask_anybody(
            _METADATA, metadata.MetadataRequest(topics=[topic], allow_auto_topic_creation=False)
        )
        nodes = {each.node_id: (each.host, each.port) for each in answer.brokers}
        for each in answer.topics[0].partitions:
            if each.partition_index == partition[1]:
                replicas = {node: nodes[node] for node in each.replica_nodes if node in nodes}
                return Known(answer.topics[0].topic_id, nodes.get(each.leader_id), replicas)
        raise NoAnswer(f"{partition} is not known")

    async def leader_of(self, partition: PartitionName) -> Address:
        """Raises `NoAnswer`."""
        leader = (await self.find(partition)).leader
        if leader is None:
            raise NoAnswer(f"{partition} has no leader that is known")
        return leader

    async def coordinator_of(self, name: str, kind: int) -> Address:
        """Raises `NoAnswer`."""
        request = find_coordinator.FindCoordinatorRequest(key=name, key_type=kind)
        answer = await self.ask_anybody(_FIND_COORDINATOR, request)
        if answer.error_code != ErrorCode.NONE:
            raise NoAnswer(f"the coordinator of {name} is not known")
        return (answer.host, answer.port)

    async def rest(self) -> None:
        await asyncio.sleep(self.random.uniform(0.01, _REST_S_MAX))


def _answer(sent: "asyncio.Future[Any]", why: Exception | None) -> Any | NoAnswer:
    if sent.cancelled() or not sent.done():
        return _no_answer(why)
    error = sent.exception()
    if error is None:
        return sent.result()
    if not isinstance(error, OSError | ProtocolError):
        raise error
    return _no_answer(error)


def _no_answer(error: BaseException | None) -> NoAnswer:
    return NoAnswer(str(error) or type(error).__name__)
