"""A broker's lifecycle: assemble the parts, start in order, stop in reverse order.

Start: lock the data directory, recover its logs, bind, join the metadata quorum, register with its leader,
catch up to the registration, open the partitions, serve.
Stop: hand leaderships over, end background tasks, leave the quorum, refuse new connections, answer requests in flight,
sync and close every log, leave the clean-shutdown mark.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial

from penstock.cluster.controller.brokers import BrokerRegistration
from penstock.cluster.controller.controllers import ControllerRegistration
from penstock.cluster.controller.decision import NotController
from penstock.cluster.controller.identifiers import new_cluster_id, new_uuid
from penstock.cluster.controller.min_isr_default import warn_of_other_value
from penstock.cluster.controller.scram_credentials import NewUser
from penstock.cluster.controller_registrar import ControllerRegistrar
from penstock.cluster.joining import JoinFailed
from penstock.cluster.kafka_directory import CannotTakeOver, ran_kafka_last, require_takeover
from penstock.cluster.lifecycle import Lifecycle, NotAdmitted
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.metadata.kafka_registrations import registers_kafka_nodes
from penstock.cluster.metadata.state import REGISTERED_FEATURES
from penstock.cluster.quorum.quorum import Quorum
from penstock.cluster.quorum.start import raft_settings, start_quorum
from penstock.cluster.raft.errors import RaftError
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.live import LiveConfig
from penstock.config.property import ConfigError
from penstock.config.settings import logs, network
from penstock.runtime.offload import Offload, OffloadPool
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.dialer import Dialer
from penstock.security.mixed_cluster import MixedCluster
from penstock.server.broker.controller_service import ControllerService
from penstock.server.broker.disk_watch import DiskWatch
from penstock.server.broker.joining import Joining
from penstock.server.broker.parts import Dialects, Parts
from penstock.server.broker.secret_file import store_secret
from penstock.server.connections import Connections
from penstock.server.context import Services
from penstock.server.descriptors import divide_limit
from penstock.server.listener_changes import ListenerChanges
from penstock.server.listeners import advertised_endpoints
from penstock.server.network import ListenFailed
from penstock.server.ports import Ports
from penstock.storage.directory import metadata_files
from penstock.storage.errors import LogError
from penstock.storage.flusher import Flusher
from penstock.storage.ring import SyncRing
from penstock.storage.store.log_store import LogStore

log = logging.getLogger(__name__)

_SYNC_THREADS = 8  # the kernel merges syncs of several files into one journal commit
_READ_THREADS = 4
_CHECK_THREADS = 1  # one at a time: a decompressed batch is held in memory
_DRAIN_MS_MAX = 10_000

_REFUSALS = (
    CannotTakeOver,
    ConfigError,
    ListenFailed,
    LogError,
    MetadataError,
    RaftError,
    NotAdmitted,
    JoinFailed,
)


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

        `secret` is the cluster's secret, unless the data directory has it; a new cluster makes one. `find_secret` looks
        for it by the id of the cluster to join.

        `users` are the initial users of a new cluster.
        """
        self._config = config
        self._make_joining = partial(
            Joining, config, ports, join=tuple(join), secret=secret, find_secret=find_secret
        )
        self._joining: Joining
        self._users = tuple(users)
        self._dialects = dialects
        self._ports = ports
        self._cleanup = contextlib.AsyncExitStack()
        self._descriptors = divide_limit(ports.descriptor_limit())
        self._settings = LiveConfig(config)
        self._bound: dict[str, Endpoint] = {}
        self._parts: Parts | None = None
        self._lifecycle: Lifecycle | None = None
        self.connections = Connections()

    @property
    def endpoints(self) -> list[Endpoint]:
        """The endpoints that it listens on now."""
        return list(self._bound.values())

    @property
    def parts(self) -> Parts:
        """Available once the start has opened the logs."""
        assert self._parts is not None, "the broker has not been started"
        return self._parts

    @property
    def services(self) -> Services:
        return self.parts.services

    @property
    def secret(self) -> ClusterSecret:
        return self.services.secret

    async def start(self) -> None:
        """Start the broker; it serves when this returns. Raises `StartFailed` with nothing left running."""
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
        """Stop gracefully: acknowledged records are durable anyway, but the next start need not recover."""
        await self._cleanup.aclose()

    async def evicted(self) -> str:
        """Wait until the cluster has no place for this broker any more. Returns the reason. The broker must stop.

        A controller without the role of a broker stays: it may become a voter again.
        """
        if self._lifecycle is None:
            await asyncio.Event().wait()
        assert self._lifecycle is not None
        return await self._lifecycle.evicted()

    def abandon(self) -> None:
        """Skip all steps of a stop: the broker's machine is gone."""
        self._cleanup.pop_all()

    def _directory(self) -> str:
        directories = self._config.log_dirs
        if len(directories) != 1:
            raise ConfigError(
                f"log.dirs must name one directory, not {len(directories)}: {','.join(directories)}"
            )
        return directories[0]

    async def _start(self) -> None:
        parts = self._parts = await self._make_parts()
        services, quorum = parts.services, parts.quorum
        self._cleanup.push_async_callback(parts.peers.close)
        self._cleanup.callback(services.metrics.loop_lag.stop)
        services.metrics.loop_lag.start()
        await self._watch_disk(parts.disk_watch)
        self._cleanup.callback(parts.identity.stop)
        await parts.identity.start()
        self._cleanup.push_async_callback(parts.server.stop, _DRAIN_MS_MAX)
        for endpoint in await parts.server.listen(list(self._config.listeners)):
            self._bound[endpoint.name] = endpoint
        advertised = advertised_endpoints(self.endpoints, self._config.advertised_listeners)
        await self._start_quorum(parts, [advertised[each] for each in self._config.quorum_listeners])
        if quorum.is_active:
            await parts.controller.bootstrap(users=self._users)
        # The others need the vote of this node before any of them can serve.
        is_needed_early = not quorum.is_alone and (quorum.is_voter or not self._joining.joins_controllers)
        if is_needed_early:
            await parts.server.start()
        for failures in (parts.replicas.disk_failures, quorum.failures):
            failures.subscribe(parts.replicas.disk.failed)
        controllers = self._config.controller_listeners
        lifecycle = None
        if self._config.is_broker:
            lifecycle = self._make_lifecycle(
                parts, [each for name, each in advertised.items() if name not in controllers]
            )
            await self._start_broker(parts, lifecycle)
        else:
            await self._start_controller(parts)
        if controllers:
            self._register_controller(parts, [advertised[each] for each in controllers])
        services.is_ready = True
        if not is_needed_early:
            await parts.server.start()
        parts.metadata.subscribe(partial(self._follow_listeners, parts.listeners))
        await parts.listeners.follow()
        if lifecycle is not None:
            self._cleanup.push_async_callback(lifecycle.leave)
            await lifecycle.start()

    async def _start_broker(self, parts: Parts, lifecycle: Lifecycle) -> None:
        """Register, and open the partitions of this broker."""
        self._lifecycle = lifecycle
        for failures in (parts.replicas.disk_failures, parts.quorum.failures):
            failures.subscribe(lifecycle.on_disk_failure)
        agreement = self._joining.secret_agreement(parts)
        if agreement is not None:
            await self._joining.catch_up(parts.quorum)
            await agreement.obtain()
        await lifecycle.register()
        epoch = parts.store.broker_epoch = parts.access.broker_epoch
        await parts.metadata.reached(epoch)
        if agreement is not None:
            await agreement.complete(epoch)
        warn_of_other_value(parts.metadata.image, self._config)
        self._cleanup.push_async_callback(parts.partitions.stop)
        await parts.partitions.start(
            partial(self._register_lost_records, lifecycle, parts.store, parts.metadata)
        )

    async def _start_controller(self, parts: Parts) -> None:
        """A controller without the role of a broker has no partitions, and is not fenced (ADR 25)."""
        agreement = self._joining.secret_agreement(parts)
        if agreement is not None and self._joining.secret.value is None:
            await self._joining.catch_up(parts.quorum)
            await agreement.obtain()
            await agreement.complete()
        service = ControllerService(parts.services, parts.store, parts.metadata)
        self._cleanup.push_async_callback(service.stop)
        await service.start()

    async def _make_parts(self) -> Parts:
        """Open the logs, and create all other parts of a broker."""
        ports, config = self._ports, self._config
        require_takeover(ports.files, self._directory())
        reads = self._threads(_READ_THREADS, "penstock-read")
        syncs = self._threads(_SYNC_THREADS, "penstock-sync")
        self._joining = self._make_joining(self._directory())
        secret = self._joining.secret
        mixed = MixedCluster(is_mixed=self._joining.joins_controllers)
        dialer = Dialer(
            self._settings,
            ports.network,
            ports.liveness,
            secret,
            client_id=f"penstock-broker-{config.node_id}",
            mixed=mixed,
        )
        ring = self._ring()
        store = await self._open_store(dialer, secret, reads, ring)
        flusher = Flusher(syncs, ports.clock, max(1, self._descriptors.for_logs // 4), ring, store.journal)
        self._cleanup.push_async_callback(store.close, flusher)
        return Parts(
            ports,
            self._settings,
            store,
            flusher,
            dialer,
            secret=secret,
            mixed=mixed,
            connections=self.connections,
            bound=self._bound,
            reads=reads,
            checks=self._threads(_CHECK_THREADS, "penstock-check"),
            descriptors=self._descriptors,
            dialects=self._dialects,
        )

    async def _register_lost_records(
        self, lifecycle: Lifecycle, store: LogStore, metadata: AppliedMetadata
    ) -> None:
        store.broker_epoch = await lifecycle.register_lost_records(new_uuid(self._ports.randomness))
        await metadata.reached(store.broker_epoch)

    async def _follow_listeners(self, listeners: ListenerChanges, delta: MetadataDelta) -> None:
        if (ResourceType.BROKER, str(self._config.node_id)) in delta.configs_changed:
            await listeners.follow()

    async def _open_store(
        self, dialer: Dialer, secret: ClusterSecret, reads: Offload, ring: SyncRing | None
    ) -> LogStore:
        files, randomness = self._ports.files, self._ports.randomness
        meta = metadata_files.read_meta(files, self._directory())
        own_cluster_id = secret.cluster_id = None if meta is None else meta.cluster_id
        cluster_id = await self._joining.cluster_id(dialer, own_cluster_id)
        store = LogStore.open(
            self._directory(),
            files=files,
            node_id=self._config.node_id,
            new_cluster_id=lambda: cluster_id or new_cluster_id(randomness),
            new_directory_id=partial(new_uuid, randomness),
            clock=self._ports.clock,
            offload=reads,
            open_files_max=self._descriptors.for_logs,
            producer_expiration_ms=self._config[logs.PRODUCER_ID_EXPIRATION_MS],
            journal_bytes=self._config[logs.JOURNAL_BYTES],
            ring=ring,
            was_used_by_kafka=ran_kafka_last(files, self._directory()),
        )
        if cluster_id not in (None, store.cluster_id):
            await store.close(None)
            raise NotAdmitted(
                f"{store.directory} belongs to cluster {store.cluster_id}, and the one to join is {cluster_id}: give "
                "an empty data directory with --data DIR, or join the cluster it belongs to"
            )
        secret.cluster_id = store.cluster_id
        store_secret(files, store.directory, secret)
        return store

    async def _watch_disk(self, watch: DiskWatch) -> None:
        await watch.measure()
        task = asyncio.get_running_loop().create_task(watch.run(), name="disk space")

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._cleanup.push_async_callback(end)

    async def _start_quorum(self, parts: Parts, endpoints: Sequence[Endpoint]) -> None:
        self._cleanup.push_async_callback(parts.active.stop)
        self._cleanup.push_async_callback(parts.access.close)
        self._cleanup.push_async_callback(parts.quorum_peers.close)
        if self._config.controller_listeners and await registers_kafka_nodes(parts.raft_log.tail()):
            parts.trust.expect_kafka_nodes(parts.raft_log.end_offset - 1)
        await start_quorum(
            parts.quorum,
            parts.store,
            parts.raft_log,
            self._config,
            endpoints=endpoints,
            members=self._joining.members,
            is_mixed=parts.mixed.is_mixed,
            randomness=self._ports.randomness,
        )
        self._change_timeouts(parts.quorum, parts.mixed.is_mixed)  # its snapshot may have said otherwise
        parts.mixed.changes.subscribe(partial(self._change_timeouts, parts.quorum))
        self._cleanup.push_async_callback(parts.quorum.driver.stop)
        self._cleanup.push_async_callback(self._retire, parts)
        self._joining.create_secret(parts)

    async def _retire(self, parts: Parts) -> None:
        """Record that the broker of a quorum of one has stopped."""
        if self._lifecycle is None or not (
            parts.quorum.is_alone and parts.quorum.is_active and parts.services.is_ready
        ):
            return
        try:
            await parts.controller.retire_broker(self._config.node_id)
        except (LogError, NotController) as error:
            log.debug("Cannot record that this broker has stopped: %s", error)

    def _change_timeouts(self, quorum: Quorum, is_mixed: bool) -> None:
        quorum.driver.change_settings(raft_settings(self._config, self._joining.members, is_mixed=is_mixed))

    def _register_controller(self, parts: Parts, endpoints: Sequence[Endpoint]) -> None:
        registration = ControllerRegistration(
            controller_id=parts.store.node_id,
            incarnation_id=new_uuid(self._ports.randomness),
            endpoints=endpoints,
            features=REGISTERED_FEATURES,
        )
        registrar = ControllerRegistrar(parts.access, registration, self._ports.liveness)
        self._cleanup.push_async_callback(registrar.stop)
        registrar.start()

    def _make_lifecycle(self, parts: Parts, endpoints: list[Endpoint]) -> Lifecycle:
        store = parts.store
        registration = BrokerRegistration(
            broker_id=store.node_id,
            incarnation_id=new_uuid(self._ports.randomness),
            endpoints=endpoints,
            rack=self._config[network.BROKER_RACK],
            log_dirs=[store.directory_id],
            previous_epoch=store.broker_epoch,
        )
        return Lifecycle(
            parts.access,
            registration,
            store.cluster_id,
            controller=parts.controller,
            clock=self._ports.liveness,
        )

    def _threads(self, count: int, name: str) -> OffloadPool:
        offload = self._ports.threads(count, name)
        self._cleanup.callback(offload.close)
        return offload

    def _ring(self) -> SyncRing | None:
        ring = self._ports.open_ring()
        if ring is not None:
            self._cleanup.callback(ring.close)
        return ring
