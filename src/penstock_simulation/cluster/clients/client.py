"""Connections, requests, and the lookup of leaders and coordinators, for all clients."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, TypeVar

import msgspec

from penstock.client.connection import Connection
from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.runtime.clock import Clock
from penstock_simulation.cluster.history import History
from penstock_simulation.cluster.values import PartitionName

T = TypeVar("T")
Address = tuple[str, int]
Api = tuple[int, int]
"""A key and a version."""

_METADATA, _FIND_COORDINATOR = (3, 12), (10, 3)
_ANSWER_S_MAX = 4.0
_BACKOFF_S_MAX = 0.2
_METADATA_AGE_S_MAX = 0.5
GROUP, TRANSACTION = 0, 1
"""Types of coordinators."""


class NoAnswer(Exception):
    """The outcome of a request is unknown: the connection broke, the answer took too long or was invalid."""


class PartitionInfo(msgspec.Struct, frozen=True):
    topic_id: bytes
    leader: Address | None
    replicas: dict[int, Address]


def build_request(key: int, /, **fields: Any) -> Any:
    """Build a request of an API from nested dictionaries."""
    codec: Any = apis.codec(key)
    return msgspec.convert(fields, getattr(codec, f"{apis.APIS[key].name}Request"))


def check_error(code: int) -> None:
    """Raise `NoAnswer` for any error code but NONE."""
    if code != ErrorCode.NONE:
        raise NoAnswer(ErrorCode(code).name)


class Client:
    def __init__(self, bootstrap: Sequence[Address], history: History, random: Random, clock: Clock) -> None:
        self._bootstrap = bootstrap
        self._connections: dict[Address, Connection] = {}
        self._partitions: dict[PartitionName, tuple[PartitionInfo, float]] = {}
        self.history = history
        self.random = random
        self.clock = clock

    def another(self, *bootstrap: Address) -> "Client":
        """Return a client with separate connections, and with other bootstrap nodes if any are given."""
        return Client(bootstrap or self._bootstrap, self.history, self.random, self.clock)

    @property
    def now_s(self) -> float:
        return self.clock.monotonic_ms() / 1000

    async def ask(self, address: Address, api: Api, /, **fields: Any) -> Any:
        """Build a request and send it to one node. Raises `NoAnswer`."""
        return await self.call(address, api, build_request(api[0], **fields))

    async def ask_any(self, api: Api, /, **fields: Any) -> Any:
        """Build a request and send it to a random node. Raises `NoAnswer`."""
        return await self.ask(self.random.choice(self._bootstrap), api, **fields)

    async def call(self, address: Address, api: Api, request: Any) -> Any:
        """Send a request to one node. Raises `NoAnswer`."""
        (response,) = await self.call_all(address, api, [request])
        if isinstance(response, NoAnswer):
            raise response
        return response

    async def call_all(self, address: Address, api: Api, requests: Sequence[Any]) -> list[Any | NoAnswer]:
        """Pipeline requests on one connection; return their answers in order, `NoAnswer` for missing ones."""
        sent: list[asyncio.Future[Any]] = []
        failure: Exception | None = None
        try:
            async with asyncio.timeout(_ANSWER_S_MAX):
                connection = self._connections.get(address)
                if connection is None or connection.is_lost:
                    connection = self._connections[address] = await Connection.open(*address)
                sent = [connection.call(*api, each) for each in requests]
                await asyncio.gather(*sent, return_exceptions=True)
        except (OSError, ProtocolError, TimeoutError) as error:
            failure = error
        responses = [_answer(each, failure) for each in sent] or [_no_answer(failure) for _ in requests]
        if isinstance(responses[-1], NoAnswer):
            lost = self._connections.pop(address, None)
            if lost is not None:
                lost.abort()
        return responses

    async def find(self, partition: PartitionName) -> PartitionInfo:
        """Return recent metadata of a partition. Raises `NoAnswer`."""
        known, found_s = self._partitions.get(partition, (None, 0.0))
        if known is None or self.now_s > found_s + _METADATA_AGE_S_MAX:
            known = await self._look_up(partition)
            self._partitions[partition] = (known, self.now_s)
        return known

    async def _look_up(self, partition: PartitionName) -> PartitionInfo:
        response = await self.ask_any(
            _METADATA, topics=[{"name": partition[0]}], allow_auto_topic_creation=False
        )
        nodes = {each.node_id: (each.host, each.port) for each in response.brokers}
        for each in response.topics[0].partitions:
            if each.partition_index == partition[1]:
                replicas = {node: nodes[node] for node in each.replica_nodes if node in nodes}
                return PartitionInfo(response.topics[0].topic_id, nodes.get(each.leader_id), replicas)
        raise NoAnswer(f"{partition} is unknown")

    async def leader_of(self, partition: PartitionName) -> Address:
        """Return the address of a partition's leader. Raises `NoAnswer`."""
        leader = (await self.find(partition)).leader
        if leader is None:
            raise NoAnswer(f"{partition} has no known leader")
        return leader

    async def coordinator_of(self, name: str, kind: int) -> Address:
        """Return the address of a coordinator. Raises `NoAnswer`."""
        response = await self.ask_any(_FIND_COORDINATOR, key=name, key_type=kind)
        check_error(response.error_code)
        return (response.host, response.port)

    async def back_off(self) -> None:
        await asyncio.sleep(self.random.uniform(0.01, _BACKOFF_S_MAX))

    async def retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat an attempt until it neither raises `NoAnswer` nor returns False."""
        while True:
            try:
                if (result := await attempt()) is not False:
                    return result
            except NoAnswer:
                pass
            await self.back_off()


class CoordinatorClient:
    """Calls the coordinator of a group or of a transactional id, which it remembers until `forget`."""

    def __init__(self, client: Client, name: str, kind: int = GROUP) -> None:
        self._client = client
        self._name = name
        self._kind = kind
        self._address: Address | None = None

    async def address(self) -> Address:
        """Raises `NoAnswer`."""
        if self._address is None:
            self._address = await self._client.coordinator_of(self._name, self._kind)
        return self._address

    async def ask(self, api: Api, /, **fields: Any) -> Any:
        """Raises `NoAnswer`."""
        return await self._client.ask(await self.address(), api, **fields)

    def forget(self) -> None:
        """Look the coordinator up again at the next call."""
        self._address = None


def _answer(sent: "asyncio.Future[Any]", failure: Exception | None) -> Any | NoAnswer:
    if sent.cancelled() or not sent.done():
        return _no_answer(failure)
    error = sent.exception()
    if error is None:
        return sent.result()
    if not isinstance(error, OSError | ProtocolError):
        raise error
    return _no_answer(error)


def _no_answer(error: BaseException | None) -> NoAnswer:
    return NoAnswer(str(error) or type(error).__name__)
