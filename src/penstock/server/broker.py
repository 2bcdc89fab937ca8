"""A broker's life: put the parts together, start in order, stop in the reverse.

Start: take the data directory, recover its logs, bind, take part in the metadata quorum, register with its leader,
catch up to the registration, open the partitions, serve.
Stop: hand leaderships over, end what runs by itself, leave the quorum, accept nobody, answer what is in flight, sync
and close every log, leave the clean mark.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from penstock.cluster.controller import Controller
from penstock.cluster.controller.active import ActiveController
from penstock.cluster.controller.brokers import BrokerRegistration
from penstock.cluster.controller.identifiers import new_cluster_id, new_uuid
from penstock.cluster.controller.min_isr_default import warn_of_other_value
from penstock.cluster.controller.scram_credentials import NewUser
from penstock.cluster.controller_access import ControllerAccess
from penstock.cluster.joining import JoinFailed, JoinRefused, cluster_id_of
from penstock.cluster.lifecycle import Lifecycle, NotAdmitted
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.log import MetadataLog
from penstock.cluster.peers import Peers
from penstock.cluster.quorum import Quorum, QuorumPeers
from penstock.cluster.quorum_start import start_quorum
from penstock.cluster.raft.errors import RaftError
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint, parse_host_limits
from penstock.config.property import ConfigError
from penstock.config.themes import logs, network
from penstock.observability.exposition import Histogram
from penstock.observability.offload import Offload, OffloadPool
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.dialer import Dialer
from penstock.server.assembling import make_services
from penstock.server.connection_host import ConnectionHost, Dialect, Limits, Tracked
from penstock.server.context import Services
from penstock.server.descriptors import share_out
from penstock.server.disk_watch import DiskWatch
from penstock.server.dispatch import Dispatcher
from penstock.server.identity import Identity
from penstock.server.listener_changes import ListenerChanges
from penstock.server.listeners import advertised_endpoints
from penstock.server.metrics.broker import BrokerMetrics
from penstock.server.network import ListenFailed
from penstock.server.partition_service import PartitionService
from penstock.server.ports import Ports
from penstock.server.secret_file import begin_secret, keep_secret, known_secret
from penstock.server.server import Server
from penstock.server.socket_options import SocketOptions
from penstock.storage import directory_files
from penstock.storage.cleaner import Cleaner, CleanerSettings
from penstock.storage.flusher import Flusher
from penstock.storage.log_errors import LogError
from penstock.storage.log_store import LogStore
from penstock.storage.ring import SyncRing

log = logging.getLogger(__name__)

_SYNC_THREADS = 8  # the kernel merges syncs of several files into one journal commit
_READ_THREADS = 4
_CHECK_THREADS = 1  # one at a time: what a batch grows to is held in memory
_IN_FLIGHT_MAX = 256
_IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024
_DRAIN_MS_MAX = 10_000

_REFUSALS = (ConfigError, ListenFailed, LogError, MetadataError, RaftError, NotAdmitted, JoinFailed)

Dialects = Callable[[Services], Mapping[int, Dialect]]


class StartFailed(Exception):
    """The broker cannot start; the message is one line that says why and what to do."""


class Broker:
    def __init__(
        self,
        config: BrokerConfig,
        ports: Ports,
        *,
        dialects: Dialects = lambda _services: {},
        join: Sequence[tuple[str, int]] = (),
        users: Sequence[NewUser] = (),
        secret: bytes | None = None,
        find_secret: Callable[[str], bytes | None] = lambda _cluster_id: None,
    ) -> None:
        """`join` names members of a running cluster, for a node that has not been part of it yet.

        `secret` is that of the cluster, unless the data directory has it; a new cluster makes one. `find_secret` looks
        for it by the id of the cluster to join.

        `users` are those that a new cluster begins with.
        """
        self._config = config
        self._join = tuple(join)
        self._users = tuple(users)
        self._given_secret, self._find_secret = secret, find_secret
        self._dialects = dialects
        self._ports = ports
        self._files, self._random = ports.files, ports.randomness
        self._clock, self._liveness = ports.clock, ports.liveness
        self._cleanup = contextlib.AsyncExitStack()
        self._descriptors = share_out(ports.descriptor_limit())
        self.endpoints: list[Endpoint] = []
        self.connections: Collection[Tracked] = ()
        self.services: Services
        self.store: LogStore
        self.identity: Identity
        self.secret: ClusterSecret
        self._dialer: Dialer
        self._lifecycle: Lifecycle

    async def start(self) -> None:
        """Serve when this returns. Raises `StartFailed`, and then nothing is left running."""
        try:
            await self._start()
        except _REFUSALS as error:
            await self._cleanup.aclose()
            raise StartFailed(str(error)) from error
        except OSError as error:
            await self._cleanup.aclose()
            raise StartFailed(
                f"cannot use the data directory {self._directory()}: {error.strerror or error}. Give one that "
                "can be written with --data DIR"
            ) from error
        except BaseException:
            await self._cleanup.aclose()
            raise

    async def stop(self) -> None:
        """Stop gracefully: what was acknowledged is synced anyway, but the next start need not recover."""
        await self._cleanup.aclose()

    async def evicted(self) -> str:
        """Wait until the cluster has no place for this broker any more, and give the reason. It is to be stopped."""
        return await self._lifecycle.evicted()

    def abandon(self) -> None:
        """Do nothing of what a stop does: what this broker ran on is gone."""
        self._cleanup.pop_all()

    def _settings(self) -> BrokerConfig:
        """As they hold now; before there is a controller, as they were given."""
        return self.services.config if hasattr(self, "services") else self._config

    def _directory(self) -> str:
        directories = self._config.log_dirs
        if len(directories) != 1:
            raise ConfigError(
                f"log.dirs must name one directory, not {len(directories)}: {','.join(directories)}"
            )
        return directories[0]

    async def _start(self) -> None:
        reads = self._threads(_READ_THREADS, "penstock-read")
        syncs = self._threads(_SYNC_THREADS, "penstock-sync")
        flusher = Flusher(syncs, self._clock, max(1, self._descriptors.for_logs // 4), self._ring())
        listener = self._config.inter_broker_listener
        known = known_secret(self._files, self._directory(), self._given_secret)
        self.secret = ClusterSecret(self._random, known, self._find_secret)
        self._dialer = Dialer(
            self._settings,
            self._ports.network,
            self._liveness,
            self.secret,
            client_id=f"penstock-broker-{self._config.node_id}",
        )
        store = self.store = await self._open_store(reads, listener)
        self._cleanup.push_async_callback(store.close, flusher)
        metadata = MetadataLog(MetadataImage(store.cluster_id), self._clock)
        controller = Controller(metadata, self._config, self._random)
        replicas = Replicas(store.node_id, metadata.image, store, flusher, self._config, clock=self._liveness)
        peers = Peers(metadata.image, self._dialer.open, listener)
        self._cleanup.push_async_callback(peers.close)
        self.services = make_services(
            store,
            controller,
            replicas,
            peers,
            self.secret,
            clock=self._clock,
            liveness=self._liveness,
            randomness=self._random,
            metrics=self._metrics(flusher.seconds),
            checks=self._threads(_CHECK_THREADS, "penstock-check"),
            grant_producer_ids=self._grant_producer_ids,
        )
        await self._watch_disk(replicas, reads)
        self.identity = await self._identify(controller, reads)
        self.services.metrics.identity = self.identity.counts
        if listener in self.identity.listeners:
            self.services.broker_principals = self.identity.listeners[listener].brokers
        server = self._server()
        self.endpoints = await server.listen(list(self._config.listeners))
        self._cleanup.push_async_callback(server.stop, _DRAIN_MS_MAX)
        self.services.listeners = ListenerChanges(
            server, self.identity, self._settings, self.endpoints, self._listeners_changed
        )
        advertised = advertised_endpoints(self.endpoints, self._config.advertised_listeners)
        quorum = Quorum(metadata, self._clock, reads)
        metadata.connect(quorum)
        access = self._follow_quorum(quorum, controller, peers)
        await self._start_quorum(quorum, store, flusher, advertised[listener], reads)
        if self.secret.value is None and (quorum.is_alone or self._dialer.proves_secret):
            begin_secret(self._files, store.directory, self.secret, is_alone=quorum.is_alone)
        if quorum.is_active:
            await controller.bootstrap(users=self._users)
        if not quorum.is_alone:  # the others need this node's vote before any of them can serve
            await server.start()
        lifecycle = self._lifecycle = self._make_lifecycle(
            store, access, controller, list(advertised.values())
        )
        replicas.surroundings.on_disk_failure = quorum.on_failure = self._disk_failed
        await lifecycle.register()
        store.broker_epoch = access.broker_epoch
        await metadata.reached(access.broker_epoch)
        warn_of_other_value(metadata.image, self._config)
        partitions = PartitionService(
            self.services, store, metadata, peers, access, clock=self._clock, liveness=self._liveness
        )
        self._cleanup.push_async_callback(partitions.stop)
        await partitions.start(
            self._cleaner(store, replicas, reads), partial(self._register_lost_records, store, metadata)
        )
        self.services.is_ready = True
        if quorum.is_alone:
            await server.start()
        metadata.subscribe(self._follow_listeners)
        await self.services.listeners.follow()
        self._cleanup.push_async_callback(lifecycle.leave)
        await lifecycle.start()

    async def _register_lost_records(self, store: LogStore, metadata: MetadataLog) -> None:
        store.broker_epoch = await self._lifecycle.register_lost_records(new_uuid(self._random))
        await metadata.reached(store.broker_epoch)

    async def _follow_listeners(self, delta: MetadataDelta) -> None:
        if (ResourceType.BROKER, str(self._config.node_id)) in delta.configs_changed:
            await self.services.listeners.follow()

    def _listeners_changed(self, bound: list[Endpoint]) -> None:
        self.endpoints = bound
        self.services.metrics.identity = self.identity.counts

    async def _open_store(self, reads: Offload, listener: str) -> LogStore:
        meta = directory_files.read_meta(self._files, self._directory())
        self.secret.cluster_id = None if meta is None else meta.cluster_id
        cluster_id = await self._cluster_to_join(listener, None if meta is None else meta.cluster_id)
        store = LogStore.open(
            self._directory(),
            files=self._files,
            node_id=self._config.node_id,
            new_cluster_id=lambda: cluster_id or new_cluster_id(self._random),
            new_directory_id=partial(new_uuid, self._random),
            clock=self._clock,
            offload=reads,
            open_files_max=self._descriptors.for_logs,
            producer_expiration_ms=self._config[logs.PRODUCER_ID_EXPIRATION_MS],
        )
        if cluster_id not in (None, store.cluster_id):
            await store.close(None)
            raise NotAdmitted(
                f"{store.directory} belongs to cluster {store.cluster_id}, and the one to join is {cluster_id}: give "
                "an empty data directory with --data DIR, or join the cluster it belongs to"
            )
        self.secret.cluster_id = store.cluster_id
        keep_secret(self._files, store.directory, self.secret)
        return store

    async def _watch_disk(self, replicas: Replicas, reads: Offload) -> None:
        watch = DiskWatch(
            replicas.directory,
            replicas.disk,
            partial(self._files.usage, replicas.directory),
            reserve=lambda: self._settings()[logs.DISK_RESERVE_BYTES],
            offload=reads,
            clock=self._liveness,
        )
        await watch.look()
        task = asyncio.get_running_loop().create_task(watch.run(), name="disk space")

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._cleanup.push_async_callback(end)

    def _disk_failed(self, error: Exception) -> None:
        self.services.replicas.disk.failed(error)
        self._lifecycle.disk_failed(error)

    async def _cluster_to_join(self, listener: str, own_cluster_id: str | None) -> str | None:
        """None for a node that joins nobody, or is a member already and returns while those named are down."""
        if not self._join:
            return None
        try:
            return await cluster_id_of(self._join, self._dialer.open, listener)
        except JoinFailed as error:
            if own_cluster_id is None:
                raise
            if isinstance(error, JoinRefused):
                raise NotAdmitted(
                    f"{self._directory()} belongs to cluster {own_cluster_id}, and the one to join does not know it "
                    "(or has another token): give an empty data directory with --data DIR, or join the cluster it "
                    "belongs to"
                ) from error
            log.info("Ignored --join, because this node is a member of its cluster already: %s", error)
            return None

    async def _identify(self, controller: Controller, reads: Offload) -> Identity:
        identity = Identity(
            lambda: controller.config,
            self._dialer,
            lambda: controller.image.credentials,
            reads,
            self._liveness,
        )
        self._cleanup.callback(identity.stop)
        await identity.start()
        return identity

    def _metrics(self, flush_seconds: Histogram) -> BrokerMetrics:
        metrics = BrokerMetrics(flush_seconds)
        metrics.connection_count = lambda: len(self.connections)
        metrics.loop_lag.start()
        self._cleanup.callback(metrics.loop_lag.stop)
        return metrics

    async def _grant_producer_ids(self) -> range:
        return await self.services.access.allocate_producer_ids()

    def _follow_quorum(self, quorum: Quorum, controller: Controller, peers: Peers) -> ControllerAccess:
        """Let the controller of this node decide while it leads the quorum, and ask the leader else."""
        active = ActiveController(controller, self._liveness, peers.refuses)
        self._cleanup.push_async_callback(active.stop)
        access = ControllerAccess(
            controller, lambda: active.membership, quorum, self._dialer.open, clock=self._liveness
        )
        self._cleanup.push_async_callback(access.close)
        controller.leader_id = lambda: quorum.leader_id
        controller.may_decide = lambda: quorum.is_active
        controller.create_elsewhere = access.auto_create_topic
        quorum.on_active = active.change
        quorum.on_leader = access.leader_changed
        self.services.quorum = quorum
        self.services.access = access
        self.services.active = active
        return access

    async def _start_quorum(
        self, quorum: Quorum, store: LogStore, flusher: Flusher, endpoint: Endpoint, reads: Offload
    ) -> None:
        peers = QuorumPeers(self._dialer.open)
        self._cleanup.push_async_callback(peers.close)
        await start_quorum(
            quorum,
            store,
            flusher,
            self._config,
            peers,
            endpoint=endpoint,
            join=self._join,
            files=self._files,
            clock=self._liveness,
            offload=reads,
            randomness=self._random,
        )
        self._cleanup.push_async_callback(quorum.driver.stop)

    def _make_lifecycle(
        self,
        store: LogStore,
        access: ControllerAccess,
        controller: Controller,
        endpoints: list[Endpoint],
    ) -> Lifecycle:
        registration = BrokerRegistration(
            broker_id=store.node_id,
            incarnation_id=new_uuid(self._random),
            endpoints=endpoints,
            rack=self._config[network.BROKER_RACK],
            log_dirs=[store.directory_id],
            previous_epoch=store.broker_epoch,
        )
        return Lifecycle(access, registration, store.cluster_id, controller=controller, clock=self._liveness)

    def _threads(self, count: int, name: str) -> OffloadPool:
        offload = self._ports.threads(count, name)
        self._cleanup.callback(offload.close)
        return offload

    def _ring(self) -> SyncRing | None:
        ring = self._ports.open_ring()
        if ring is not None:
            self._cleanup.callback(ring.close)
        return ring

    def _server(self) -> Server:
        limits = Limits(
            frame_bytes_max=self._config[network.SOCKET_REQUEST_MAX_BYTES],
            in_flight_max=_IN_FLIGHT_MAX,
            in_flight_bytes_max=_IN_FLIGHT_BYTES_MAX,
            connections_max=min(self._config[network.MAX_CONNECTIONS], self._descriptors.for_connections),
            connections_per_host_max=self._config[network.MAX_CONNECTIONS_PER_IP],
            connections_of_hosts_max=parse_host_limits(
                self._config[network.MAX_CONNECTIONS_PER_IP_OVERRIDES]
            ),
        )
        host = ConnectionHost(
            Dispatcher(self.services),
            limits,
            self._liveness,
            counts=self.services.metrics.requests,
            memory=self.services.memory,
            dialects=self._dialects(self.services),
            security=self.identity.listeners,
            connection_wait=self.services.quotas.connection_wait,
        )
        self.connections = host.connections
        return Server(
            host,
            self._ports.network,
            self._liveness,
            idle_ms_max=self._config[network.CONNECTIONS_MAX_IDLE_MS],
            sockets=SocketOptions.of(self._config),
        )

    def _cleaner(self, store: LogStore, replicas: Replicas, reads: Offload) -> Cleaner:
        cleaner = Cleaner(
            store.directory,
            lambda: replicas,
            store.secure,
            files=self._files,
            clock=self._clock,
            offload=reads,
            compactor=self._ports.compactor(self._files, reads, self._compaction_rate),
            settings=self._cleaner_settings,
        )
        replicas.cleaning_paused = cleaner.paused
        return cleaner

    def _cleaner_settings(self) -> CleanerSettings:
        settings = self._settings()
        return CleanerSettings(
            enable=settings[logs.LOG_CLEANER_ENABLE],
            threads=settings[logs.LOG_CLEANER_THREADS],
            backoff_ms=max(1, settings[logs.LOG_CLEANER_BACKOFF_MS]),  # 0 would keep the loop busy
            dedupe_buffer_bytes=settings[logs.LOG_CLEANER_DEDUPE_BUFFER_SIZE],
            retention_check_interval_ms=settings[logs.LOG_RETENTION_CHECK_INTERVAL_MS],
        )

    def _compaction_rate(self) -> float:
        return self._settings()[logs.LOG_CLEANER_IO_MAX_BYTES_PER_SECOND]
