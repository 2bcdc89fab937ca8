"""Drives one classic group as its shell would, with a clock that stands still until it is moved."""

from collections.abc import Mapping

from penstock.groups.base.instant import Instant
from penstock.groups.classic import join, membership, rebalance, sync
from penstock.groups.classic.group import ClassicGroup, GroupSettings
from penstock.groups.classic.instructions import Answer, AssignmentOf, Store
from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.group_metadata_record import GroupMetadataValue
from penstock.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.protocol.messages.leave_group import MemberIdentity
from penstock.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

RANGE = {"range": b"sub"}
BEGAN_MS = 1_000_000
DELAY_MS = 3000
SESSION_MS = 10_000
REBALANCE_MS = 60_000


class Driver:
    """A request returns a ticket; `answer(ticket)` is its response, None while it is parked."""

    def __init__(self, *, stores_at_once: bool = True, settings: GroupSettings | None = None) -> None:
        self.group = ClassicGroup("g", settings or GroupSettings(initial_rebalance_delay_ms=DELAY_MS))
        self.now_ms = BEGAN_MS
        self.stores_at_once = stores_at_once
        self.stores: list[Store] = []
        self.log: list[GroupMetadataValue] = []
        self._answers: dict[int, JoinGroupResponse | SyncGroupResponse] = {}
        self._next_ticket = 0

    # -- time -----------------------------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        return Instant(float(self.now_ms), self.now_ms)

    def advance(self, delta_ms: int) -> None:
        """Move the clock, stopping wherever the group wants to be woken."""
        end_ms = self.now_ms + delta_ms
        while self.group.wake_at_ms <= end_ms:
            self.now_ms = max(self.now_ms, int(self.group.wake_at_ms))
            rebalance.expire(self.group, self.now)
            self._perform()
        self.now_ms = end_ms

    # -- requests -------------------------------------------------------------------------------------

    def join(
        self,
        member_id: str = "",
        *,
        new_id: str = "",
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        requires_member_id: bool = False,
        may_skip_assignment: bool = True,
    ) -> int:
        ticket = self._ticket()
        request = JoinGroupRequest(
            group_id="g",
            member_id=member_id,
            group_instance_id=instance_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=n, metadata=m) for n, m in protocols.items()],
        )
        joiner = join.Joiner(
            ticket=ticket,
            client_id="client",
            client_host="/127.0.0.1",
            new_member_id=new_id or f"m{ticket}",
            requires_member_id=requires_member_id,
            may_skip_assignment=may_skip_assignment,
        )
        join.join(self.group, request, joiner, self.now)
        self._perform()
        return ticket

    def sync(
        self,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> int:
        ticket = self._ticket()
        request = SyncGroupRequest(
            group_id="g",
            member_id=member_id,
            generation_id=self.group.generation if generation is None else generation,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=a) for m, a in (assignments or {}).items()
            ],
        )
        sync.sync(self.group, request, ticket)
        self._perform()
        return ticket

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance_id: str | None = None
    ) -> ErrorCode:
        wanted = self.group.generation if generation is None else generation
        code = membership.heartbeat(self.group, member_id, instance_id, wanted, self.now)
        self._perform()
        return code

    def leave(self, *members: str | MemberIdentity) -> list[ErrorCode]:
        leaving = [m if isinstance(m, MemberIdentity) else MemberIdentity(member_id=m) for m in members]
        left = membership.leave(self.group, leaving, self.now)
        self._perform()
        return [ErrorCode(each.error_code) for each in left]

    def end(self, code: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        rebalance.end(self.group, code, self.now)
        self._perform()

    # -- answers --------------------------------------------------------------------------------------

    def answer(self, ticket: int) -> JoinGroupResponse | SyncGroupResponse | None:
        return self._answers.get(ticket)

    def joined(self, ticket: int) -> JoinGroupResponse:
        answer = self._answers[ticket]
        assert isinstance(answer, JoinGroupResponse)
        return answer

    def synced(self, ticket: int) -> SyncGroupResponse:
        answer = self._answers[ticket]
        assert isinstance(answer, SyncGroupResponse)
        return answer

    def error(self, ticket: int) -> ErrorCode:
        return ErrorCode(self._answers[ticket].error_code)

    # -- the log --------------------------------------------------------------------------------------

    def store_next(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Complete the group's oldest pending write."""
        store = self.stores.pop(0)
        if not code:
            self.log.append(store.value)
        if isinstance(store.then, AssignmentOf):
            if code:
                sync.assignment_not_stored(self.group, store.then, code, self.now)
            else:
                sync.assignment_stored(self.group, store.then, self.now)
        elif store.then is not None:
            if code:
                join.replacement_not_stored(self.group, store.then, code)
            else:
                join.replacement_stored(self.group, store.then)
        self._perform()

    # -- whole scenes ---------------------------------------------------------------------------------

    def stable(self, *member_ids: str, instance_ids: Mapping[str, str] | None = None) -> "Driver":
        """Bring these together into a stable generation; the first leads and each is assigned its own name."""
        instances = instance_ids or {}
        tickets = {each: self.join(new_id=each, instance_id=instances.get(each)) for each in member_ids}
        while self.group.state is State.PREPARING_REBALANCE:
            self.advance(1000)
        assert all(not self.error(ticket) for ticket in tickets.values())
        self.sync_all()
        return self

    def sync_all(self) -> dict[str, int]:
        """Every member syncs, the leader last."""
        leader = self.group.leader_id
        assert leader is not None
        tickets = {m: self.sync(m) for m in self.group.members if m != leader}
        tickets[leader] = self.sync(leader, {m: m.encode() for m in self.group.members})
        if self.stores_at_once:
            assert self.group.state is State.STABLE
        return tickets

    def _ticket(self) -> int:
        self._next_ticket += 1
        return self._next_ticket

    def _perform(self) -> None:
        for instruction in self.group.take_outbox():
            if isinstance(instruction, Answer):
                assert instruction.ticket not in self._answers, "answered twice"
                self._answers[instruction.ticket] = instruction.response
            else:
                self.stores.append(instruction)
        while self.stores and self.stores_at_once:
            self.store_next()
