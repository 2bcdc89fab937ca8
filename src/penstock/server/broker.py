"""A broker's life: put the parts together, start in order, stop in the reverse.

Start: take the data directory, recover its logs, replay the metadata, bind, register, open the partitions, serve.
Stop: accept nobody, answer what is in flight, stop the upkeep, sync and close every log, leave the clean mark.
"""

import contextlib
import logging
import random
from collections.abc import Callable, Collection, Mapping
from functools import partial

from penstock.cluster.controller import Controller
from penstock.cluster.controller.brokers import BrokerRegistration
from penstock.cluster.controller.identifiers import new_cluster_id, new_uuid
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.log import MetadataLog
from penstock.cluster.metadata.stored import StoredMetadata
from penstock.cluster.producer_ids import ProducerIds
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.config.themes import logs, network
from penstock.groups.coordinator import GroupCoordinator
from penstock.observability.clock import Clock, SystemClock
from penstock.observability.offload import ThreadOffload
from penstock.server.connection_host import ConnectionHost, Dialect, Limits, Tracked
from penstock.server.context import Services
from penstock.server.descriptors import raise_limit, share_out
from penstock.server.dispatch import Dispatcher
from penstock.server.fetch_sessions import FetchSessions
from penstock.server.listeners import advertised_endpoints
from penstock.server.server import ListenFailed, Server
from penstock.server.upkeep import Upkeep
from penstock.storage.cleaner import Cleaner, CleanerSettings
from penstock.storage.compaction_worker import ProcessCompactor
from penstock.storage.files import FileSystem, RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log_errors import LogError
from penstock.storage.log_store import LogStore
from penstock.storage.ring import SyncRing, open_ring
from penstock.transactions.admission import Admissions
from penstock.transactions.coordinator import TransactionCoordinator
from penstock.transactions.guards import Guards
from penstock.transactions.markers import LocalMarkers

log = logging.getLogger(__name__)

_SYNC_THREADS = 8  # the kernel merges syncs of several files into one journal commit
_READ_THREADS = 4
_IN_FLIGHT_MAX = 256
_IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024
_DRAIN_MS_MAX = 10_000

Dialects = Callable[[Services], Mapping[int, Dialect]]


class StartFailed(Exception):
    """The broker cannot start; the message is one line that says why and what to do."""


