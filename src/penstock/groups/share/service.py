"""The share groups of a broker: gives the pure parts their log, their clock, their clients and the share coordinator.

Every request is decided at once, on the loop; what is then awaited is the log. Nothing is shown to a client that is not
committed.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import SHARE_VERSION
from penstock.groups.answers import once_committed
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.heartbeat import Client
from penstock.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, Assignment
from penstock.groups.moment import moment_of
from penstock.groups.shard import GroupShard
from penstock.groups.share import heartbeat
from penstock.groups.share.end_offsets import EndOffsetSource
from penstock.groups.share.group import ShareGroup
from penstock.groups.share.partition_sets import Place, assignment_of, places_of, united, without
from penstock.groups.share.records import encode
from penstock.groups.share.settings import settings_of
from penstock.groups.share.situation import ShareSituation
from penstock.groups.vigil import Shard, Vigil
from penstock.observability.clock import Clock
from penstock.observability.completion import Completion, Reply
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from penstock.share.values import UNINITIALIZED_OFFSET, Persister, PersisterError, SharePartitionKey

log = logging.getLogger(__name__)

Outcome = Mapping[Place, PersisterError]
"""What went wrong, by partition; empty when nothing did."""


class _Joining(NamedTuple):
    shard: Shard
    group: ShareGroup
    request: ShareGroupHeartbeatRequest
    client: Client


class ShareGroups:
    def __init__(
        self, controller: Controller, clock: Clock, persister: Persister, end_offsets: EndOffsetSource
    ) -> None:
        self.persister = persister
        self.end_offsets = end_offsets
        self._controller = controller
        self._clock = clock
        self._vigil: Vigil[ShareGroup] = Vigil(clock, self._remove_late)
        self._tasks: dict[asyncio.Task[Outcome], ShareGroup] = {}  # what initializes, and for whom
        self._deletions: dict[asyncio.Task[Outcome], Shard] = {}

    @property
    def is_offered(self) -> bool:
        return self._controller.image.features.finalized.get(SHARE_VERSION, 0) >= 1

    def situation(self, group_id: str) -> ShareSituation:
        image = self._controller.image
        settings = settings_of(self._controller.config, image.group_settings(group_id))
        return ShareSituation(image, moment_of(self._clock), settings)

    # -- life -----------------------------------------------------------------------------------------

    def begin(self, shard: Shard) -> None:
        """A shard was loaded: its members are waited for from now on, and topics may have gone meanwhile."""
        for group in shard.state.shares.values():
            now = self.situation(group.group_id)
            group.resume(now.moment, now.settings.session_timeout_ms)
            ledger = group.ledger
            known = {*ledger.initializing, *ledger.initialized, *ledger.deleting}
            group.put_ledger(ledger.forgotten(known - now.image.topics_by_id.keys()))
            self.store(shard, group)

    def end(self, shard: Shard) -> None:
        for group in shard.state.shares.values():
            self._vigil.forget(group)
        for task, owner in self._deletions.items():
            if owner is shard:
                task.cancel()

    async def stop(self) -> None:
        self._vigil.stop()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def apply(self, delta: MetadataDelta, shards: Iterable[Shard]) -> None:
        """Follow one change of the metadata: groups that read what changed look at it with their next heartbeat."""
        gone = delta.topics_deleted.keys()
        changed = {topic.name for topic in (*delta.topics_created.values(), *delta.topics_deleted.values())}
        for change in delta.partitions.values():
            if change.before is None or change.before.replicas != change.after.replicas:
                changed.add(change.topic.name)
        if not changed:
            return
        for shard in shards:
            for group in shard.state.shares.values():
                if any(map(group.is_subscribed_to, changed)):
                    group.must_refresh = True
                if gone:
                    group.put_ledger(group.ledger.forgotten(gone))
                    self.store(shard, group)

    # -- members --------------------------------------------------------------------------------------

    def heartbeat(
        self, shard: Shard, request: ShareGroupHeartbeatRequest, client: Client
    ) -> (
        ShareGroupHeartbeatResponse
        | Reply[ShareGroupHeartbeatResponse]
        | Awaitable[ShareGroupHeartbeatResponse]
    ):
        now = self.situation(request.group_id)
        try:
            heartbeat.check_request(request)
            if request.member_epoch == LEAVE_EPOCH:
                group = find_share_group(shard.state, request.group_id)
                return self._answer(shard, group, heartbeat.leave(group, request.member_id, now))
            find = find_or_make_share_group if request.member_epoch == JOIN_EPOCH else find_share_group
            group = find(shard.state, request.group_id)
            response = heartbeat.heartbeat(group, request, client, now)
        except Refused as refused:
            return _refused(refused.code, refused.message)
        missing = heartbeat.uninitialized(group, now)
        try:
            if missing:
                self.initialize(shard, group, dict.fromkeys(sorted(places_of(missing)), UNINITIALIZED_OFFSET))
        except CoordinatorError as error:
            return _refused(error.code, error.message)
        answer = self._answer(shard, group, response)
        preparing = self.preparing(group)
        if request.member_epoch == JOIN_EPOCH and preparing:
            return self._answer_later(_Joining(shard, group, request, client), answer, preparing)
        return answer

    async def _answer_later(
        self,
        joining: "_Joining",
        answer: ShareGroupHeartbeatResponse | Reply[ShareGroupHeartbeatResponse],
        preparing: "Sequence[asyncio.Task[Outcome]]",
    ) -> ShareGroupHeartbeatResponse:
        """Let whoever joins wait until there are partitions for it: with its next heartbeat it would get them late."""
        shard, group, request, client = joining
        response = await answer if isinstance(answer, Reply) else answer
        if response.error_code:
            return response
        await self._patience(group, preparing)
        if shard.state.shares.get(group.group_id) is not group:
            return response
        again = msgspec.structs.replace(request, member_epoch=response.member_epoch)
        try:
            later = heartbeat.heartbeat(group, again, client, self.situation(group.group_id))
        except Refused:
            return response  # it has left meanwhile
        settled = self._answer(shard, group, later)
        return await settled if isinstance(settled, Reply) else settled

    async def _patience(self, group: ShareGroup, preparing: "Sequence[asyncio.Task[Outcome]]") -> None:
        """Wait for what is being prepared, no longer than the next heartbeat would be waited for."""
        patience_ms = self.situation(group.group_id).settings.heartbeat_interval_ms
        sleeper: asyncio.Future[Any] = asyncio.ensure_future(self._clock.sleep(patience_ms))
        ready: asyncio.Future[Any] = asyncio.gather(*preparing, return_exceptions=True)
        try:
            await asyncio.wait([ready, sleeper], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()

    def _remove_late(self, shard: Shard, group: ShareGroup, late: list[str]) -> None:
        for member_id in late:
            log.info("member %r of share group %r is removed: it was too late", member_id, group.group_id)
        members = [group.members[each] for each in late]
        heartbeat.remove(group, members, self.situation(group.group_id))
        self.store(shard, group)

    # -- the state of share partitions ----------------------------------------------------------------

    def initialize(
        self, shard: Shard, group: ShareGroup, offsets: Mapping[Place, int]
    ) -> "asyncio.Task[Outcome]":
        """Make partitions known to the share coordinator, each with the offset to start at.

        The log says so first, with all else that the group has in its outbox. Raises `CoordinatorError`, and then all
        is as before.
        """
        partitions = assignment_of(offsets)
        topics = self._controller.image.topics_by_id
        begun_before = united(group.ledger.initialized, without(group.ledger.initializing, group.in_flight))
        if places_of(begun_before) & offsets.keys():
            # In a new epoch nobody goes on with what was read before, and nothing that is asked for late, by the
            # coordinator before this one, is taken.
            group.bump_epoch(group.metadata_hash)
        group.put_ledger(group.ledger.begun(partitions, {each: topics[each].name for each in partitions}))
        self.write(shard, group)
        group.in_flight = united(group.in_flight, partitions)
        work = self._initialize(shard, group, offsets, group.epoch)
        task = asyncio.get_running_loop().create_task(work, name=f"initialize share group {group.group_id}")
        self._tasks[task] = group
        task.add_done_callback(self._ended)
        return task

    def preparing(self, group: ShareGroup) -> "list[asyncio.Task[Outcome]]":
        """What makes partitions known for a group."""
        return [task for task, each in self._tasks.items() if each is group]

    def _ended(self, task: "asyncio.Task[Outcome]") -> None:
        group = self._tasks.pop(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("initializing partitions of share group %r failed", group.group_id, exc_info=error)

    async def _initialize(
        self, shard: Shard, group: ShareGroup, offsets: Mapping[Place, int], state_epoch: int
    ) -> Outcome:
        partitions = assignment_of(offsets)
        try:
            settled = shard.settled()
            if settled is not None:
                await settled
            outcome = await self._each(
                {
                    place: self.persister.initialize(self.key(group, place), state_epoch, offset)
                    for place, offset in offsets.items()
                }
            )
        except CoordinatorError as error:
            outcome = dict.fromkeys(offsets, PersisterError(error.code))
        finally:
            group.in_flight = without(group.in_flight, partitions)
        if shard.state.shares.get(group.group_id) is group:
            self._finish(shard, group, partitions, outcome)
        return outcome

    def _finish(self, shard: Shard, group: ShareGroup, partitions: Assignment, outcome: Outcome) -> None:
        for (topic_id, partition), error in outcome.items():
            log.warning(
                "the state of partition %d of topic %s for share group %r was not initialized: %s",
                partition,
                topic_id.hex(),
                group.group_id,
                error,
            )
        made = without(partitions, assignment_of(outcome))
        existing = {each: made[each] for each in made if each in self._controller.image.topics_by_id}
        group.put_ledger(group.ledger.failed(partitions).done(existing))
        self.store(shard, group)

    async def delete_state(self, shard: Shard, group: ShareGroup, partitions: Assignment) -> Outcome:
        """Have the share coordinator forget partitions. Raises `CoordinatorError` when this broker no longer leads.

        Whoever coordinates the group next may have them initialized again, and nothing tells a late request from one
        of its own: `end` cancels the deletion, and the persister then sends none any more.
        """
        if not shard.leads:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        work = self._each(
            {place: self.persister.delete(self.key(group, place)) for place in sorted(places_of(partitions))}
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

    @staticmethod
    async def _each(work: Mapping[Place, Coroutine[Any, Any, None]]) -> Outcome:
        results = await asyncio.gather(*work.values(), return_exceptions=True)
        outcome = {}
        for place, result in zip(work, results, strict=True):
            if isinstance(result, PersisterError):
                outcome[place] = result
            elif isinstance(result, BaseException):
                raise result
        return outcome

    @staticmethod
    def key(group: ShareGroup, place: Place) -> SharePartitionKey:
        return SharePartitionKey(group.group_id, *place)

    # -- writing --------------------------------------------------------------------------------------

    def _answer(
        self, shard: Shard, group: ShareGroup, response: ShareGroupHeartbeatResponse
    ) -> ShareGroupHeartbeatResponse | Reply[ShareGroupHeartbeatResponse]:
        """Write what changed; the answer comes when that is committed, with all that it tells."""
        try:
            return once_committed(self.write(shard, group), response, _refused)
        except CoordinatorError as error:
            return _refused(error.code, error.message)

    def store(self, shard: Shard, group: ShareGroup) -> None:
        """Write what nobody waits for."""
        with contextlib.suppress(CoordinatorError):
            self.write(shard, group)

    def write(self, shard: Shard, group: ShareGroup) -> Completion[None] | None:
        """Write what a group has in its outbox; what is given back is all that is on its way.

        Raises `CoordinatorError`, and then all is as before.
        """
        if group.outbox:
            now_ms = self._clock.now_ms()
            records = [encode(change, now_ms) for change in group.outbox]
            try:
                written: Completion[None] | None = shard.submit(
                    Change(records, partial(_changed, shard, group))
                )
            except CoordinatorError as error:
                self._roll_back(shard, group, error)
                raise
        else:
            written = shard.settled()
        self._vigil.watch(shard, group)
        return written

    def _roll_back(self, shard: Shard, group: ShareGroup, error: CoordinatorError) -> None:
        log.info("a change of share group %r was refused: %s", group.group_id, error)
        now = self.situation(group.group_id)
        group.roll_back(now.moment, now.settings.session_timeout_ms)
        if shard.is_loaded and shard.state.shares.get(group.group_id) is group:
            self._vigil.watch(shard, group)


def _changed(shard: Shard, group: ShareGroup) -> None:
    """The log takes what a group has in its outbox."""
    shard.state.shares[group.group_id] = group
    group.take_outbox()


def find_share_group(state: GroupShard, group_id: str) -> ShareGroup:
    group = state.shares.get(group_id)
    if group is None:
        is_other = group_id in state.groups or group_id in state.consumers
        problem = "is not a share group" if is_other else "not found"
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {problem}.")
    return group


def find_or_make_share_group(state: GroupShard, group_id: str) -> ShareGroup:
    """The share group of this name; a new one is not part of the shard yet."""
    is_free = group_id not in state.groups and group_id not in state.consumers
    if is_free and group_id not in state.shares:
        return state.new_share_group(group_id)
    return find_share_group(state, group_id)


def _refused(code: ErrorCode, message: str | None = None) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=code, error_message=message)
