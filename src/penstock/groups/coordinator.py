"""The group coordinator of a broker. It provides the classic groups with their log, clock and clients.

It decides a request at once, in connection order, and then waits for the log or, for a join or a sync, for the other
members. Clients see nothing that is not committed.
"""

import asyncio
import contextlib
import itertools
import logging
import math
import random
import uuid
from collections.abc import Sequence
from typing import Any

from penstock.cluster.controller import Controller
from penstock.cluster.controller_access import CreateTopic
from penstock.cluster.coordination.change import Change, combine_changes
from penstock.cluster.coordination.deadlines import Deadlines
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.coordination.periodic import PeriodicTasks
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.config.settings import coordinators
from penstock.groups.base.instant import Instant, read_clock
from penstock.groups.base.member import Client
from penstock.groups.classic import join, membership, rebalance, sync
from penstock.groups.classic.group import ClassicGroup, GroupSettings, refused_join
from penstock.groups.classic.instructions import Answer, AssignmentOf, ReplacedMember, Store
from penstock.groups.classic.states import State
from penstock.groups.services.consumer import ConsumerGroups
from penstock.groups.services.end_offsets import EndOffsetSource
from penstock.groups.services.share import ShareGroups
from penstock.groups.shard.records import group_record
from penstock.groups.shard.shard import GroupShard
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from penstock.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Reply
from penstock.share.state.values import Persister

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
            on_loaded=self._on_loaded,
            on_ended=self._on_ended,
            codec=Codec(config[coordinators.OFFSETS_TOPIC_COMPRESSION_CODEC]),
            write_timeout_ms=config[coordinators.OFFSETS_COMMIT_TIMEOUT_MS],
        )
        self.consumers = ConsumerGroups(controller, clock, randomness, self._settings, self.perform)
        self.shares = ShareGroups(controller, clock, persister, end_offsets)
        self._shards_of_waiting: dict[ClassicGroup, Shard] = {}
        self._deadlines: Deadlines[ClassicGroup] = Deadlines(clock, self._on_deadline)
        self._tickets = itertools.count()
        self._parked: dict[int, Reply[JoinGroupResponse | SyncGroupResponse]] = {}
        self._maintenance = PeriodicTasks(clock)
        self.expiry_count = 0
        """The number of times that expired offsets were deleted."""

    @property
    def config(self) -> BrokerConfig:
        return self._controller.config

    @property
    def image(self) -> MetadataImage:
        return self._controller.image

    def now(self) -> Instant:
        return read_clock(self._clock)

    # -- lifecycle ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the partitions that this broker leads, and begin to answer requests."""
        self.shards.start()
        interval = coordinators.OFFSETS_RETENTION_CHECK_INTERVAL_MS
        self._maintenance.start("offset expiry", lambda: self.config[interval], self._expire_offsets)

    async def stop(self) -> None:
        """Answer all parked requests, so that connections can be closed."""
        await self._maintenance.stop()
        await self.shards.stop()
        self._deadlines.stop()
        self.consumers.stop()
        await self.shares.stop()

    def apply(self, delta: MetadataDelta) -> None:
        """Apply a change of the metadata, after `Replicas` has."""
        self.shards.apply(delta)
        for topic in delta.topics_deleted.values():
            for shard in self.shards:
                change = shard.state.delete_topic(topic.name, topic.topic_id, self.now())
                self._write_in_background(shard, change)
        self.consumers.apply(delta, self.shards)
        self.shares.apply(delta, self.shards)

    def _on_loaded(self, shard: Shard) -> None:
        now = self.now()
        for group in list(shard.state.groups.values()):
            rebalance.resume(group, now)
            self.perform(shard, group)
        self.consumers.begin(shard)
        self.shares.begin(shard)

    def _on_ended(self, shard: Shard) -> None:
        now = self.now()
        for group in shard.state.groups.values():
            rebalance.end(group, ErrorCode.NOT_COORDINATOR, now)
            self.perform(shard, group)
        self.consumers.end(shard)
        self.shares.end(shard)

    # -- placement ------------------------------------------------------------------------------------

    async def ensure_ready(self, group_id: str) -> bool:
        """Create the offsets topic if it is missing. Return whether this broker has loaded the group's partition."""
        if self.shards.partition_count == 0:
            await self._create_topic(CONSUMER_OFFSETS)
        return await self.shards.wait_until_ready(group_id)

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
        now = self.now()
        ticket, response = self._new_ticket()
        prefix = request.group_instance_id or client_id
        joiner = join.Joiner(
            ticket=ticket,
            client_id=client_id,
            client_host=client_host,
            new_member_id=f"{prefix}-{uuid.UUID(int=self._random.getrandbits(128), version=4)}",
            requires_member_id=version >= 4,
            may_skip_assignment=version >= 9,
        )
        join.join(group, request, joiner, now)
        if known is None:  # store it now, so that it survives a restart before the first generation
            try:
                shard.write(self._new_group(shard, group, now))
            except CoordinatorError as error:
                del self._parked[ticket]
                return refused_join(request.member_id, error.code)
        self.perform(shard, group)
        return response

    @staticmethod
    def _new_group(shard: Shard, group: ClassicGroup, now: Instant) -> Change:
        """Add a group. Delete a KIP-848 group of that name, which has no members."""

        def add() -> None:
            shard.state.groups[group.group_id] = group

        added = Change([group_record(group.group_id, group.record(), now.wall_ms)], add)
        consumer = shard.state.consumers.get(group.group_id)
        if consumer is None:
            return added
        return combine_changes([shard.state.delete_consumer_group(consumer, now), added])

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
        ticket, response = self._new_ticket()
        sync.sync(group, request, ticket)
        self.perform(shard, group)
        return response

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        shard = self._shard_for_member(request.group_id)
        if shard is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.NONE  # sessions do not time out while the partition loads
        if isinstance(shard, ErrorCode):
            return shard
        consumer = shard.state.consumers.get(request.group_id)
        if consumer is not None:
            return self.consumers.classic_heartbeat(shard, consumer, request)
        group = shard.state.groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        code = membership.heartbeat(
            group, request.member_id, request.group_instance_id, request.generation_id, self.now()
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
        left = membership.leave(group, members, self.now())
        self.perform(shard, group)
        return LeaveGroupResponse(members=left)

    def _shard_for_member(self, group_id: str) -> Shard | ErrorCode:
        return self.find(group_id) if group_id else ErrorCode.INVALID_GROUP_ID

    def _new_ticket(self) -> "tuple[int, Reply[Any]]":
        ticket = next(self._tickets)
        response = self._parked[ticket] = Reply()
        return ticket, response

    # -- instructions of the state machine ------------------------------------------------------------

    def perform(self, shard: Shard, group: ClassicGroup) -> None:
        """Execute the instructions in a group's outbox, and schedule its timeouts."""
        for instruction in group.take_outbox():
            if isinstance(instruction, Answer):
                self._parked.pop(instruction.ticket).resolve(instruction.response)
            else:
                self._store(shard, group, instruction)
        if group.wake_at_ms < math.inf:
            self._shards_of_waiting[group] = shard
            self._deadlines.wake_by(group, group.wake_at_ms)

    def _store(self, shard: Shard, group: ClassicGroup, store: Store) -> None:
        record = group_record(group.group_id, store.value, self._clock.now_ms())
        then = store.then
        if then is None:  # as in Kafka, the group continues although the log may refuse it
            self._write_in_background(shard, Change([record], _nothing))
            return
        try:
            written = shard.write(Change([record], _nothing))  # `_stored` makes the change or undoes it
        except CoordinatorError as error:
            self._stored(shard, group, then, error.code)
            return

        def on_written(written: "asyncio.Future[None]") -> None:
            error = written.exception()
            code = error.code if isinstance(error, CoordinatorError) else ErrorCode.NONE
            self._stored(shard, group, then, code)

        written.add_done_callback(on_written)

    def _stored(
        self, shard: Shard, group: ClassicGroup, then: AssignmentOf | ReplacedMember, code: ErrorCode
    ) -> None:
        now = self.now()
        if isinstance(then, AssignmentOf):
            if code:
                sync.assignment_not_stored(group, then, code, now)
            else:
                sync.assignment_stored(group, then, now)
        elif code:
            join.replacement_not_stored(group, then, code)
        else:
            join.replacement_stored(group, then)
        self.perform(shard, group)

    def _on_deadline(self, group: ClassicGroup) -> float:
        shard = self._shards_of_waiting.pop(group)
        rebalance.expire(group, self.now())
        self.perform(shard, group)
        return group.wake_at_ms

    @staticmethod
    def _write_in_background(shard: Shard, change: Change) -> None:
        """Write a change that no client waits for. It is not made if the log refuses it."""
        if change.records:
            with contextlib.suppress(CoordinatorError):
                shard.write(change)

    async def _expire_offsets(self) -> None:
        retention_ms = self.config[coordinators.OFFSETS_RETENTION_MINUTES] * 60_000
        for shard in self.shards:
            count = 0
            for change in shard.state.expire(self.now(), retention_ms):
                self._write_in_background(shard, change)
                count += len(change.records)
            if count:
                log.info("Expired offsets and groups. count=%d partition=%d", count, shard.number)
            await asyncio.sleep(0)
        self.expiry_count += 1


def _nothing() -> None:
    """For the record of a group that has changed already, or changes when it is committed."""
