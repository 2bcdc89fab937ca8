"""The data of a classic group and its elementary steps.

Pure: no clock, no sockets, no files. `join`, `sync`, `membership` and `rebalance` change a group, and leave
instructions for its caller in `outbox`. A group waits by deadlines: `wake_at_ms` is never later than the earliest, and
`rebalance.expire` handles those that have passed.
"""

import math
from collections import Counter

import msgspec

from penstock.groups.base.instant import Instant
from penstock.groups.classic.instructions import Answer, Instruction
from penstock.groups.classic.member import Member, Protocols, restore_member
from penstock.groups.classic.states import TRANSITIONS, Event, State
from penstock.groups.classic.subscriptions import CONSUMER_PROTOCOL, subscribed_topics
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.group_metadata_record import GroupMetadataValue
from penstock.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from penstock.protocol.messages.sync_group import SyncGroupResponse

NEVER = math.inf


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    size_max: int = 2**31 - 1
    initial_rebalance_delay_ms: int = 3000
    new_member_timeout_ms: int = 5 * 60 * 1000
    """The time that the join of a member without an id is parked: nothing shows whether its client is still there."""


class InitialDelay(msgspec.Struct, frozen=True, gc=False):
    """An empty group waits for more members: this long now, and this much longer while new ones join."""

    delay_ms: int
    remaining_ms: int


