"""Offsets of a group that are committed with transactions (KIP-447)."""

from typing import Any, Final, NamedTuple

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.clients.client import Address, Api, NoAnswer
from penstock_simulation.cluster.clients.offsets import GroupOffsets, commit_topics
from penstock_simulation.cluster.values import PartitionName

_COMMIT_OFFSETS, _COMMIT_OFFSETS_V2 = (28, 3), (28, 5)
TRIES_MAX: Final = 20
RETRIABLE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REPLICA_NOT_AVAILABLE,
    }
)
_OFFSETS_TOO_LARGE = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_COMMIT_OFFSET_SIZE})


class Abandoned(Exception):
    """The transaction cannot continue: the coordinator has to end it."""


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int


class TransactionalOffsets(GroupOffsets):
    """Offsets of a group that only one producer commits: the same, ascending number for all partitions."""

    async def commit(
        self,
        name: bytes,
        transactional_id: str,
        producer: ProducerIdentity,
        number: int,
        *,
        is_version_2: bool,
    ) -> bool:
        """Commit offsets. Returns False if the transaction must be aborted. Raises `Abandoned`."""
        checker = self._client.history.transactions
        checker.on_offsets_sent(name, self.group, number)
        code, coordinator = await self._ask(
            _COMMIT_OFFSETS_V2 if is_version_2 else _COMMIT_OFFSETS,
            transactional_id=transactional_id,
            group_id=self.group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=commit_topics(self._client.random, self._partitions, number),
        )
        if code is ErrorCode.NONE:
            checker.on_offsets_stored(name, coordinator[0])
        elif code not in _OFFSETS_TOO_LARGE:
            raise Abandoned(code.name)
        return code is ErrorCode.NONE

    async def _ask(self, api: Api, **fields: Any) -> tuple[ErrorCode, Address]:
        """Return the final error code, and the coordinator that answered it. Raises `Abandoned`."""
        error = "no answer"
        for _ in range(TRIES_MAX):
            try:
                coordinator = await self._coordinator.address()
                response = await self._coordinator.ask(api, **fields)
            except NoAnswer as failure:
                error = str(failure)
            else:
                codes = [each.error_code for topic in response.topics for each in topic.partitions]
                code = ErrorCode(next((each for each in codes if each), 0))
                if code not in RETRIABLE:
                    return code, coordinator
                error = code.name
            self._coordinator.forget()
            await self._client.back_off()
        raise Abandoned(error)

    def _on_fetched(self, found: dict[PartitionName, int], asked_s: float, coordinator: str) -> None:
        self._client.history.transactions.on_offsets_fetched(self.group, found, asked_s, coordinator)
