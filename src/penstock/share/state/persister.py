"""The state of share partitions, kept by whichever broker coordinates it: a `Persister` for the whole cluster."""

import random
from collections.abc import Sequence

from penstock.cluster.peers import Peers
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.values import PersisterError, SharePartitionKey, ShareState, ShareSummary, StateBatch


class ClusterPersister:
    def __init__(
        self,
        node_id: int,
        local: ShareStateCoordinator,
        peers: Peers,
        clock: Clock,
        randomness: random.Random,
    ) -> None:
        self._node_id = node_id
        self._local = local
        self._peers = peers
        self._clock = clock
        self._random = randomness

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> None:
        raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def delete(self, key: SharePartitionKey) -> None:
        raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
