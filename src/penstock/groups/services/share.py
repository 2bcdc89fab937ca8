"""The share groups of a broker. The share coordinator keeps their partitions' state; the persister accesses it."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import SHARE_VERSION
from penstock.groups.base.assignment import (
    Assignment,
    TopicIdPartition,
    assignment_of,
    difference,
    partitions_in,
    union,
)
from penstock.groups.base.context import ShareContext, ShareSettings
from penstock.groups.base.errors import GroupError
from penstock.groups.base.member import JOIN_EPOCH, LEAVE_EPOCH, Client
from penstock.groups.services.base import EpochGroupService, Shard, changed_topics
from penstock.groups.services.end_offsets import EndOffsetSource
from penstock.groups.services.settings import share_settings
from penstock.groups.shard.shard import GroupShard
from penstock.groups.share import heartbeat, records
from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import share_group_heartbeat as wire
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Reply
from penstock.share.state.values import UNINITIALIZED_OFFSET, Persister, PersisterError, SharePartitionKey

log = logging.getLogger(__name__)

Failures = Mapping[TopicIdPartition, PersisterError]
"""The errors of the share coordinator, by partition."""


class _Join(NamedTuple):
    shard: Shard
    group: ShareGroup
    request: wire.ShareGroupHeartbeatRequest
    client: Client


class ShareGroups(EpochGroupService[ShareGroup, ShareSettings]):
    def __init__(
        self, controller: Controller, clock: Clock, persister: Persister, end_offsets: EndOffsetSource
    ) -> None:
        super().__init__(controller, clock)
        self.persister = persister
        self.end_offsets = end_offsets
        self._initializations: dict[asyncio.Task[Failures], ShareGroup] = {}
        self._deletions: dict[asyncio.Task[Failures], Shard] = {}

    @property
    def is_enabled(self) -> bool:
        return self._controller.image.features.finalized.get(SHARE_VERSION, 0) >= 1

    @staticmethod
    def groups_in(state: GroupShard) -> dict[str, ShareGroup]:
        return state.shares

    kind = "share"
    encode = staticmethod(records.encode)

    def _settings(self, group_id: str) -> ShareSettings:
        return share_settings(self._controller.config, self._controller.image.group_settings(group_id))

    # -- lifecycle ------------------------------------------------------------------------------------

    def _resume(self, _shard: Shard, group: ShareGroup, ctx: ShareContext) -> None:
        known = group.state_partitions
        group.put_state_partitions(known.remove(known.topic_ids - ctx.image.topics_by_id.keys()))

    def end(self, shard: Shard) -> None:
        super().end(shard)
        for task, owner in self._deletions.items():
            if owner is shard:
                task.cancel()

    async def stop(self) -> None:
        self._deadlines.stop()
        tasks = list(self._initializations)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def apply(self, delta: MetadataDelta, shards: Iterable[Shard]) -> None:
        """Follow one change of the metadata: affected groups check their topics with the next heartbeat."""
        changed = changed_topics(delta)
        if not changed:
            return
        for shard, group in self._groups(shards):
            if any(map(group.is_subscribed_to, changed)):
                group.must_refresh = True
            if delta.topics_deleted:
                group.put_state_partitions(group.state_partitions.remove(delta.topics_deleted.keys()))
                self.write_in_background(shard, group)

    def find_or_make(self, state: GroupShard, group_id: str) -> ShareGroup:
        """Return the share group of this name; a new one is not part of the shard yet. Raises `GroupError`."""
        return self.find(state, group_id) if state.has_group(group_id) else state.new_share_group(group_id)

    # -- members --------------------------------------------------------------------------------------

    def heartbeat(
        self, shard: Shard, request: wire.ShareGroupHeartbeatRequest, client: Client
    ) -> wire.ShareGroupHeartbeatResponse | Awaitable[wire.ShareGroupHeartbeatResponse]:
        ctx = self.context(request.group_id)
        try:
            heartbeat.check_request(request)
            if request.member_epoch == LEAVE_EPOCH:
                group = self.find(shard.state, request.group_id)
                response = heartbeat.leave(group, request.member_id, ctx)
                return self._respond(shard, group, response, _error)
            find = self.find_or_make if request.member_epoch == JOIN_EPOCH else self.find
            group = find(shard.state, request.group_id)
            response = heartbeat.heartbeat(group, request, client, ctx)
        except GroupError as error:
            return _error(error.code, error.message)
        missing = heartbeat.uninitialized(group, ctx)
        try:
            if missing:
                offsets = dict.fromkeys(sorted(partitions_in(missing)), UNINITIALIZED_OFFSET)
                self.initialize(shard, group, offsets)
        except CoordinatorError as error:
            return _error(error.code, error.message)
        reply = self._respond(shard, group, response, _error)
        initializations = self.initializations_of(group)
        if request.member_epoch == JOIN_EPOCH and initializations:
            return self._respond_when_initialized(
                _Join(shard, group, request, client), reply, initializations
            )
        return reply

    async def _respond_when_initialized(
        self,
        join: _Join,
        reply: wire.ShareGroupHeartbeatResponse | Reply[wire.ShareGroupHeartbeatResponse],
        initializations: "Sequence[asyncio.Task[Failures]]",
    ) -> wire.ShareGroupHeartbeatResponse:
        """Let a joining member wait for its partitions, which it would otherwise get with its next heartbeat."""
        shard, group, request, client = join
        response = await reply if isinstance(reply, Reply) else reply
        if response.error_code:
            return response
        await self._wait_until_initialized(group, initializations)
        if shard.state.shares.get(group.group_id) is not group:
            return response
        again = msgspec.structs.replace(request, member_epoch=response.member_epoch)
        try:
            later = heartbeat.heartbeat(group, again, client, self.context(group.group_id))
        except GroupError:
            return response  # it has left meanwhile
        later_reply = self._respond(shard, group, later, _error)
        return await later_reply if isinstance(later_reply, Reply) else later_reply

    async def _wait_until_initialized(
        self, group: ShareGroup, initializations: "Sequence[asyncio.Task[Failures]]"
    ) -> None:
        """Wait no longer than until the next heartbeat."""
        timeout_ms = self.context(group.group_id).settings.heartbeat_interval_ms
        sleeper: asyncio.Future[Any] = asyncio.ensure_future(self._clock.sleep(timeout_ms))
        ready: asyncio.Future[Any] = asyncio.gather(*initializations, return_exceptions=True)
        try:
            await asyncio.wait([ready, sleeper], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()

    def _remove_members(
        self, shard: Shard, group: ShareGroup, member_ids: list[str], ctx: ShareContext
    ) -> None:
        heartbeat.remove(group, [group.members[each] for each in member_ids], ctx)
        self.write_in_background(shard, group)

    # -- the state of share partitions ----------------------------------------------------------------

    def initialize(
        self, shard: Shard, group: ShareGroup, offsets: Mapping[TopicIdPartition, int]
    ) -> "asyncio.Task[Failures]":
        """Have the share coordinator initialize partitions, each with its start offset.

        The log gets this first, with the rest of the group's outbox. Raises `CoordinatorError`, and then nothing has
        changed.
        """
        partitions = assignment_of(offsets)
        topics = self._controller.image.topics_by_id
        known = group.state_partitions
        begun_before = union(known.initialized, difference(known.initializing, group.in_flight))
        if partitions_in(begun_before) & offsets.keys():
            # In a new epoch no leader continues with the old state, and the share coordinator rejects late requests
            # of the group coordinator before this one.
            group.bump_epoch(group.metadata_hash)
        names = {each: topics[each].name for each in partitions}
        group.put_state_partitions(known.begin_initializing(partitions, names))
        self.write(shard, group)
        group.in_flight = union(group.in_flight, partitions)
        work = self._initialize(shard, group, offsets, group.epoch)
        task = asyncio.get_running_loop().create_task(work, name=f"initialize share group {group.group_id}")
        self._initializations[task] = group
        task.add_done_callback(self._on_initialization_done)
        return task

    def initializations_of(self, group: ShareGroup) -> "list[asyncio.Task[Failures]]":
        return [task for task, each in self._initializations.items() if each is group]

    def _on_initialization_done(self, task: "asyncio.Task[Failures]") -> None:
        group = self._initializations.pop(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Cannot initialize share partitions. group=%s", group.group_id, exc_info=error)

    async def _initialize(
        self,
        shard: Shard,
        group: ShareGroup,
        offsets: Mapping[TopicIdPartition, int],
        state_epoch: int,
    ) -> Failures:
        partitions = assignment_of(offsets)
        try:
            settled = shard.pending_commit()
            if settled is not None:
                await settled
            failures = await _run_all(
                {
                    each: self.persister.initialize(
                        SharePartitionKey(group.group_id, *each), state_epoch, offset
                    )
                    for each, offset in offsets.items()
                }
            )
        except CoordinatorError as error:
            failures = dict.fromkeys(offsets, PersisterError(error.code))
        finally:
            group.in_flight = difference(group.in_flight, partitions)
        if shard.state.shares.get(group.group_id) is group:
            self._on_initialized(shard, group, partitions, failures)
        return failures

    def _on_initialized(
        self, shard: Shard, group: ShareGroup, partitions: Assignment, failures: Failures
    ) -> None:
        for (topic_id, partition), error in failures.items():
            log.warning(
                "Cannot initialize a share partition: %s. group=%s topic_id=%s partition=%d",
                error,
                group.group_id,
                topic_id.hex(),
                partition,
            )
        succeeded = difference(partitions, assignment_of(failures))
        topics = self._controller.image.topics_by_id
        existing = {each: succeeded[each] for each in succeeded if each in topics}
        group.put_state_partitions(group.state_partitions.end_initializing(partitions, existing))
        self.write_in_background(shard, group)

    async def delete_state(self, shard: Shard, group: ShareGroup, partitions: Assignment) -> Failures:
        """Have the share coordinator delete partitions. Raises `CoordinatorError` when this broker no longer leads.

        The next group coordinator may have them initialized again, and the share coordinator cannot recognize a late
        request of this one: `end` cancels the deletion, and the persister then sends no more requests.
        """
        if not shard.leads:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        work = _run_all(
            {
                each: self.persister.delete(SharePartitionKey(group.group_id, *each))
                for each in sorted(partitions_in(partitions))
            }
        )
        task = asyncio.get_running_loop().create_task(work, name=f"delete share group state {group.group_id}")
        self._deletions[task] = shard
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            del self._deletions[task]
        if task.cancelled():
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        return task.result()


async def _run_all(work: Mapping[TopicIdPartition, Coroutine[Any, Any, None]]) -> Failures:
    results = await asyncio.gather(*work.values(), return_exceptions=True)
    failures = {}
    for partition, result in zip(work, results, strict=True):
        if isinstance(result, PersisterError):
            failures[partition] = result
        elif isinstance(result, BaseException):
            raise result
    return failures


def _error(code: ErrorCode, message: str | None = None) -> wire.ShareGroupHeartbeatResponse:
    return wire.ShareGroupHeartbeatResponse(error_code=code, error_message=message)
