"""Follows the source of one mirror, on the active controller: what changes there is decided about here.

Topics, partitions and leader epochs are looked at each second; settings, ACLs and committed offsets less often.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from penstock.client.connector import Connector
from penstock.client.metadata import Metadata, TopicPartition
from penstock.client.mirrors import (
    PROGRESS,
    RESOURCE_TYPE,
    MirrorProgress,
    PartitionProgress,
    ReadyPartition,
    progress_in,
)
from penstock.cluster.controller import Controller
from penstock.cluster.controller.alter_mirrors import topic_filter
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.follow_acls import decide_follow_acls
from penstock.cluster.controller.follow_source import SourceView, decide_adopted, decide_follow_source
from penstock.cluster.controller.promote_mirror import decide_promotion
from penstock.cluster.metadata.mirrors import Mirror, MirrorState
from penstock.cluster.peers import Peers
from penstock.mirror.group_offsets import GroupOffsets
from penstock.mirror.source import FAILURES, Source
from penstock.mirror.source_view import (
    list_group_ids,
    matching_topics,
    read_acls,
    read_committed_offsets,
    read_settings,
    source_topic,
)
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import describe_configs
from penstock.runtime.clock import Clock
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)

_ROUND_MS: Final = 1_000
_WHILE_PROMOTING_MS: Final = 200
_ROUNDS_BETWEEN_DETAILS: Final = 5
_DESCRIBE_VERSION: Final = 4

OwnProgress = Callable[[str], MirrorProgress]


class FollowDeps(msgspec.Struct, frozen=True, eq=False):
    node_id: int
    controller: Controller
    peers: Peers
    offsets: GroupOffsets
    network: Connector
    clock: Clock
    own_progress: OwnProgress


class MirrorFollower:
    def __init__(self, mirror: Mirror, deps: FollowDeps) -> None:
        """`mirror` is as it is when this begins; a mirror with another source needs another follower."""
        self.name = mirror.name
        self._mirror = mirror
        self._deps = deps
        self._source: Source | None = None
        self._settings: Mapping[str, dict[str, str]] = {}
        self._rounds = 0
        self.error = ""
        """Why the source cannot be followed."""
        self.troubles: Mapping[str, str] = {}
        self.has_looked = False

    @property
    def is_active(self) -> bool:
        """Whether this node follows the source: it is the active controller."""
        return self._deps.controller.is_active

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                mirror = self._deps.controller.image.mirror(self.name)
                if mirror is not None and self.is_active:
                    self._mirror = mirror
                    await self._round(mirror)
                ends_soon = self._mirror.state in (MirrorState.PROMOTING, MirrorState.FORCING)
                await self._deps.clock.sleep(_WHILE_PROMOTING_MS if ends_soon else _ROUND_MS)
        finally:
            if self._source is not None:
                await self._source.close()

    async def _round(self, mirror: Mirror) -> None:
        try:
            if mirror.state not in (MirrorState.PAUSED, MirrorState.FORCING, MirrorState.PROMOTED):
                await self._follow(mirror)
            if mirror.state in (MirrorState.PROMOTING, MirrorState.FORCING):
                await self._promote()
        except (*FAILURES, ProtocolError) as error:
            self._note_error(str(error) or type(error).__name__)
        except Refusal as refusal:
            self._note_error(refusal.message)
        except LogError as error:  # another node is the controller now, or the metadata log takes no records
            log.debug("Mirror %s: %s", self.name, error)
        else:
            self.error = ""
            self.has_looked = True

    def _note_error(self, reason: str) -> None:
        self.has_looked = True
        if reason != self.error:
            self.error = reason
            log.warning("Mirror %s cannot follow its source: %s", self.name, reason)

    async def _follow(self, mirror: Mirror) -> None:
        if self._source is None:
            self._source = Source(mirror, self._deps.network, self._deps.clock)
        source, controller = self._source, self._deps.controller
        metadata = await source.refresh()
        topics = matching_topics(metadata, topic_filter(mirror))
        has_details = self._rounds % _ROUNDS_BETWEEN_DETAILS == 0
        if has_details or any(each.name not in self._settings for each in topics):
            self._settings = await read_settings(source.client, [each.name for each in topics])
        view = SourceView(
            cluster_id=metadata.cluster_id or "",
            topics=tuple(
                source_topic(each, self._settings[each.name])
                for each in topics
                if each.name in self._settings
            ),
        )
        followed = await controller.change_mirror(
            lambda image, config, randomness: decide_follow_source(image, config, randomness, self.name, view)
        )
        self._set_troubles(followed.troubles)
        if has_details and mirror.is_copying:
            await self._copy_details(source, metadata)
        self._rounds += 1

    def _set_troubles(self, troubles: Mapping[str, str]) -> None:
        for topic, reason in troubles.items():
            if self.troubles.get(topic) != reason:
                log.warning("Mirror %s cannot copy topic %s: %s", self.name, topic, reason)
        self.troubles = troubles

    async def _copy_details(self, source: Source, metadata: Metadata) -> None:
        """ACLs, committed offsets, and whether adopted topics have only records of the source by now."""
        controller = self._deps.controller
        acls = await read_acls(source.client)
        if acls is not None:
            await controller.change_mirror(
                lambda image, _config, randomness: decide_follow_acls(image, randomness, self.name, acls)
            )
        progress = await self._collect()
        same = {(each.topic, each.partition) for each in progress if each.is_same}
        await controller.change_mirror(lambda image, _config, _random: decide_adopted(image, self.name, same))
        end_offsets = {TopicPartition(each.topic, each.partition): each.end_offset for each in progress}
        if end_offsets:
            for group in await list_group_ids(source.client, metadata.brokers):
                committed = await read_committed_offsets(source.client, group)
                await self._deps.offsets.copy(group, committed, end_offsets)

    async def _promote(self) -> None:
        ready = [
            ReadyPartition(
                topic=each.topic,
                partition=each.partition,
                leader_epoch=each.leader_epoch,
                end_offset=each.end_offset,
                truncated_from=max(each.truncated_from, each.end_offset),
                source_offset=each.source_offset,
            )
            for each in await self._collect()
            if each.is_ready
        ]
        is_done = await self._deps.controller.change_mirror(
            lambda image, _config, _random: decide_promotion(image, self.name, ready)
        )
        if is_done:
            log.info("Promoted mirror %s: its topics can be written. partitions=%d", self.name, len(ready))

    async def _collect(self) -> Sequence[PartitionProgress]:
        """The progress of all partitions, from the brokers that lead them. A broker without an answer has none."""
        found: list[PartitionProgress] = []
        for broker in list(self._deps.controller.image.active_brokers()):
            if broker.broker_id == self._deps.node_id:
                found += self._deps.own_progress(self.name).partitions
                continue
            try:
                found += await self._ask(broker.broker_id)
            except (OSError, ProtocolError) as error:
                log.debug("Broker %d does not tell its progress: %s", broker.broker_id, error)
        return found

    async def _ask(self, broker_id: int) -> Sequence[PartitionProgress]:
        resource = describe_configs.DescribeConfigsResource(
            resource_type=RESOURCE_TYPE, resource_name=self.name, configuration_keys=[PROGRESS]
        )
        request = describe_configs.DescribeConfigsRequest(resources=[resource])
        call = partial(self._deps.peers.channel(broker_id, waits_for="mirror").call, describe_configs.API_KEY)
        progress = progress_in(await call(_DESCRIBE_VERSION, request))
        return [] if progress is None else progress.partitions
