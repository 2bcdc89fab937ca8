"""One fetcher for each leader that this broker follows, kept up to date with the metadata."""

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from penstock.cluster.fetching.channel import ConnectedLeader
from penstock.cluster.fetching.fetcher import Fetcher, LeaderChannel
from penstock.cluster.fetching.followed_partition import FollowedPartition
from penstock.cluster.fetching.session import FetchLimits, FetchSession
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import NO_LEADER
from penstock.cluster.peers import PeerChannel, Peers
from penstock.cluster.replica import Replica
from penstock.cluster.throttle import ReplicationThrottle
from penstock.config.broker import BrokerConfig
from penstock.config.settings import replication
from penstock.runtime.clock import Clock
from penstock.storage.store.log_store import LogStore


class FetchSettings:
    """The current settings of followers."""

    def __init__(self, config: Callable[[], BrokerConfig]) -> None:
        self._config = config

    @property
    def limits(self) -> FetchLimits:
        config = self._config()
        return FetchLimits(
            wait_ms_max=config[replication.REPLICA_FETCH_WAIT_MAX_MS],
            bytes_min=config[replication.REPLICA_FETCH_MIN_BYTES],
            bytes_max=config[replication.REPLICA_FETCH_RESPONSE_MAX_BYTES],
        )

    @property
    def partition_bytes_max(self) -> int:
        return self._config()[replication.REPLICA_FETCH_MAX_BYTES]

    @property
    def backoff_ms(self) -> int:
        return self._config()[replication.REPLICA_FETCH_BACKOFF_MS]

    @property
    def timeout_ms(self) -> int:
        return self._config()[replication.REPLICA_SOCKET_TIMEOUT_MS]


class _Running(NamedTuple):
    fetcher: Fetcher
    task: "asyncio.Task[None]"
    endpoint: object


class Fetchers:
    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        peers: Peers,
        store: LogStore,
        settings: FetchSettings,
        *,
        throttle: ReplicationThrottle,
        clock: Clock,
    ) -> None:
        self._node_id = node_id
        self._image = image
        self._peers = peers
        self._store = store
        self._settings = settings
        self._throttle = throttle
        self._clock = clock
        self._running: dict[int, _Running] = {}
        self._leader_of: dict[tuple[bytes, int], int] = {}
        self._ending: dict[asyncio.Task[None], None] = {}
        self._is_stopped = False

    def follow(self, replicas: Iterable[Replica]) -> None:
        """Follow these partitions from here on, or stop following them, as their metadata says."""
        if self._is_stopped:  # the quorum stops later, and metadata may still change
            return
        for replica in replicas:
            key = (replica.topic_id, replica.partition)
            leader = replica.leader_id
            is_followed = not replica.is_leader and leader in self._image.brokers and leader != NO_LEADER
            known = self._leader_of.get(key)
            if known is not None and (not is_followed or known != leader):
                self.leave(*key)
            if is_followed:
                self._leader_of[key] = leader
                self._fetcher(leader).follow(replica)

    def leave(self, topic_id: bytes, number: int) -> None:
        leader = self._leader_of.pop((topic_id, number), None)
        running = None if leader is None else self._running.get(leader)
        if leader is not None and running is not None:
            running.fetcher.leave(topic_id, number)
            if not len(running.fetcher):
                self._end(leader)

    def brokers_changed(self, broker_ids: Iterable[int], replicas: Callable[[], Iterable[Replica]]) -> None:
        """Connect again to leaders whose endpoints have changed."""
        moved = False
        for broker_id in broker_ids:
            running = self._running.get(broker_id)
            broker = self._image.brokers.get(broker_id)
            if running is not None and (broker is None or broker.endpoints != running.endpoint):
                self._end(broker_id)
                moved = True
        if moved:
            self._leader_of = {k: v for k, v in self._leader_of.items() if v in self._running}
            self.follow(replicas())

    def _fetcher(self, leader: int) -> Fetcher:
        running = self._running.get(leader)
        if running is None:
            me = self._image.brokers.get(self._node_id)
            fetcher = Fetcher(
                FetchSession(self._node_id, -1 if me is None else me.epoch),
                lambda: self._connect(leader),
                lambda replica: FollowedPartition(replica, self._store),
                self._settings,
                throttle=self._throttle,
                clock=self._clock,
            )
            task = asyncio.get_running_loop().create_task(fetcher.run(), name=f"fetch from broker {leader}")
            running = _Running(fetcher, task, self._image.brokers[leader].endpoints)
            self._running[leader] = running
        return running.fetcher

    async def _connect(self, leader: int) -> LeaderChannel:
        channel = PeerChannel(lambda: self._peers.connect(leader), lambda: self._settings.timeout_ms)
        return ConnectedLeader(self._node_id, channel)

    def _end(self, leader: int) -> None:
        task = self._running.pop(leader).task
        task.cancel()
        self._ending[task] = None
        task.add_done_callback(self._ending.pop)

    async def stop(self) -> None:
        """Stop fetching and appending: the logs may be closed afterwards."""
        self._is_stopped = True
        self._leader_of.clear()
        for leader in list(self._running):
            self._end(leader)
        await asyncio.gather(*self._ending, return_exceptions=True)
