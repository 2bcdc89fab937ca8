"""The KIP-848 groups of a broker."""

import logging
import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.change import Change
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import GROUP_VERSION
from penstock.config.settings import coordinators
from penstock.groups.base.context import ConsumerContext, ConsumerSettings
from penstock.groups.base.errors import GroupError
from penstock.groups.base.instant import read_clock
from penstock.groups.base.member import JOIN_EPOCH, Client
from penstock.groups.classic import rebalance
from penstock.groups.classic.group import ClassicGroup, GroupSettings, refused_join
from penstock.groups.classic.states import State
from penstock.groups.consumer import classic_members, heartbeat, membership, migration, records, subscription
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import LEAVE_STATIC_EPOCH, Member
from penstock.groups.services.base import EpochGroupService, Shard, changed_topics
from penstock.groups.services.settings import consumer_settings
from penstock.groups.shard.records import group_record
from penstock.groups.shard.shard import GroupShard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from penstock.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Reply

log = logging.getLogger(__name__)

_Response = ConsumerGroupHeartbeatResponse | Reply[ConsumerGroupHeartbeatResponse]


class ConsumerGroups(EpochGroupService[ConsumerGroup, ConsumerSettings]):
    """`perform` executes the outbox of a classic group: groups are converted from and to classic ones."""

    def __init__(
        self,
        controller: Controller,
        clock: Clock,
        randomness: random.Random,
        classic_settings: GroupSettings,
        perform: Callable[[Shard, ClassicGroup], None],
    ) -> None:
        super().__init__(controller, clock)
        self._random = randomness
        self._classic_settings = classic_settings
        self._perform = perform

    @property
    def is_enabled(self) -> bool:
        config = self._controller.config
        level = self._controller.image.features.finalized.get(GROUP_VERSION, 0)
        return level >= 1 and "consumer" in config[coordinators.GROUP_COORDINATOR_REBALANCE_PROTOCOLS]

    @staticmethod
    def groups_in(state: GroupShard) -> dict[str, ConsumerGroup]:
        return state.consumers

    kind = "consumer"
    encode = staticmethod(records.encode)

    def _settings(self, group_id: str) -> ConsumerSettings:
        return consumer_settings(self._controller.config, self._controller.image.group_settings(group_id))

    # -- lifecycle ------------------------------------------------------------------------------------

    def _resume(self, _shard: Shard, group: ConsumerGroup, ctx: ConsumerContext) -> None:
        subscription.on_topics_changed(group, set(), ctx)

    def stop(self) -> None:
        self._deadlines.stop()

    def apply(self, delta: MetadataDelta, shards: Iterable[Shard]) -> None:
        """Follow one change of the metadata: affected groups check their topics with the next heartbeat."""
        changed = changed_topics(delta)
        if not changed:
            return
        created = {topic.name for topic in delta.topics_created.values()}
        for shard, group in self._groups(shards):
            if group.regexes and (created or delta.topics_deleted):
                subscription.on_topics_changed(group, created, self.context(group.group_id))
                self.write_in_background(shard, group)
            if any(map(group.is_subscribed_to, changed)):
                group.must_refresh = True

    # -- members of the new protocol ------------------------------------------------------------------

    def heartbeat(
        self, shard: Shard, request: ConsumerGroupHeartbeatRequest, client: Client, version: int
    ) -> _Response:
        ctx = self.context(request.group_id)
        try:
            heartbeat.check_request(request, version, ctx.settings)
            if request.member_epoch < JOIN_EPOCH:
                return self._leave(shard, request, ctx)
            if not request.member_id:
                request = msgspec.structs.replace(request, member_id=self._new_uuid())
            return self._heartbeat(shard, request, client, ctx)
        except GroupError as error:
            return _error(error.code, error.message)

    def _heartbeat(
        self, shard: Shard, request: ConsumerGroupHeartbeatRequest, client: Client, ctx: ConsumerContext
    ) -> _Response:
        group_id = request.group_id
        group = shard.state.consumers.get(group_id)
        classic = None
        if group_id in shard.state.shares:
            raise GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        if group is None:
            if request.member_epoch != JOIN_EPOCH:
                raise _not_found(group_id)
            classic = shard.state.groups.get(group_id)
            if classic is None or classic.state is State.EMPTY:
                group = ConsumerGroup(group_id)
            else:
                group = migration.upgrade(classic, ctx)
        response = heartbeat.heartbeat(group, request, client, ctx)
        if classic is None:
            return self._respond(shard, group, response, _error)
        tombstone = group_record(group_id, None, self._clock.now_ms())
        replaced = Change([tombstone], partial(self._end_classic, shard, classic))
        return self._respond(shard, group, response, _error, before=replaced)

    def _end_classic(self, shard: Shard, classic: ClassicGroup) -> None:
        """End a classic group that was upgraded. Waiting members join again, and reach the new group."""
        log.info("Upgraded a classic group to the consumer protocol. group=%s", classic.group_id)
        rebalance.end(classic, ErrorCode.REBALANCE_IN_PROGRESS, read_clock(self._clock))
        self._perform(shard, classic)
        del shard.state.groups[classic.group_id]

    def _leave(self, shard: Shard, request: ConsumerGroupHeartbeatRequest, ctx: ConsumerContext) -> _Response:
        group = shard.state.consumers.get(request.group_id)
        if group is None:
            raise _not_found(request.group_id)
        member = membership.authenticated_member(group, request.member_id, request.instance_id)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member.member_id, member_epoch=request.member_epoch
        )
        if request.member_epoch == LEAVE_STATIC_EPOCH:
            membership.leave_temporarily(group, member)
            return self._respond(shard, group, response, _error)
        return self._remove(shard, group, [member], response, ctx)

    def _remove(
        self,
        shard: Shard,
        group: ConsumerGroup,
        members: list[Member],
        response: ConsumerGroupHeartbeatResponse,
        ctx: ConsumerContext,
    ) -> _Response:
        for member in members:
            group.remove_member(member)
        if any(m.classic is None for m in members) and migration.can_downgrade(group, ctx.settings):
            # In the epoch that the remaining members know: in a new one they would lose their partitions.
            downgrade = self._downgrade(shard, group, ctx, rebalances=True)
            return self._respond(shard, group, response, _error, after=downgrade)
        membership.begin_epoch(group, ctx)
        return self._respond(shard, group, response, _error)

    def _remove_members(
        self, shard: Shard, group: ConsumerGroup, member_ids: list[str], ctx: ConsumerContext
    ) -> None:
        members = [group.members[each] for each in member_ids]
        self._remove(shard, group, members, ConsumerGroupHeartbeatResponse(), ctx)

    def _downgrade(
        self, shard: Shard, group: ConsumerGroup, ctx: ConsumerContext, *, rebalances: bool
    ) -> Change:
        """Convert a group with only classic members to a classic group."""
        classic = migration.downgrade(group, self._classic_settings, ctx)
        record = group_record(group.group_id, classic.record(), ctx.now.wall_ms)
        rebalance.resume(classic, ctx.now)
        if rebalances:
            rebalance.prepare(classic, ctx.now)

        def replace() -> None:
            log.info("Downgraded a consumer group to the classic protocol. group=%s", group.group_id)
            del shard.state.consumers[group.group_id]
            self._stop_timeouts(group)
            shard.state.groups[group.group_id] = classic

        tombstones = [records.encode(each, ctx.now.wall_ms) for each in group.tombstones()]
        return Change([*tombstones, record], replace)

    # -- members of the classic protocol --------------------------------------------------------------

    def join(
        self, shard: Shard, group: ConsumerGroup, request: JoinGroupRequest, client: Client, version: int
    ) -> JoinGroupResponse | Reply[JoinGroupResponse]:
        ctx = self.context(group.group_id)
        joiner = classic_members.Joiner(client, self._new_uuid(), requires_member_id=version >= 4)

        def error_response(code: ErrorCode, _message: str | None = None) -> JoinGroupResponse:
            return refused_join(request.member_id, code)

        try:
            response = classic_members.join(group, request, joiner, ctx)
        except GroupError as error:
            return error_response(error.code)
        downgrade = None
        if not response.error_code and migration.can_downgrade(group, ctx.settings):
            # The last member of the new protocol was static, and returned with the classic protocol.
            downgrade = self._downgrade(shard, group, ctx, rebalances=False)
        return self._respond(shard, group, response, error_response, after=downgrade)

    def sync(
        self, shard: Shard, group: ConsumerGroup, request: SyncGroupRequest
    ) -> SyncGroupResponse | Reply[SyncGroupResponse]:
        try:
            response = classic_members.sync(group, request, self.context(group.group_id))
        except GroupError as error:
            response = SyncGroupResponse(error_code=error.code)
        return self._respond(
            shard, group, response, lambda code, _message: SyncGroupResponse(error_code=code)
        )

    def classic_heartbeat(self, shard: Shard, group: ConsumerGroup, request: HeartbeatRequest) -> ErrorCode:
        try:
            code = classic_members.heartbeat(group, request, self.context(group.group_id))
        except GroupError as error:
            return error.code
        self.write_in_background(shard, group)
        return code

    def leave(
        self, shard: Shard, group: ConsumerGroup, leaving: Sequence[MemberIdentity]
    ) -> LeaveGroupResponse | Reply[LeaveGroupResponse]:
        left = classic_members.leave(group, leaving, self.context(group.group_id))
        return self._respond(
            shard,
            group,
            LeaveGroupResponse(members=left),
            lambda code, _message: LeaveGroupResponse(error_code=code),
        )

    def _on_submitted(self, shard: Shard, group: ConsumerGroup) -> None:
        classic = shard.state.groups.get(group.group_id)
        if classic is not None:
            self._perform(shard, classic)  # after its record: it may write another one
        else:
            super()._on_submitted(shard, group)

    def _new_uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _not_found(group_id: str) -> GroupError:
    return GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")


def _error(code: ErrorCode, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)