class Broker:
    def __init__(
        self,
        config: BrokerConfig,
        *,
        dialects: Dialects = lambda _services: {},
        files: FileSystem | None = None,
        clock: Clock | None = None,
        randomness: random.Random | None = None,
    ) -> None:
        self._config = config
        self._dialects = dialects
        self._files = files or RealFileSystem()
        self._clock = clock or SystemClock()
        self._random = randomness or random.SystemRandom()
        self._cleanup = contextlib.AsyncExitStack()
        self._descriptors = share_out(raise_limit())
        self.endpoints: list[Endpoint] = []
        self.connections: Collection[Tracked] = ()
        self.services: Services

    async def start(self) -> None:
        """Serve when this returns. Raises `StartFailed`, and then nothing is left running."""
        try:
            await self._start()
        except (ConfigError, ListenFailed, LogError, MetadataError) as error:
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

    def _directory(self) -> str:
        directories = self._config.log_dirs
        if len(directories) != 1:
            raise ConfigError(
                f"log.dirs must name one directory, not {len(directories)}: {','.join(directories)}"
            )
        return directories[0]

    async def _start(self) -> None:
        node_id = self._config.node_id
        syncs = self._threads(_SYNC_THREADS, "penstock-sync")
        reads = self._threads(_READ_THREADS, "penstock-read")
        in_flight_max = max(1, self._descriptors.for_logs // 4)
        flusher = Flusher(syncs, self._clock, in_flight_max, self._ring())
        store = LogStore.open(
            self._directory(),
            files=self._files,
            node_id=node_id,
            new_cluster_id=partial(new_cluster_id, self._random),
            new_directory_id=partial(new_uuid, self._random),
            clock=self._clock,
            offload=reads,
            open_files_max=self._descriptors.for_logs,
        )
        self._cleanup.push_async_callback(store.close, flusher)
        image = MetadataImage(store.cluster_id)
        metadata = MetadataLog(StoredMetadata(store, flusher), image, self._clock)
        controller = Controller(metadata, self._config, self._random)
        replicas = Replicas(node_id, image, store, flusher, self._config, clock=self._clock)
        groups = GroupCoordinator(controller, replicas, self._clock, self._random)
        epoch = 0

        async def grant() -> range:
            block = await controller.allocate_producer_ids(node_id, epoch)
            return range(block.first_id, block.first_id + block.size)

        producer_ids = ProducerIds(grant)
        guards = Guards()
        markers = LocalMarkers(replicas, self._clock, guards, groups.shards)
        transactions = TransactionCoordinator(
            controller, replicas, self._clock, new_producer_id=producer_ids.next, markers=markers
        )
        self.services = Services(
            clock=self._clock,
            randomness=self._random,
            node_id=node_id,
            cluster_id=store.cluster_id,
            controller=controller,
            replicas=replicas,
            producer_ids=producer_ids,
            fetch_sessions=FetchSessions(
                self._config[network.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS], self._random
            ),
            groups=groups,
            transactions=transactions,
            markers=markers,
            admissions=Admissions(guards, transactions),
        )
        server = self._server()
        self.endpoints = await server.listen(list(self._config.listeners))
        self._cleanup.push_async_callback(server.stop, _DRAIN_MS_MAX)
        advertised = advertised_endpoints(self.endpoints, self._config.advertised_listeners)
        epoch = await controller.start(
            BrokerRegistration(
                broker_id=node_id,
                incarnation_id=new_uuid(self._random),
                endpoints=list(advertised.values()),
                rack=self._config[network.BROKER_RACK],
                log_dirs=[store.directory_id],
                stopped_cleanly=store.was_clean,
            )
        )
        replicas.load()
        metadata.subscribe(partial(self._follow, self.services))
        upkeep = Upkeep(store, replicas, controller, self._cleaner(store, replicas, reads), self._clock)
        self._cleanup.push_async_callback(upkeep.stop)
        upkeep.start()
        # Stopped before the server: who waits for a group gets an answer.
        self._cleanup.push_async_callback(groups.stop)
        groups.start()
        self._cleanup.push_async_callback(transactions.stop)
        transactions.start()
        await server.start()

    def _threads(self, count: int, name: str) -> ThreadOffload:
        offload = ThreadOffload(count, name)
        self._cleanup.callback(offload.close)
        return offload

    def _ring(self) -> SyncRing | None:
        ring = open_ring()
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
        )
        host = ConnectionHost(Dispatcher(self.services), limits, self._clock, self._dialects(self.services))
        self.connections = host.connections
        return Server(host, self._clock, idle_ms_max=self._config[network.CONNECTIONS_MAX_IDLE_MS])

    @staticmethod
    async def _follow(services: Services, delta: MetadataDelta) -> None:
        await services.replicas.apply(delta, services.config)
        services.groups.apply(delta)
        services.transactions.apply(delta)

    def _cleaner(self, store: LogStore, replicas: Replicas, reads: ThreadOffload) -> Cleaner:
        cleaner = Cleaner(
            store.directory,
            lambda: replicas,
            store.secure,
            files=self._files,
            clock=self._clock,
            offload=reads,
            compactor=ProcessCompactor(),
            settings=CleanerSettings(
                enable=self._config[logs.LOG_CLEANER_ENABLE],
                backoff_ms=self._config[logs.LOG_CLEANER_BACKOFF_MS],
                dedupe_buffer_bytes=self._config[logs.LOG_CLEANER_DEDUPE_BUFFER_SIZE],
                retention_check_interval_ms=self._config[logs.LOG_RETENTION_CHECK_INTERVAL_MS],
            ),
        )
        replicas.cleaning_paused = cleaner.paused
        return cleaner