class ClassicGroup(msgspec.Struct, eq=False):
    group_id: str
    settings: GroupSettings
    state_since_ms: int | None = None
    state: State = State.EMPTY
    generation: int = 0
    generation_assigned: int = -1
    """The last generation whose leader has sent an assignment, which is being written."""
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, Member] = msgspec.field(default_factory=dict)
    static_members: dict[str, str] = msgspec.field(default_factory=dict)
    """Member ids by instance id."""
    pending_members: dict[str, float] = msgspec.field(default_factory=dict)
    """Deadlines of ids that clients have received and not used yet (KIP-394)."""
    pending_syncs: set[str] = msgspec.field(default_factory=set)
    subscribed_topics: frozenset[str] | None = None
    join_deadline_ms: float = NEVER
    sync_deadline_ms: float = NEVER
    initial_delay: InitialDelay | None = None
    has_new_joins: bool = False
    """Whether a member joined since the initial delay was last extended."""
    wake_at_ms: float = NEVER
    outbox: list[Instruction] = msgspec.field(default_factory=list)
    joining_count: int = 0
    """The number of members that wait for the rebalance with a parked join."""
    _supporter_counts: Counter[str] = msgspec.field(
        default_factory=Counter
    )  # members that support a protocol

    # -- state ----------------------------------------------------------------------------------------

    def move(self, event: Event, now: Instant) -> None:
        self.state = TRANSITIONS[self.state][event]
        self.state_since_ms = now.wall_ms

    @property
    def can_rebalance(self) -> bool:
        return Event.REBALANCE_BEGINS in TRANSITIONS[self.state]

    @property
    def has_all_joined(self) -> bool:
        return len(self.members) == self.joining_count and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL  # it may be: its offsets are kept
        return topic in self.subscribed_topics

    # -- members --------------------------------------------------------------------------------------

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Check that a request comes from a member. Fences the previous id of a static member (KIP-345)."""
        if instance_id is not None:
            known_id = self.static_members.get(instance_id)
            if known_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: Member, protocol_type: str | None) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending_members.pop(member.member_id, None)
        self._count_protocols(member.protocols, 1)

    def update(self, member: Member, protocols: Protocols, session_ms: int, rebalance_ms: int) -> None:
        self._count_protocols(member.protocols, -1)
        member.protocols = protocols
        self._count_protocols(protocols, 1)
        member.session_timeout_ms = session_ms
        member.rebalance_timeout_ms = rebalance_ms

    def remove(self, member_id: str) -> None:
        """Remove a member, or an unused id. Its parked requests must have been answered."""
        self.pending_members.pop(member_id, None)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        if member.join_ticket is not None:
            self.joining_count -= 1
        self._count_protocols(member.protocols, -1)
        if member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def replace_static(self, instance_id: str, new_member_id: str) -> Member:
        """Let a static member continue under a new id. Parked requests of the old id are fenced."""
        old_member_id = self.static_members[instance_id]
        member = self.members.pop(old_member_id)
        self.answer_join(member, refused_join(old_member_id, ErrorCode.FENCED_INSTANCE_ID))
        self.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        member.member_id = new_member_id
        member.is_new = False
        if old_member_id in self.pending_syncs:
            self.pending_syncs.remove(old_member_id)
            self.pending_syncs.add(new_member_id)
        self.members[new_member_id] = member
        self.static_members[instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        return member

    # -- protocols ------------------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols can join."""
        if self.state is State.EMPTY:
            return bool(protocol_type) and bool(protocols)
        count = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._supporter_counts.get(name, 0) == count for name, _ in protocols
        )

    def elect_protocol(self) -> str:
        """Return the protocol with most votes among those that every member supports."""
        count = len(self.members)
        candidates = {name for name, supporters in self._supporter_counts.items() if supporters == count}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=lambda name: votes[name])

    def read_subscriptions(self) -> None:
        """Find out the subscribed topics, if the broker understands the members' metadata."""
        if self.protocol_type != CONSUMER_PROTOCOL:
            self.subscribed_topics = None
        elif not self.members:
            self.subscribed_topics = frozenset()
        elif self.protocol_name is None:
            self.subscribed_topics = None
        else:
            self.subscribed_topics = subscribed_topics(
                m.metadata(self.protocol_name) for m in self.members.values()
            )

    def _count_protocols(self, protocols: Protocols, by: int) -> None:
        for name, _ in protocols:
            self._supporter_counts[name] += by
            if not self._supporter_counts[name]:
                del self._supporter_counts[name]

    # -- waiting and answering ------------------------------------------------------------------------

    def wake_by(self, deadline_ms: float) -> None:
        self.wake_at_ms = min(self.wake_at_ms, deadline_ms)

    def restart_session(self, member: Member, now: Instant, timeout_ms: int | None = None) -> None:
        """Expect the next heartbeat within the session timeout."""
        timeout_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.deadline_ms = now.monotonic_ms + timeout_ms
        self.wake_by(member.deadline_ms)

    def park_join(self, member: Member, ticket: int) -> None:
        if member.join_ticket is None:
            self.joining_count += 1
        member.join_ticket = ticket

    def answer_join(self, member: Member, response: JoinGroupResponse) -> None:
        if member.join_ticket is not None:
            self.outbox.append(Answer(member.join_ticket, response))
            member.join_ticket = None
            self.joining_count -= 1

    def answer_sync(self, member: Member, response: SyncGroupResponse) -> bool:
        if member.sync_ticket is None:
            return False
        self.outbox.append(Answer(member.sync_ticket, response))
        member.sync_ticket = None
        return True

    def join_response(self, member_id: str) -> JoinGroupResponse:
        """Return the response to a member of the current generation: only the leader gets the member list."""
        is_leader = member_id == self.leader_id
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader_id or "",
            member_id=member_id,
            members=self.member_list() if is_leader else [],
        )

    def member_list(self) -> list[JoinGroupResponseMember]:
        return [
            JoinGroupResponseMember(
                member_id=m.member_id,
                group_instance_id=m.instance_id,
                metadata=m.metadata(self.protocol_name),
            )
            for m in self.members.values()
        ]

    def take_outbox(self) -> list[Instruction]:
        taken, self.outbox = self.outbox, []
        return taken

    def record(self, assignments: dict[str, bytes] | None = None) -> GroupMetadataValue:
        """Return the group's record, with these assignments or the current ones."""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp=-1 if self.state_since_ms is None else self.state_since_ms,
            members=[
                m.record(
                    self.protocol_name,
                    m.assignment if assignments is None else assignments.get(m.member_id, b""),
                )
                for m in self.members.values()
            ],
        )


def refused_join(member_id: str, code: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=None)


def restore_group(group_id: str, record: GroupMetadataValue, settings: GroupSettings) -> ClassicGroup:
    """Return the group of a record. The session timeouts start with `rebalance.resume`."""
    since_ms = record.current_state_timestamp
    group = ClassicGroup(
        group_id,
        settings,
        None if since_ms == -1 else since_ms,
        state=State.STABLE if record.members else State.EMPTY,
        generation=record.generation,
        protocol_name=record.protocol,
        leader_id=record.leader,
    )
    for each in record.members:
        group.add(restore_member(each, record.protocol), record.protocol_type or None)
    group.protocol_type = record.protocol_type or None
    group.read_subscriptions()
    return group
