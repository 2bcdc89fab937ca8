"""The group coordinator of a broker: the shell that gives the pure parts their log, their clock and their clients.

A request is checked and decided in one go, in the order of its connection; what is then awaited is the log, or, for a
join and a sync, the other members. Nothing is shown to a client that is not committed.
"""

import asyncio
import contextlib
import itertools
import logging
import math
import random
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from penstock.cluster.controller import Controller
from penstock.cluster.controller_access import CreateTopic
from penstock.cluster.coordination.change import Change, together
from penstock.cluster.coordination.deadlines import Deadlines
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replicas import Replicas
from penstock.cluster.topic_names import CONSUMER_OFFSETS
from penstock.config.broker import BrokerConfig
from penstock.config.themes import coordinators
from penstock.groups.classic import join, membership, rebalance, sync
from penstock.groups.classic.group import ClassicGroup, GroupSettings, refused_join
from penstock.groups.classic.instructions import Answer, AssignmentOf, ReplacedMember, Store
from penstock.groups.classic.states import State
from penstock.groups.consumer.heartbeat import Client
from penstock.groups.consumer.service import ConsumerGroups
from penstock.groups.moment import Moment, moment_of
from penstock.groups.records import group_record
from penstock.groups.shard import GroupShard
from penstock.groups.share.end_offsets import EndOffsetSource
from penstock.groups.share.service import ShareGroups
from penstock.observability.clock import Clock
from penstock.observability.completion import Reply
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from penstock.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from penstock.share.values import Persister

log = logging.getLogger(__name__)

Shard = CoordinatorPartition[GroupShard]


