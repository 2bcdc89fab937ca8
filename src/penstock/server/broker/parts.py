"""The composition root: a broker's parts, in the order of their dependencies."""

from collections.abc import Callable, Mapping
from functools import partial

from penstock.client.mirrors import MirrorProgress
from penstock.cluster.controller import Controller
from penstock.cluster.controller.active import ActiveController
from penstock.cluster.controller_access import ControllerAccess
from penstock.cluster.coordination.remote_coordinators import RemoteCoordinators
from penstock.cluster.fetching.fetchers import FetchSettings
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.log import MetadataLog
from penstock.cluster.peers import Peers
from penstock.cluster.producer_ids import ProducerIds
from penstock.cluster.quorum.peers import QuorumPeers
from penstock.cluster.quorum.start import make_quorum
from penstock.cluster.quorum.stored_log import StoredRaftLog
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint, parse_host_limits
from penstock.config.live import LiveConfig
from penstock.config.settings import logs, network
from penstock.groups.coordinator import GroupCoordinator
from penstock.groups.services.end_offsets import ClusterEndOffsets
from penstock.mirror.copier import CopyDeps, MirrorCopier
from penstock.mirror.follower import FollowDeps, MirrorFollower
from penstock.mirror.group_offsets import GroupOffsets
from penstock.mirror.mirrors import Mirrors
from penstock.runtime.offload import Offload
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.dialer import Dialer
from penstock.security.mixed_cluster import MixedCluster
from penstock.server.auto_creation import AutoCreation
from penstock.server.broker.authorizer import make_authorizer
from penstock.server.broker.disk_watch import DiskWatch
from penstock.server.broker.partition_service import PartitionService
from penstock.server.broker_apis import ImpersonationLog
from penstock.server.broker_metrics import BrokerMetrics
from penstock.server.connections import ConnectionContext, Connections, Dialect, Limits
from penstock.server.context import Services
from penstock.server.descriptors import Descriptors
from penstock.server.dispatch.dispatcher import Dispatcher
from penstock.server.fetch_sessions import FetchSessions
from penstock.server.identity import Identity
from penstock.server.kafka_trust import KafkaTrust
from penstock.server.listener_changes import ListenerChanges
from penstock.server.listener_check import ListenerCheck
from penstock.server.memory import MemoryBudget, memory_limit
from penstock.server.ports import Ports
from penstock.server.quotas import QuotaKeeper
from penstock.server.server import Server
from penstock.server.socket_options import SocketOptions
from penstock.server.telemetry import Telemetry
from penstock.share.shares import Shares
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.state.persister import ClusterPersister
from penstock.storage.cleaner.cleaner import Cleaner, CleanerSettings
from penstock.storage.flusher import Flusher
from penstock.storage.store.log_store import LogStore
from penstock.transactions.admission import Admissions
from penstock.transactions.coordinator import TransactionCoordinator
from penstock.transactions.guards import Guards
from penstock.transactions.markers import LocalMarkers
from penstock.transactions.remote import ClusterMarkers, ClusterVerifier

_IN_FLIGHT_MAX = 256
_IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024

Dialects = Callable[[Services], Mapping[int, Dialect]]


