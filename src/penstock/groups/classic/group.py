"""The data of a classic group and the small steps that the larger ones are made of.

Pure: no clock, no sockets, no files. What happens to a group is in `join`, `sync`, `membership` and `rebalance`; each
takes values, changes the group, and leaves instructions for the shell in `outbox`. A group waits by keeping deadlines:
`wake_at_ms` is never later than the earliest, and `rebalance.expire` acts on those that have passed.
"""

import math

import msgspec

from penstock.groups.classic.instructions import Answer, Instruction
from penstock.groups.classic.member import Member, Protocols
from penstock.groups.classic.states import TRANSITIONS, Event, State
from penstock.groups.classic.subscriptions import CONSUMER_PROTOCOL, subscribed_topics
from penstock.groups.moment import Moment
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.group_metadata_record import GroupMetadataValue
from penstock.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from penstock.protocol.messages.sync_group import SyncGroupResponse

NEVER = math.inf


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    size_max: int = 2**31 - 1
    initial_rebalance_delay_ms: int = 3000
    new_member_timeout_ms: int = 5 * 60 * 1000
    """How long a join of somebody who has no id yet is parked: nobody would hear if its client had gone."""


class InitialDelay(msgspec.Struct, frozen=True, gc=False):
    """An empty group gives others time to join: so much now, so much more as long as new ones come."""

    delay_ms: int
    remaining_ms: int


class ClassicGroup:
    __slots__ = (
        "_joining_count",
        "_known_by",
        "generation",
        "generation_assigned",
        "group_id",
        "initial_delay",
        "is_joined_by_others",
        "join_deadline_ms",
        "leader_id",
        "members",
        "outbox",
        "pending_members",
        "pending_syncs",
        "protocol_name",
        "protocol_type",
        "settings",
        "state",
        "state_since_ms",
        "static_members",
        "subscribed_topics",
        "sync_deadline_ms",
        "wake_at_ms",
    )

    def __init__(self, group_id: str, settings: GroupSettings, state_since_ms: int | None = None) -> None:
        self.group_id = group_id
        self.settings = settings
        self.state = State.EMPTY
        self.state_since_ms = state_since_ms
        self.generation = 0
        self.generation_assigned = (
            -1
        )  # the last one whose leader has brought an assignment, which is being written
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.pending_members: dict[
            str, float
        ] = {}  # deadlines of ids that were given out and not yet used (KIP-394)
        self.pending_syncs: set[str] = set()
        self.subscribed_topics: frozenset[str] | None = None
        self.join_deadline_ms: float = NEVER
        self.sync_deadline_ms: float = NEVER
        self.initial_delay: InitialDelay | None = None
        self.is_joined_by_others = False
        """Whether somebody joined since the initial delay was last measured."""
        self.wake_at_ms: float = NEVER
        self.outbox: list[Instruction] = []
        self._known_by: dict[str, int] = {}  # how many members know a protocol
        self._joining_count = 0

    # -- state ----------------------------------------------------------------------------------------

    def move(self, event: Event, moment: Moment) -> None:
        self.state = TRANSITIONS[self.state][event]
        self.state_since_ms = moment.wall_ms

    @property
    def can_rebalance(self) -> bool:
        return Event.REBALANCE_BEGINS in TRANSITIONS[self.state]

    @property
    def has_all_joined(self) -> bool:
        return len(self.members) == self._joining_count and not self.pending_members

    @property
    def joining_count(self) -> int:
        """How many members wait for the rebalance with a parked join."""
        return self._joining_count

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL  # they may be: nothing of theirs is touched
        return topic in self.subscribed_topics

    # -- members --------------------------------------------------------------------------------------

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Whether a request comes from a member; an older self of a static member is fenced (KIP-345)."""
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
        """Forget a member, or an id that nobody used yet. Whoever waits for an answer must have had it."""
        self.pending_members.pop(member_id, None)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        if member.join_ticket is not None:
            self._joining_count -= 1
        self._count_protocols(member.protocols, -1)
        if member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def replace_static(self, instance_id: str, new_member_id: str) -> Member:
        """Let a static member go on under a new id; its older self, if it still waits, is fenced."""
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
        """Whether a member with these protocols can take part."""
        if self.state is State.EMPTY:
            return bool(protocol_type) and bool(protocols)
        count = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._known_by.get(name, 0) == count for name, _ in protocols
        )

    def elect_protocol(self) -> str:
        """Of the protocols that every member knows, the one that most like best."""
        count = len(self.members)
        candidates = {name for name, known_by in self._known_by.items() if known_by == count}
        votes: dict[str, int] = {}
        for member in self.members.values():
            vote = member.vote(candidates)
            votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def read_subscriptions(self) -> None:
        """Find out which topics the group reads, where the broker can know it."""
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
            known_by = self._known_by.get(name, 0) + by
            if known_by:
                self._known_by[name] = known_by
            else:
                self._known_by.pop(name, None)

    # -- waiting and answering ------------------------------------------------------------------------

    def wake_by(self, deadline_ms: float) -> None:
        self.wake_at_ms = min(self.wake_at_ms, deadline_ms)

    def hear_of(self, member: Member, moment: Moment, timeout_ms: int | None = None) -> None:
        """Expect the next sign of life within the session timeout."""
        timeout_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.deadline_ms = moment.monotonic_ms + timeout_ms
        self.wake_by(member.deadline_ms)

    def park_join(self, member: Member, ticket: int) -> None:
        if member.join_ticket is None:
            self._joining_count += 1
        member.join_ticket = ticket

    def answer_join(self, member: Member, response: JoinGroupResponse) -> None:
        if member.join_ticket is not None:
            self.outbox.append(Answer(member.join_ticket, response))
            member.join_ticket = None
            self._joining_count -= 1

    def answer_sync(self, member: Member, response: SyncGroupResponse) -> bool:
        if member.sync_ticket is None:
            return False
        self.outbox.append(Answer(member.sync_ticket, response))
        member.sync_ticket = None
        return True

    def joined(self, member_id: str) -> JoinGroupResponse:
        """The answer to a member of the present generation: only its leader is told of the others."""
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

    # -- the record -----------------------------------------------------------------------------------

    def record(self, assignments: dict[str, bytes] | None = None) -> GroupMetadataValue:
        """The group as it is written to the log, with these assignments or those in force."""
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


def group_of_record(group_id: str, record: GroupMetadataValue, settings: GroupSettings) -> ClassicGroup:
    """The group as the log has it. Its members' deadlines begin with `rebalance.resume`."""
    group = ClassicGroup(group_id, settings)
    since_ms = record.current_state_timestamp
    group.state_since_ms = None if since_ms == -1 else since_ms
    group.state = State.STABLE if record.members else State.EMPTY
    group.generation = record.generation
    group.protocol_name = record.protocol
    group.leader_id = record.leader
    for each in record.members:
        group.add(Member.of_record(each, record.protocol), record.protocol_type or None)
    group.protocol_type = record.protocol_type or None
    group.read_subscriptions()
    return group
