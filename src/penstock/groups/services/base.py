"""Common parts of the services of KIP-848 groups and of share groups.

A service provides the groups, which do no I/O, with their log, clock and clients. It decides every request at once, on
the event loop, and then waits for the log: clients see nothing that is not committed.
"""

import abc
import contextlib
import logging
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.change import Change, combine_changes
from penstock.cluster.coordination.deadlines import Deadlines
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.groups.base.context import EpochGroupSettings, GroupContext
from penstock.groups.base.epoch_group import EpochGroup
from penstock.groups.base.errors import GroupError
from penstock.groups.base.instant import read_clock
from penstock.groups.shard.shard import GroupShard
from penstock.protocol.coordinator_records import TypedRecord
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import NewRecord
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Completion, Reply

log = logging.getLogger(__name__)

Shard: TypeAlias = CoordinatorPartition[GroupShard]

R = TypeVar("R")
G = TypeVar("G", bound=EpochGroup[Any])
S = TypeVar("S", bound=EpochGroupSettings)

ErrorResponse = Callable[[ErrorCode, str | None], R]
"""Makes the response to a request that failed."""


class EpochGroupService(abc.ABC, Generic[G, S]):
    kind: ClassVar[str]

    def __init__(self, controller: Controller, clock: Clock) -> None:
        self._controller = controller
        self._clock = clock
        self._shards: dict[G, Shard] = {}  # of groups that wait for their members
        self._deadlines: Deadlines[G] = Deadlines(clock, self._on_deadline)

    @property
    @abc.abstractmethod
    def is_enabled(self) -> bool:
        """Whether the cluster has the feature of these groups."""

    @staticmethod
    @abc.abstractmethod
    def groups_in(state: GroupShard) -> dict[str, G]: ...

    @staticmethod
    @abc.abstractmethod
    def encode(record: TypedRecord, now_ms: int) -> NewRecord: ...

    @abc.abstractmethod
    def _settings(self, group_id: str) -> S: ...

    @abc.abstractmethod
    def _resume(self, shard: Shard, group: G, ctx: GroupContext[S]) -> None:
        """Handle what changed in the metadata before the shard was loaded."""

    @abc.abstractmethod
    def _remove_members(
        self, shard: Shard, group: G, member_ids: list[str], ctx: GroupContext[S]
    ) -> None: ...

    def context(self, group_id: str) -> GroupContext[S]:
        return GroupContext(self._controller.image, read_clock(self._clock), self._settings(group_id))

    def find(self, state: GroupShard, group_id: str) -> G:
        """Raises `GroupError` when there is no group of this kind and name."""
        group = self.groups_in(state).get(group_id)
        if group is None:
            problem = f"is not a {self.kind} group" if state.has_group(group_id) else "not found"
            raise GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {problem}.")
        return group

    # -- lifecycle ------------------------------------------------------------------------------------

    def begin(self, shard: Shard) -> None:
        """Start the timeouts of a shard that was loaded."""
        for group in self.groups_in(shard.state).values():
            ctx = self.context(group.group_id)
            group.resume(ctx.now, ctx.settings.session_timeout_ms)
            self._resume(shard, group, ctx)
            self.write_in_background(shard, group)

    def end(self, shard: Shard) -> None:
        for group in self.groups_in(shard.state).values():
            self._stop_timeouts(group)

    def _groups(self, shards: Iterable[Shard]) -> list[tuple[Shard, G]]:
        return [(shard, group) for shard in shards for group in self.groups_in(shard.state).values()]

    # -- timeouts -------------------------------------------------------------------------------------

    def _schedule_timeouts(self, shard: Shard, group: G) -> None:
        if group.wake_at_ms < math.inf:
            self._shards[group] = shard
            self._deadlines.wake_by(group, group.wake_at_ms)

    def _stop_timeouts(self, group: G) -> None:
        """The group moved to another broker, or was converted to another kind."""
        self._shards.pop(group, None)

    def _on_deadline(self, group: G) -> float:
        shard = self._shards.pop(group, None)
        if shard is None:
            return math.inf
        late = group.timers.overdue(self._clock.monotonic_ms())
        if late:
            for member_id in late:
                log.info(
                    "Removing a member: its session or rebalance timed out. group=%s member=%s",
                    group.group_id,
                    member_id,
                )
            self._remove_members(shard, group, late, self.context(group.group_id))
        else:
            self._schedule_timeouts(shard, group)
        return group.wake_at_ms if group in self._shards else math.inf

    # -- writing --------------------------------------------------------------------------------------

    def _respond(
        self,
        shard: Shard,
        group: G,
        response: R,
        error_response: ErrorResponse[R],
        *,
        before: Change | None = None,
        after: Change | None = None,
    ) -> R | Reply[R]:
        """Write the changes, and respond when they and everything that the response shows are committed."""
        try:
            written = self.write(shard, group, before, after)
        except CoordinatorError as error:
            return error_response(error.code, error.message)
        if written is None:
            return response
        return Reply.after(written, partial(_response_of, response, error_response))

    def write_in_background(self, shard: Shard, group: G) -> None:
        """Write changes that no client waits for."""
        with contextlib.suppress(CoordinatorError):
            self.write(shard, group)

    def write(
        self, shard: Shard, group: G, before: Change | None = None, after: Change | None = None
    ) -> Completion[None] | None:
        """Write the group's outbox, between two other changes, and return when the shard's writes are committed.

        Raises `CoordinatorError`, and then undoes the changes of the group.
        """
        changes = [] if before is None else [before]
        if group.outbox:
            now_ms = self._clock.now_ms()
            records = [self.encode(record, now_ms) for record in group.outbox]
            changes.append(Change(records, partial(self._on_accepted, shard, group)))
        if after is not None:
            changes.append(after)
        try:
            written = shard.submit(combine_changes(changes)) if changes else shard.pending_commit()
        except CoordinatorError as error:
            self._roll_back(shard, group, error)
            raise
        self._on_submitted(shard, group)
        return written

    def _on_accepted(self, shard: Shard, group: G) -> None:
        self.groups_in(shard.state)[group.group_id] = group
        group.take_outbox()

    def _on_submitted(self, shard: Shard, group: G) -> None:
        self._schedule_timeouts(shard, group)

    def _roll_back(self, shard: Shard, group: G, error: CoordinatorError) -> None:
        log.info("Rolled back a change that the log refused: %s. group=%s", error, group.group_id)
        ctx = self.context(group.group_id)
        group.roll_back(ctx.now, ctx.settings.session_timeout_ms)
        if shard.is_loaded and self.groups_in(shard.state).get(group.group_id) is group:
            self._schedule_timeouts(shard, group)


def _response_of(response: R, error_response: ErrorResponse[R], written: Completion[None]) -> R:
    error = written.error
    return error_response(error.code, error.message) if isinstance(error, CoordinatorError) else response


def changed_topics(delta: MetadataDelta) -> set[str]:
    """Return the names of topics that were created or deleted, or have new partitions or other replicas."""
    changed = {topic.name for topic in (*delta.topics_created.values(), *delta.topics_deleted.values())}
    for change in delta.partitions.values():
        if change.before is None or change.before.replicas != change.after.replicas:
            changed.add(change.topic.name)
    return changed