class Parts:
    """All parts of one broker, each made from those before it. None of them runs yet: `Broker` starts them."""

    def __init__(
        self,
        ports: Ports,
        settings: LiveConfig,
        store: LogStore,
        flusher: Flusher,
        dialer: Dialer,
        *,
        secret: ClusterSecret,
        mixed: MixedCluster,
        connections: Connections,
        bound: dict[str, Endpoint],
        reads: Offload,
        checks: Offload,
        descriptors: Descriptors,
        dialects: Dialects,
    ) -> None:
        """`connections` and `bound`, the open listeners by name, are filled while the broker runs."""
        config, clock, liveness = settings(), ports.clock, ports.liveness
        self.store = store
        self.mixed = mixed
        self.dialer = dialer
        self.metadata = AppliedMetadata(MetadataImage(store.cluster_id))
        self.raft_log = StoredRaftLog(store, flusher, files=ports.files, clock=liveness, offload=reads)
        self.quorum_peers = QuorumPeers(dialer.open)
        self.quorum = make_quorum(
            self.metadata,
            store,
            self.raft_log,
            self.quorum_peers,
            files=ports.files,
            clock=clock,
            liveness=liveness,
            offload=reads,
        )
        self.controller = Controller(
            MetadataLog(self.metadata, self.quorum, clock), settings, ports.randomness
        )
        self.peers = Peers(self.metadata.image, dialer.open, config.inter_broker_listener)
        self.active = ActiveController(self.controller, liveness, self.peers.refuses)
        self.quorum.active_changes.subscribe(self.active.change)
        self.access = ControllerAccess(
            self.controller, lambda: self.active.membership, self.quorum, dialer.open, clock=liveness
        )
        self.quorum.leader_changes.subscribe(self.access.leader_changed)
        self.replicas = Replicas(
            store.node_id,
            self.metadata.image,
            store,
            flusher,
            config,
            clock=liveness,
            checks=checks,
        )
        self.disk_watch = DiskWatch(
            store.directory,
            self.replicas.disk,
            partial(ports.files.usage, store.directory),
            reserve=lambda: settings()[logs.DISK_RESERVE_BYTES],
            offload=reads,
            clock=liveness,
        )
        self.identity = Identity(settings, dialer, lambda: self.metadata.image.credentials, reads, liveness)
        self.metrics = BrokerMetrics(flusher.seconds, connections, self.identity)
        self.mirrors = self._make_mirrors(ports, settings)
        self.services = self._make_services(ports, settings, secret=secret, checks=checks, bound=bound)
        self.trust = KafkaTrust(
            mixed,
            self.metadata.image,
            settings,
            self.services.authorizer,
            voter_ids=lambda: self.quorum.voter_ids,
        )
        self.metadata.subscribe(self.trust.follow)
        self.server = _make_server(
            self.services,
            ports,
            config,
            connections=connections,
            connections_max=descriptors.for_connections,
            dialects=dialects,
            identity=self.identity,
            trust=self.trust,
        )
        self.listeners = ListenerChanges(self.server, self.identity, settings, bound)
        self.partitions = PartitionService(
            self.services,
            store,
            self.metadata,
            self.peers,
            self.access,
            cleaner=_make_cleaner(store, self.replicas, ports, settings, offload=reads),
            clock=clock,
            liveness=liveness,
        )

    def _make_mirrors(self, ports: Ports, settings: LiveConfig) -> Mirrors:
        """Mirrors connect to other clusters through the same network as this broker's listeners."""
        image, node_id = self.metadata.image, self.store.node_id
        offsets = GroupOffsets(image, self.peers, self.access.auto_create_topic)
        copying = CopyDeps(
            image=image,
            replicas=self.replicas,
            store=self.store,
            settings=FetchSettings(settings),
            network=ports.network,
            clock=ports.liveness,
        )
        following = FollowDeps(
            node_id=node_id,
            controller=self.controller,
            peers=self.peers,
            offsets=offsets,
            network=ports.network,
            clock=ports.liveness,
            own_progress=self._mirror_progress,
        )
        return Mirrors(
            node_id,
            image,
            lambda mirror: MirrorCopier(mirror, copying),
            lambda mirror: MirrorFollower(mirror, following),
        )

    def _mirror_progress(self, name: str) -> MirrorProgress:
        return self.mirrors.progress(name)

    def _make_services(
        self,
        ports: Ports,
        settings: LiveConfig,
        *,
        secret: ClusterSecret,
        checks: Offload,
        bound: dict[str, Endpoint],
    ) -> Services:
        """The parts that handlers use."""
        node_id, image, config = self.store.node_id, self.metadata.image, settings()
        clock, liveness, randomness = ports.clock, ports.liveness, ports.randomness
        controller, replicas, peers = self.controller, self.replicas, self.peers
        create_topic = self.access.auto_create_topic
        share_state = ShareStateCoordinator(controller, replicas, clock, create_topic=create_topic)
        persister = ClusterPersister(node_id, share_state, peers, liveness, randomness)
        groups = GroupCoordinator(
            controller,
            replicas,
            clock,
            randomness,
            create_topic=create_topic,
            persister=persister,
            end_offsets=ClusterEndOffsets(node_id, image, replicas, peers),
        )
        guards = Guards()
        markers = LocalMarkers(replicas, clock, guards, groups.shards)
        producer_ids = ProducerIds(self.access.allocate_producer_ids)
        transactions = TransactionCoordinator(
            controller,
            replicas,
            clock,
            create_topic=create_topic,
            new_producer_id=producer_ids.next,
            markers=ClusterMarkers(node_id, image, markers, peers),
        )
        verifier = ClusterVerifier(node_id, transactions.partitions.leader_of, transactions, peers)
        security = self.identity.listeners.get(config.inter_broker_listener)
        return Services(
            clock=clock,
            node_id=node_id,
            cluster_id=self.store.cluster_id,
            controller=controller,
            replicas=replicas,
            producer_ids=producer_ids,
            fetch_sessions=FetchSessions(
                config[network.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS], randomness
            ),
            coordinators=RemoteCoordinators(image, peers),
            groups=groups,
            share_state=share_state,
            persister=persister,
            shares=Shares(controller, replicas, persister, clock),
            transactions=transactions,
            markers=markers,
            admissions=Admissions(guards, verifier),
            authorizer=make_authorizer(controller),
            auto_creation=AutoCreation(create_topic),
            secret=secret,
            strangers=ImpersonationLog(liveness),
            metrics=self.metrics,
            quotas=QuotaKeeper(settings, clock),
            checks=checks,
            memory=MemoryBudget(memory_limit(config[network.QUEUED_MAX_REQUEST_BYTES])),
            telemetry=Telemetry(clock, randomness, bytes_max=config[network.TELEMETRY_MAX_BYTES]),
            quorum=self.quorum,
            access=self.access,
            active=self.active,
            mirrors=self.mirrors,
            listeners=ListenerCheck(ports.network, self.identity, settings, bound),
            controller_listeners=frozenset(config.controller_listeners),
            broker_principals=() if security is None else security.brokers,
        )


