"""What a broker has to do with share groups as the leader of partitions: sessions of members, and share partitions."""

from collections.abc import Hashable

from penstock.cluster.controller import Controller
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import SHARE_VERSION
from penstock.cluster.replicas import Replicas
from penstock.config.themes.coordinators import GROUP_SHARE_MAX_SHARE_SESSIONS
from penstock.observability.clock import Clock
from penstock.share.partitions import SharePartitions
from penstock.share.sessions import MemberKey, ShareSessions
from penstock.share.settings import GroupSettings, settings_of
from penstock.share.values import Persister


class Shares:
    def __init__(
        self, controller: Controller, replicas: Replicas, persister: Persister, clock: Clock
    ) -> None:
        self._controller = controller
        self.sessions = ShareSessions(controller.config[GROUP_SHARE_MAX_SHARE_SESSIONS])
        self.partitions = SharePartitions(replicas, persister, clock, self.settings)

    @property
    def is_enabled(self) -> bool:
        return self._controller.image.features.finalized.get(SHARE_VERSION, 0) > 0

    def settings(self, group_id: str) -> GroupSettings:
        controller = self._controller
        return settings_of(controller.config, controller.image.group_settings(group_id))

    def end_session(self, key: MemberKey) -> None:
        """The member is done: what it holds goes back to the group."""
        if self.sessions.end(key) is not None:
            self.partitions.release(key.group_id, key.member_id)

    def disconnected(self, owner: Hashable) -> None:
        """A connection is gone: its sessions end, and groups without any let go of their partitions."""
        departure = self.sessions.disconnected(owner)
        for key in departure.members:
            self.partitions.release(key.group_id, key.member_id)
        for group_id in departure.empty_groups:
            self.partitions.end_group(group_id)

    def apply(self, delta: MetadataDelta) -> None:
        """Follow one change of the metadata, after `Replicas` has."""
        self.partitions.apply(delta)
        if delta.features_changed and not self.is_enabled:
            self.sessions.clear()
            self.partitions.end_all()

    async def stop(self) -> None:
        await self.partitions.stop()