class GroupCoordinator:
    def __init__(
        self,
        controller: Controller,
        replicas: Replicas,
        clock: Clock,
        randomness: random.Random,
        *,
        create_topic: CreateTopic,
        persister: Persister,
        end_offsets: EndOffsetSource,
    ) -> None:
        config = controller.config
        self._controller = controller
        self._create_topic = create_topic
        self._clock = clock
        self._random = randomness
        self._settings = GroupSettings(
            size_max=config[coordinators.GROUP_MAX_SIZE],
            initial_rebalance_delay_ms=config[coordinators.GROUP_INITIAL_REBALANCE_DELAY_MS],
        )
        self.shards: CoordinatorPartitions[GroupShard] = CoordinatorPartitions(
            CONSUMER_OFFSETS,
            config.node_id,
            controller.image,
            replicas,
            clock,
            make_state=lambda: GroupShard(self._settings),
            on_loaded=self._begin,
            on_ended=self._end,
            codec=Codec(config[coordinators.OFFSETS_TOPIC_COMPRESSION_CODEC]),
            write_timeout_ms=config[coordinators.OFFSETS_COMMIT_TIMEOUT_MS],
        )
        self.consumers = ConsumerGroups(controller, clock, randomness, self._settings, self.perform)
        self.shares = ShareGroups(controller, clock, persister, end_offsets)
        self._homes: dict[ClassicGroup, Shard] = {}  # of groups that wait for something
        self._deadlines: Deadlines[ClassicGroup] = Deadlines(clock, self._wake)
        self._tickets = itertools.count()
        self._waiting: dict[int, Reply[JoinGroupResponse | SyncGroupResponse]] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self.sweep_count = 0
        """How often all offsets were looked over for expired ones."""

    @property
    def config(self) -> BrokerConfig:
        return self._controller.config

    @property
    def image(self) -> MetadataImage:
        return self._controller.image

    def moment(self) -> Moment:
        return moment_of(self._clock)

    # -- life -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load what is led here; requests are answered from now on."""
        self.shards.start()
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep(), name="offset expiry")

    async def stop(self) -> None:
        """Answer whoever waits, so that connections can be drained."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        await self.shards.stop()
        self._deadlines.stop()
        self.consumers.stop()
        await self.shares.stop()

    def apply(self, delta: MetadataDelta) -> None:
        """Follow one change of the metadata, after `Replicas` has."""
        self.shards.apply(delta)
        for topic in delta.topics_deleted.values():
            for shard in self.shards:
                change = shard.state.forget_topic(topic.name, topic.topic_id, self.moment())
                self._write_unattended(shard, change)
        self.consumers.apply(delta, self.shards)
        self.shares.apply(delta, self.shards)

    def _begin(self, shard: Shard) -> None:
        moment = self.moment()
        for group in list(shard.state.groups.values()):
            rebalance.resume(group, moment)
            self.perform(shard, group)
        self.consumers.begin(shard)
        self.shares.begin(shard)

    def _end(self, shard: Shard) -> None:
        moment = self.moment()
        for group in shard.state.groups.values():
            rebalance.end(group, ErrorCode.NOT_COORDINATOR, moment)
            self.perform(shard, group)
        self.consumers.end(shard)
        self.shares.end(shard)

    # -- where a group lives --------------------------------------------------------------------------

    async def ready_home(self, group_id: str) -> bool:
        """See to it that the offsets topic exists; whether the group's partition is led and loaded here, then."""
        if self.shards.partition_count == 0:
            await self._create_topic(CONSUMER_OFFSETS)
        return await self.shards.until_ready(group_id)

    def find(self, group_id: str) -> Shard | ErrorCode:
        return self.shards.find(group_id)

    # -- members --------------------------------------------------------------------------------------

    def join(
        self, request: JoinGroupRequest, *, client_id: str, client_host: str, version: int
    ) -> JoinGroupResponse | Reply[JoinGroupResponse]:
        shard = self._shard_for_member(request.group_id)
        if isinstance(shard, ErrorCode):
            return refused_join(request.member_id, shard)
        session_min_ms = self.config[coordinators.GROUP_MIN_SESSION_TIMEOUT_MS]
        session_max_ms = self.config[coordinators.GROUP_MAX_SESSION_TIMEOUT_MS]
        if not session_min_ms <= request.session_timeout_ms <= session_max_ms:
            return refused_join(request.member_id, ErrorCode.INVALID_SESSION_TIMEOUT)
        if request.group_id in shard.state.shares:
            return refused_join("", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        consumer = shard.state.consumers.get(request.group_id)
        if consumer is not None and consumer.members:
            client = Client(client_id, client_host)
            return self.consumers.join(shard, consumer, request, client, version)
        known = shard.state.groups.get(request.group_id)
        if known is None and request.member_id:
            return refused_join(request.member_id, ErrorCode.UNKNOWN_MEMBER_ID)
        group = known or shard.state.new_group(request.group_id)
        moment = self.moment()
        ticket, answer = self._ticket()
        prefix = request.group_instance_id or client_id
        joiner = join.Joiner(
            ticket=ticket,
            client_id=client_id,
            client_host=client_host,
            new_member_id=f"{prefix}-{uuid.UUID(int=self._random.getrandbits(128), version=4)}",
            must_know_its_id=version >= 4,
            may_skip_assignment=version >= 9,
        )
        join.join(group, request, joiner, moment)
        if known is None:  # so that it is known after a restart, though nobody has joined it yet
            try:
                shard.write(self._new_group(shard, group, moment))
            except CoordinatorError as error:
                del self._waiting[ticket]
                return refused_join(request.member_id, error.code)
        self.perform(shard, group)
        return answer

    @staticmethod
    def _new_group(shard: Shard, group: ClassicGroup, moment: Moment) -> Change:
        """A group that somebody joins; a KIP-848 group of that name goes: nobody is in it any more."""

        def add() -> None:
            shard.state.groups[group.group_id] = group

        added = Change([group_record(group.group_id, group.record(), moment.wall_ms)], add)
        consumer = shard.state.consumers.get(group.group_id)
        if consumer is None:
            return added
        return together([shard.state.forget_consumer_group(consumer, moment), added])

    def sync(self, request: SyncGroupRequest) -> SyncGroupResponse | Reply[SyncGroupResponse]:
        shard = self._shard_for_member(request.group_id)
        if isinstance(shard, ErrorCode):
            return SyncGroupResponse(error_code=shard)
        consumer = shard.state.consumers.get(request.group_id)
        if consumer is not None:
            return self.consumers.sync(shard, consumer, request)
        group = shard.state.groups.get(request.group_id)
        if group is None or group.state is State.EMPTY:
            return SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        ticket, answer = self._ticket()
        sync.sync(group, request, ticket)
        self.perform(shard, group)
        return answer

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        shard = self._shard_for_member(request.group_id)
        if shard is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.NONE  # nobody's session ends before the load does
        if isinstance(shard, ErrorCode):
            return shard
        consumer = shard.state.consumers.get(request.group_id)
        if consumer is not None:
            return self.consumers.classic_heartbeat(shard, consumer, request)
        group = shard.state.groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        code = membership.heartbeat(
            group, request.member_id, request.group_instance_id, request.generation_id, self.moment()
        )
        self.perform(shard, group)
        return code

    def leave(
        self, group_id: str, members: Sequence[MemberIdentity]
    ) -> LeaveGroupResponse | Reply[LeaveGroupResponse]:
        shard = self._shard_for_member(group_id)
        if isinstance(shard, ErrorCode):
            return LeaveGroupResponse(error_code=shard)
        consumer = shard.state.consumers.get(group_id)
        if consumer is not None:
            return self.consumers.leave(shard, consumer, members)
        group = shard.state.groups.get(group_id)
        if group is None:
            unknown = [
                MemberResponse(
                    member_id=m.member_id,
                    group_instance_id=m.group_instance_id,
                    error_code=ErrorCode.UNKNOWN_MEMBER_ID,
                )
                for m in members
            ]
            return LeaveGroupResponse(members=unknown)
        left = membership.leave(group, members, self.moment())
        self.perform(shard, group)
        return LeaveGroupResponse(members=left)

    def _shard_for_member(self, group_id: str) -> Shard | ErrorCode:
        return self.find(group_id) if group_id else ErrorCode.INVALID_GROUP_ID

    def _ticket(self) -> "tuple[int, Reply[Any]]":
        ticket = next(self._tickets)
        answer = self._waiting[ticket] = Reply()
        return ticket, answer

    # -- what the state machine asks for --------------------------------------------------------------

    def perform(self, shard: Shard, group: ClassicGroup) -> None:
        """Carry out what a group left in its outbox, and see that it is woken in time."""
        for instruction in group.take_outbox():
            if isinstance(instruction, Answer):
                self._waiting.pop(instruction.ticket).resolve(instruction.response)
            else:
                self._store(shard, group, instruction)
        if group.wake_at_ms < math.inf:
            self._homes[group] = shard
            self._deadlines.wake_by(group, group.wake_at_ms)

    def _store(self, shard: Shard, group: ClassicGroup, store: Store) -> None:
        record = group_record(group.group_id, store.value, self._clock.now_ms())
        if store.then is None:  # as in Kafka, the group goes on although the log may not take it
            self._write_unattended(shard, Change([record], _nothing))
            return
        try:
            written = shard.write(Change([record], _nothing))  # `_stored` makes the change, or takes it back
        except CoordinatorError as error:
            self._stored(shard, group, store.then, error.code)
            return
        written.add_done_callback(partial(self._when_stored, shard, group, store.then))

    def _when_stored(
        self,
        shard: Shard,
        group: ClassicGroup,
        then: AssignmentOf | ReplacedMember,
        written: "asyncio.Future[None]",
    ) -> None:
        error = written.exception()
        self._stored(
            shard, group, then, error.code if isinstance(error, CoordinatorError) else ErrorCode.NONE
        )

    def _stored(
        self, shard: Shard, group: ClassicGroup, then: AssignmentOf | ReplacedMember, code: ErrorCode
    ) -> None:
        moment = self.moment()
        if isinstance(then, AssignmentOf):
            if code:
                sync.assignment_not_stored(group, then, code, moment)
            else:
                sync.assignment_stored(group, then, moment)
        elif code:
            join.replacement_not_stored(group, then, code)
        else:
            join.replacement_stored(group, then)
        self.perform(shard, group)

    def _wake(self, group: ClassicGroup) -> float:
        shard = self._homes.pop(group)
        rebalance.expire(group, self.moment())
        self.perform(shard, group)
        return group.wake_at_ms

    # -- writing --------------------------------------------------------------------------------------

    @staticmethod
    def _write_unattended(shard: Shard, change: Change) -> None:
        """Write what nobody waits for. What is refused is not changed."""
        if change.records:
            with contextlib.suppress(CoordinatorError):
                shard.write(change)

    async def _sweep(self) -> None:
        """Forget, from time to time, the offsets that nobody needs any more."""
        while True:
            await self._clock.sleep(self.config[coordinators.OFFSETS_RETENTION_CHECK_INTERVAL_MS])
            try:
                await self._expire_offsets()
            except Exception:
                log.exception("looking for expired offsets failed; it is tried again")
            self.sweep_count += 1

    async def _expire_offsets(self) -> None:
        retention_ms = self.config[coordinators.OFFSETS_RETENTION_MINUTES] * 60_000
        for shard in self.shards:
            count = 0
            for change in shard.state.expire(self.moment(), retention_ms):
                self._write_unattended(shard, change)
                count += len(change.records)
            if count:
                log.info("%d offsets and groups of partition %d expired", count, shard.number)
            await asyncio.sleep(0)


def _nothing() -> None:
    """For a record of a group that is ahead of it, or changes when it is committed."""
