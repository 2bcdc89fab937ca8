"""The KIP-848 groups of a broker: gives the pure parts their log, their clock and their clients.

Every request is decided at once, on the loop; what is then awaited is the log. Nothing is shown to a client that is not
committed.
"""

import contextlib
import logging
import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.change import Change, together
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import GROUP_VERSION
from penstock.config.themes import coordinators
from penstock.groups.answers import Refuse, once_committed
from penstock.groups.classic import rebalance
from penstock.groups.classic.group import ClassicGroup, GroupSettings, refused_join
from penstock.groups.classic.states import State
from penstock.groups.consumer import classic_members, heartbeat, membership, migration, subscription
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.heartbeat import Client
from penstock.groups.consumer.member import JOIN_EPOCH, LEAVE_STATIC_EPOCH, Member
from penstock.groups.consumer.records import encode
from penstock.groups.consumer.settings import settings_of
from penstock.groups.consumer.situation import Situation
from penstock.groups.moment import moment_of
from penstock.groups.records import group_record
from penstock.groups.vigil import Shard, Vigil
from penstock.observability.clock import Clock
from penstock.observability.completion import Completion, Reply
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from penstock.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

log = logging.getLogger(__name__)

R = TypeVar("R")


class ConsumerGroups:
    """`perform` carries out what a classic group left in its outbox: groups come from there and go back."""

    def __init__(
        self,
        controller: Controller,
        clock: Clock,
        randomness: random.Random,
        classic_settings: GroupSettings,
        perform: Callable[[Shard, ClassicGroup], None],
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._random = randomness
        self._classic_settings = classic_settings
        self._perform = perform
        self._vigil: Vigil[ConsumerGroup] = Vigil(clock, self._remove_late)

    @property
    def is_offered(self) -> bool:
        config = self._controller.config
        level = self._controller.image.features.finalized.get(GROUP_VERSION, 0)
        return level >= 1 and "consumer" in config[coordinators.GROUP_COORDINATOR_REBALANCE_PROTOCOLS]

    def situation(self, group_id: str) -> Situation:
        image = self._controller.image
        settings = settings_of(self._controller.config, image.group_settings(group_id))
        return Situation(image, moment_of(self._clock), settings)

    # -- life -----------------------------------------------------------------------------------------

    def begin(self, shard: Shard) -> None:
        """A shard was loaded: its members are waited for from now on, and topics may have changed meanwhile."""
        for group in shard.state.consumers.values():
            now = self.situation(group.group_id)
            group.resume(now.moment, now.settings.session_timeout_ms)
            subscription.follow_topics(group, set(), now)
            self._store(shard, group)

    def end(self, shard: Shard) -> None:
        for group in shard.state.consumers.values():
            self._vigil.forget(group)

    def stop(self) -> None:
        self._vigil.stop()

    def apply(self, delta: MetadataDelta, shards: Iterable[Shard]) -> None:
        """Follow one change of the metadata: groups that read what changed look at it with their next heartbeat."""
        made = {topic.name for topic in delta.topics_created.values()}
        gone = {topic.name for topic in delta.topics_deleted.values()}
        changed = made | gone
        for change in delta.partitions.values():
            if change.before is None or change.before.replicas != change.after.replicas:
                changed.add(change.topic.name)
        if not changed:
            return
        for shard in shards:
            for group in shard.state.consumers.values():
                if group.regexes and (made or gone):
                    subscription.follow_topics(group, made, self.situation(group.group_id))
                    self._store(shard, group)
                if any(map(group.is_subscribed_to, changed)):
                    group.must_refresh = True

    # -- members of the new protocol ------------------------------------------------------------------

    def heartbeat(
        self, shard: Shard, request: ConsumerGroupHeartbeatRequest, client: Client, version: int
    ) -> ConsumerGroupHeartbeatResponse | Reply[ConsumerGroupHeartbeatResponse]:
        now = self.situation(request.group_id)
        try:
            heartbeat.check_request(request, version, now.settings)
            if request.member_epoch < JOIN_EPOCH:
                return self._leave(shard, request, now)
            if not request.member_id:
                request = msgspec.structs.replace(request, member_id=self._new_uuid())
            return self._report(shard, request, client, now)
        except Refused as refused:
            return _refused(refused.code, refused.message)

    def _report(
        self, shard: Shard, request: ConsumerGroupHeartbeatRequest, client: Client, now: Situation
    ) -> ConsumerGroupHeartbeatResponse | Reply[ConsumerGroupHeartbeatResponse]:
        group = shard.state.consumers.get(request.group_id)
        classic = None
        if request.group_id in shard.state.shares:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} is not a consumer group.")
        if group is None:
            if request.member_epoch != JOIN_EPOCH:
                raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
            classic = shard.state.groups.get(request.group_id)
            if classic is None or classic.state is State.EMPTY:
                group = ConsumerGroup(request.group_id)
            else:
                group = migration.upgraded(classic, now)
        response = heartbeat.heartbeat(group, request, client, now)
        if classic is None:
            return self._answer(shard, group, response, _refused)
        tombstone = group_record(classic.group_id, None, self._clock.now_ms())
        replaced = Change([tombstone], partial(self._end_classic, shard, classic))
        return self._answer(shard, group, response, _refused, before=replaced)

    def _end_classic(self, shard: Shard, classic: ClassicGroup) -> None:
        """The classic group goes; whoever waits in it joins again, and gets to the new one."""
        log.info("group %r changes to the consumer protocol", classic.group_id)
        rebalance.end(classic, ErrorCode.REBALANCE_IN_PROGRESS, moment_of(self._clock))
        self._perform(shard, classic)
        del shard.state.groups[classic.group_id]

    def _leave(
        self, shard: Shard, request: ConsumerGroupHeartbeatRequest, now: Situation
    ) -> ConsumerGroupHeartbeatResponse | Reply[ConsumerGroupHeartbeatResponse]:
        group = shard.state.consumers.get(request.group_id)
        if group is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
        member = membership.leaving_member(group, request.member_id, request.instance_id)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member.member_id, member_epoch=request.member_epoch
        )
        if request.member_epoch == LEAVE_STATIC_EPOCH:
            membership.leave_for_a_while(group, member)
            return self._answer(shard, group, response, _refused)
        return self._remove(shard, group, [member], response, now)

    def _remove(
        self,
        shard: Shard,
        group: ConsumerGroup,
        members: list[Member],
        response: ConsumerGroupHeartbeatResponse,
        now: Situation,
    ) -> ConsumerGroupHeartbeatResponse | Reply[ConsumerGroupHeartbeatResponse]:
        for member in members:
            group.remove_member(member)
        if any(m.classic is None for m in members) and migration.can_downgrade(group, now.settings):
            # In the epoch that those who stay know: in a new one they would have lost what they hold.
            downgrade = self._downgrade(shard, group, now, rebalances=True)
            return self._answer(shard, group, response, _refused, after=downgrade)
        membership.begin_epoch(group, now)
        return self._answer(shard, group, response, _refused)

    def _downgrade(self, shard: Shard, group: ConsumerGroup, now: Situation, *, rebalances: bool) -> Change:
        """Only classic members are left: they go on as a classic group."""
        classic = migration.downgraded(group, self._classic_settings, now)
        record = group_record(group.group_id, classic.record(), now.moment.wall_ms)
        rebalance.resume(classic, now.moment)
        if rebalances:
            rebalance.prepare(classic, now.moment)

        def replace() -> None:
            log.info("group %r changes back to the classic protocol", group.group_id)
            del shard.state.consumers[group.group_id]
            self._vigil.forget(group)
            shard.state.groups[group.group_id] = classic

        tombstones = [encode(change, now.moment.wall_ms) for change in group.tombstones()]
        return Change([*tombstones, record], replace)

    # -- members of the classic protocol --------------------------------------------------------------

    def join(
        self, shard: Shard, group: ConsumerGroup, request: JoinGroupRequest, client: Client, version: int
    ) -> JoinGroupResponse | Reply[JoinGroupResponse]:
        now = self.situation(group.group_id)
        joiner = classic_members.Joiner(client, self._new_uuid(), must_know_its_id=version >= 4)

        def refused(code: ErrorCode, _message: str | None = None) -> JoinGroupResponse:
            return refused_join(request.member_id, code)

        try:
            response = classic_members.join(group, request, joiner, now)
        except Refused as refusal:
            return refused(refusal.code)
        if not response.error_code and migration.can_downgrade(group, now.settings):
            # A static member came back with the classic protocol, and it was the last of the new one.
            downgrade = self._downgrade(shard, group, now, rebalances=False)
            return self._answer(shard, group, response, refused, after=downgrade)
        return self._answer(shard, group, response, refused)

    def sync(
        self, shard: Shard, group: ConsumerGroup, request: SyncGroupRequest
    ) -> SyncGroupResponse | Reply[SyncGroupResponse]:
        try:
            response = classic_members.sync(group, request, self.situation(group.group_id))
        except Refused as refused:
            response = SyncGroupResponse(error_code=refused.code)
        return self._answer(shard, group, response, lambda code, _message: SyncGroupResponse(error_code=code))

    def classic_heartbeat(self, shard: Shard, group: ConsumerGroup, request: HeartbeatRequest) -> ErrorCode:
        try:
            code = classic_members.heartbeat(group, request, self.situation(group.group_id))
        except Refused as refused:
            return refused.code
        self._store(shard, group)
        return code

    def leave(
        self, shard: Shard, group: ConsumerGroup, leaving: Sequence[MemberIdentity]
    ) -> LeaveGroupResponse | Reply[LeaveGroupResponse]:
        left = classic_members.leave(group, leaving, self.situation(group.group_id))
        return self._answer(
            shard,
            group,
            LeaveGroupResponse(members=left),
            lambda code, _message: LeaveGroupResponse(error_code=code),
        )

    # -- time -----------------------------------------------------------------------------------------

    def _remove_late(self, shard: Shard, group: ConsumerGroup, late: list[str]) -> None:
        for member_id in late:
            log.info("member %r of group %r is removed: it was too late", member_id, group.group_id)
        members = [group.members[each] for each in late]
        self._remove(shard, group, members, ConsumerGroupHeartbeatResponse(), self.situation(group.group_id))

    # -- writing --------------------------------------------------------------------------------------

    def _answer(
        self,
        shard: Shard,
        group: ConsumerGroup,
        response: R,
        refuse: Refuse[R],
        *,
        before: Change | None = None,
        after: Change | None = None,
    ) -> R | Reply[R]:
        """Write what changed; the answer comes when that is committed, with all that it tells."""
        try:
            written = self._write(shard, group, before, after)
        except CoordinatorError as error:
            return refuse(error.code, error.message)
        return once_committed(written, response, refuse)

    def _store(self, shard: Shard, group: ConsumerGroup) -> None:
        """Write what nobody waits for."""
        with contextlib.suppress(CoordinatorError):
            self._write(shard, group)

    def _write(
        self, shard: Shard, group: ConsumerGroup, before: Change | None = None, after: Change | None = None
    ) -> Completion[None] | None:
        """Write what a group has in its outbox, between the changes that come with it.

        Raises `CoordinatorError`, and then all is as before.
        """
        changes = [] if before is None else [before]
        if group.outbox:
            now_ms = self._clock.now_ms()
            records = [encode(change, now_ms) for change in group.outbox]
            changes.append(Change(records, partial(_changed, shard, group)))
        if after is not None:
            changes.append(after)
        try:
            written = shard.submit(together(changes)) if changes else shard.settled()
        except CoordinatorError as error:
            self._roll_back(shard, group, error)
            raise
        classic = shard.state.groups.get(group.group_id)
        if classic is not None:
            self._perform(shard, classic)  # after its record: it may write another one
        else:
            self._vigil.watch(shard, group)
        return written

    def _roll_back(self, shard: Shard, group: ConsumerGroup, error: CoordinatorError) -> None:
        log.info("a change of group %r was refused: %s", group.group_id, error)
        now = self.situation(group.group_id)
        group.roll_back(now.moment, now.settings.session_timeout_ms)
        if shard.is_loaded and shard.state.consumers.get(group.group_id) is group:
            self._vigil.watch(shard, group)

    def _new_uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _changed(shard: Shard, group: ConsumerGroup) -> None:
    """The log takes what a group has in its outbox."""
    shard.state.consumers[group.group_id] = group
    group.take_outbox()


def _refused(code: ErrorCode, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)
