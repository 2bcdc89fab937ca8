"""The duties of a controller without the role of a broker, beside the quorum: it hosts no partitions (ADR 25)."""

from penstock.cluster.lifecycle import NotAdmitted
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.topic_names import CLUSTER_METADATA
from penstock.server.context import Services
from penstock.storage.store.log_store import LogStore


class ControllerService:
    def __init__(self, services: Services, store: LogStore, metadata: AppliedMetadata) -> None:
        self._services = services
        self._store = store
        self._metadata = metadata

    async def start(self) -> None:
        """Raises `NotAdmitted` for a directory that has partitions: they would be without an owner."""
        services, store = self._services, self._store
        left = sorted(each.directory for each in store.partitions if each.topic != CLUSTER_METADATA)
        if left:
            raise NotAdmitted(
                f"{store.directory} holds logs of {len(left)} partitions ({left[0]}, …), and process.roles is "
                "controller: set it to broker,controller, or move them away with `penstock cluster drain` before the "
                "role changes"
            )
        await store.recovered(await services.replicas.recover())
        services.quotas.follow(self._metadata.image.quotas)
        self._metadata.subscribe(self._follow)
        services.mirrors.start()

    async def _follow(self, delta: MetadataDelta) -> None:
        if delta.quotas_changed:
            self._services.quotas.follow(self._metadata.image.quotas)
        self._services.mirrors.apply(delta)

    async def stop(self) -> None:
        await self._services.mirrors.stop()