def _make_server(
    services: Services,
    ports: Ports,
    config: BrokerConfig,
    *,
    connections: Connections,
    connections_max: int,
    dialects: Dialects,
    identity: Identity,
    trust: KafkaTrust,
) -> Server:
    limits = Limits(
        frame_bytes_max=config[network.SOCKET_REQUEST_MAX_BYTES],
        in_flight_max=_IN_FLIGHT_MAX,
        in_flight_bytes_max=_IN_FLIGHT_BYTES_MAX,
        connections_max=min(config[network.MAX_CONNECTIONS], connections_max),
        connections_per_host_max=config[network.MAX_CONNECTIONS_PER_IP],
        connections_of_hosts_max=parse_host_limits(config[network.MAX_CONNECTIONS_PER_IP_OVERRIDES]),
    )
    host = ConnectionContext(
        Dispatcher(services),
        limits,
        ports.liveness,
        counts=services.metrics.requests,
        memory=services.memory,
        connections=connections,
        dialects=dialects(services),
        security=identity.listeners,
        connection_wait=services.quotas.connection_wait,
        trust=trust.admits,
    )
    return Server(
        host,
        ports.network,
        ports.liveness,
        idle_ms_max=config[network.CONNECTIONS_MAX_IDLE_MS],
        sockets=SocketOptions.of(config),
    )


def _make_cleaner(
    store: LogStore,
    replicas: Replicas,
    ports: Ports,
    settings: LiveConfig,
    *,
    offload: Offload,
) -> Cleaner:
    compactor = ports.compactor(
        ports.files, offload, lambda: settings()[logs.LOG_CLEANER_IO_MAX_BYTES_PER_SECOND]
    )
    return Cleaner(
        store.directory,
        lambda: (each for each in replicas if not each.is_read_only),  # mirrors follow their source
        store.secure,
        files=ports.files,
        clock=ports.clock,
        offload=offload,
        compactor=compactor,
        passes=store.passes,
        settings=partial(_cleaner_settings, settings),
    )


def _cleaner_settings(settings: LiveConfig) -> CleanerSettings:
    config = settings()
    return CleanerSettings(
        enable=config[logs.LOG_CLEANER_ENABLE],
        threads=config[logs.LOG_CLEANER_THREADS],
        backoff_ms=max(1, config[logs.LOG_CLEANER_BACKOFF_MS]),  # 0 would keep the loop busy
        dedupe_buffer_bytes=config[logs.LOG_CLEANER_DEDUPE_BUFFER_SIZE],
        retention_check_interval_ms=config[logs.LOG_RETENTION_CHECK_INTERVAL_MS],
    )
