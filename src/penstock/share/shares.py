"""The share groups of a broker as the leader of partitions: sessions of members, and share partitions."""

from collections.abc import Hashable

from penstock.cluster.controller import Controller
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import SHARE_VERSION
from penstock.cluster.replicas import Replicas
from penstock.config.settings.coordinators import GROUP_SHARE_MAX_SHARE_SESSIONS
from penstock.runtime.clock import Clock
from penstock.share.partitions import SharePartitions
from penstock.share.sessions import ShareSession, ShareSessions
from penstock.share.settings import GroupSettings, settings_of
from penstock.share.state.values import Persister


class Shares:
    def __init__(
        self, controller: Controller, replicas: Replicas, persister: Persister, clock: Clock
    ) -> None:
        self._controller = controller
        self._owners: set[Hashable] = set()
        self.sessions = ShareSessions(controller.config[GROUP_SHARE_MAX_SHARE_SESSIONS])
        self.partitions = SharePartitions(replicas, persister, clock)

    @property
    def is_enabled(self) -> bool:
        return self._controller.image.features.finalized.get(SHARE_VERSION, 0) > 0

    def settings(self, group_id: str) -> GroupSettings:
        controller = self._controller
        return settings_of(controller.config, controller.image.group_settings(group_id))

    def add_owner(self, owner: Hashable) -> bool:
        """Return whether this is the first session of a connection: the caller must then call `disconnected` for it."""
        is_new = owner not in self._owners
        self._owners.add(owner)
        return is_new

    def end_session(self, session: ShareSession) -> None:
        """Release the records of the member, unless it has begun another session.

        The share partitions of a group without sessions end, because its offsets may be changed now.
        """
        if not self.sessions.end(session):
            return
        key = session.key
        self.partitions.release(key.group_id, key.member_id)
        if not self.sessions.has_members(key.group_id):
            self.partitions.end_group(key.group_id)

    def disconnected(self, owner: Hashable) -> None:
        """End the sessions of a closed connection."""
        self._owners.discard(owner)
        for session in self.sessions.owned_by(owner):
            self.end_session(session)

    def apply(self, delta: MetadataDelta) -> None:
        """Apply a change of the metadata, after `Replicas` has."""
        self.partitions.apply(delta)
        if delta.features_changed and not self.is_enabled:
            self.sessions.clear()
            self.partitions.end_all()

    async def stop(self) -> None:
        await self.partitions.stop()
