"""Random histories of a KIP-848 group: clients that are slow, miss answers, leave, freeze and come back; topics that
are made, grow and go; coordinators that fail over. At no time do two members hold a partition, and when all is quiet
again nothing is left out and the loads are even. HISTORIES in the environment asks for more of them.
"""

import contextlib
import os
from collections import Counter

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.groups.base.epoch_group import GroupState
from penstock.groups.base.errors import GroupError
from penstock.groups.consumer.group import ConsumerGroup
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.groups.base.driver import SESSION_MS, TopicPartitions
from tests.groups.consumer.driver import SETTINGS, Consumer, Driver

TOPICS = ("a", "b", "c")
_picked = st.integers(0, 99)


class GroupModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.consumers: dict[str, Consumer] = {}
        self.away: dict[str, Consumer] = {}  # static members that left for a while
        self.names = 0

    @initialize(interval_ms=st.sampled_from([0, 1000]), assignor=st.sampled_from([None, "uniform", "range"]))
    def begin(self, interval_ms: int, assignor: str | None) -> None:
        self.assignor = assignor
        self.driver = Driver(
            msgspec.structs.replace(SETTINGS, assignment_interval_ms=interval_ms), a=5, b=2, c=3
        )

    def pick(self, number: int) -> Consumer:
        return list(self.consumers.values())[number % len(self.consumers)]

    def new_id(self) -> str:
        self.names += 1
        return f"m{self.names}"

    # -- what may happen ------------------------------------------------------------------------------

    @precondition(lambda self: len(self.consumers) < 7)
    @rule(topics=st.sets(st.sampled_from(TOPICS), min_size=1), is_static=st.booleans())
    def join(self, topics: set[str], is_static: bool) -> None:
        member_id = self.new_id()
        consumer = Consumer(
            self.driver,
            member_id,
            *sorted(topics),
            instance_id=f"i-{member_id}" if is_static else None,
            assignor=self.assignor,
        )
        self.consumers[member_id] = consumer.join()

    @precondition(lambda self: len(self.consumers) < 7)
    @rule(regex=st.sampled_from(["[ab]", "c|later.*", ".*"]))
    def join_with_a_pattern(self, regex: str) -> None:
        member_id = self.new_id()
        self.consumers[member_id] = Consumer(
            self.driver, member_id, regex=regex, assignor=self.assignor
        ).join()

    @precondition(lambda self: self.consumers)
    @rule(number=_picked, revokes=st.booleans(), says_what_it_holds=st.booleans(), hears=st.booleans())
    def report(self, number: int, revokes: bool, says_what_it_holds: bool, hears: bool) -> None:
        consumer = self.pick(number)
        request = consumer.request()
        if not says_what_it_holds and consumer.epoch and not consumer.sends_everything:
            request = msgspec.structs.replace(request, topic_partitions=None)
        self.heartbeat(consumer, request, revokes=revokes, hears=hears)

    @precondition(lambda self: self.consumers)
    @rule(number=_picked, topics=st.sets(st.sampled_from(TOPICS), min_size=1))
    def subscribe(self, number: int, topics: set[str]) -> None:
        consumer = self.pick(number)
        consumer.topics = sorted(topics)
        request = msgspec.structs.replace(consumer.request(), subscribed_topic_names=consumer.topics)
        self.heartbeat(consumer, request)

    @rule(topics=st.sets(st.sampled_from(TOPICS), min_size=1), number=_picked, leaves=st.booleans())
    def the_log_refuses(self, topics: set[str], number: int, leaves: bool) -> None:
        """A member joins, returns, changes its subscription or leaves, and the write is refused."""
        everyone = [None, *self.consumers.values(), *self.away.values()]
        known = everyone[number % len(everyone)]
        consumer = known or Consumer(self.driver, "in vain", regex="[ab]", instance_id="i-vain")
        request = msgspec.structs.replace(consumer.request(), subscribed_topic_names=sorted(topics))
        if consumer.member_id in self.away:
            consumer = Consumer(self.driver, "in vain", instance_id=consumer.instance_id)
            request = consumer.request()
        self.driver.refuses = True
        with contextlib.suppress(GroupError):
            if known and leaves:
                self.driver.leave(known.member_id, -1, known.instance_id)
            else:
                self.driver.send(request)
        self.driver.refuses = False
        assert shown(self.driver.group) == shown(self.driver.replayed())

    def heartbeat(
        self,
        consumer: Consumer,
        request: ConsumerGroupHeartbeatRequest,
        *,
        revokes: bool = True,
        hears: bool = True,
    ) -> None:
        try:
            answer = self.driver.send(request)
        except GroupError as refused:
            if refused.code is not ErrorCode.FENCED_MEMBER_EPOCH:
                raise
            consumer.join()
            return
        consumer.sends_everything = not hears
        if hears:
            consumer.receive(answer)
            if revokes:
                consumer.take_over()

    @precondition(lambda self: self.consumers)
    @rule(number=_picked)
    def obey_late(self, number: int) -> None:
        self.pick(number).take_over()

    @precondition(lambda self: self.consumers)
    @rule(number=_picked)
    def leave(self, number: int) -> None:
        consumer = self.pick(number)
        self.driver.leave(consumer.member_id, -1, consumer.instance_id)
        del self.consumers[consumer.member_id]

    @precondition(lambda self: any(c.instance_id for c in self.consumers.values()))
    @rule(number=_picked)
    def leave_temporarily(self, number: int) -> None:
        static = [c for c in self.consumers.values() if c.instance_id]
        consumer = static[number % len(static)]
        self.driver.leave(consumer.member_id, -2, consumer.instance_id)
        del self.consumers[consumer.member_id]
        self.away[consumer.member_id] = consumer

    @precondition(lambda self: self.away)
    @rule(number=_picked)
    def come_back(self, number: int) -> None:
        consumer = self.away.pop(list(self.away)[number % len(self.away)])
        consumer.member_id = self.new_id()
        self.consumers[consumer.member_id] = consumer.join()

    @rule(delta_ms=st.sampled_from([100, 1000, SESSION_MS // 2]))
    def time_passes(self, delta_ms: int) -> None:
        for member_id in self.driver.advance(delta_ms):
            self.consumers.pop(member_id, None)
            self.away.pop(member_id, None)

    @rule(topic=st.sampled_from([*TOPICS, "later"]), by=st.integers(1, 2))
    def topic_grows(self, topic: str, by: int) -> None:
        known = self.driver.image.topics.get(topic)
        count = by + (0 if known is None else len(known.partitions))
        self.driver.change_topics(**{topic: min(count, 8)})

    @rule(topic=st.sampled_from([*TOPICS, "later"]))
    def topic_is_deleted(self, topic: str) -> None:
        if topic in self.driver.image.topics:
            self.driver.change_topics(**{topic: 0})

    @rule()
    def coordinator_moves(self) -> None:
        """Another broker reads the log, and goes on."""
        group = self.driver.replayed()
        assert shown(group) == shown(self.driver.group)
        group.resume(self.driver.ctx.now, SESSION_MS)
        self.driver.group = group

    # -- what must hold -------------------------------------------------------------------------------

    @invariant()
    def nobody_holds_what_another_holds(self) -> None:
        held: TopicPartitions = set()
        for consumer in self.consumers.values():
            assert not held & consumer.held, f"{consumer.member_id} holds {held & consumer.held} of another"
            held |= consumer.held

    @invariant()
    def the_group_knows_its_members(self) -> None:
        if hasattr(self, "driver"):
            assert self.driver.group.members.keys() == self.consumers.keys() | self.away.keys()

    def teardown(self) -> None:
        if self.consumers:
            self.settle_all()

    def settle_all(self) -> None:
        assert shown(self.driver.replayed()) == shown(self.driver.group), "the log adds up to the group"
        for member_id, consumer in self.away.items():
            self.driver.leave(member_id, -1, consumer.instance_id)
        for _ in range(8):
            self.driver.advance(1000)
            for consumer in self.consumers.values():
                self.heartbeat(consumer, consumer.request())
                self.nobody_holds_what_another_holds()
        assert self.driver.group.state is GroupState.STABLE
        group, topics = self.driver.group, self.driver.image.topics
        wanted = {(name, p) for name in group.topic_names() & topics.keys() for p in topics[name].partitions}
        assert {place for c in self.consumers.values() for place in c.held} == wanted
        self.loads_are_even(group)

    def loads_are_even(self, group: ConsumerGroup) -> None:
        """As even as the assignor promises."""
        reads = {c.member_id: group.topics_of(group.members[c.member_id]) for c in self.consumers.values()}
        is_same = len(set(reads.values())) == 1
        if self.assignor == "range":
            if is_same:
                for name in self.driver.image.topics:
                    counts = Counter(
                        c.member_id for c in self.consumers.values() for n, _ in c.held if n == name
                    )
                    assert not counts or max(counts.values()) - min(counts[m] for m in reads) <= 1
            return
        for giver in self.consumers.values():
            for name, _ in giver.held:
                for taker in self.consumers.values():
                    if name in reads[taker.member_id]:
                        assert len(giver.held) - len(taker.held) <= 1


def shown(group: ConsumerGroup) -> tuple[object, ...]:
    """Everything of a group that is in the log."""
    owners = {
        (topic, p): group.owner(topic, p)
        for m in group.members.values()
        for holding in (m.assigned, m.revoking)
        for topic, each in holding.items()
        for p in each
    }
    return (
        group.epoch,
        group.metadata_hash,
        group.assignment_epoch,
        group.assigned_at_ms,
        group.members,
        group.static_members,
        group.target,
        group.regexes,
        group.state,
        group.topic_names(),
        owners,
    )


GroupModel.TestCase.settings = settings(
    max_examples=int(os.environ.get("HISTORIES", "60")), stateful_step_count=40, deadline=None
)
TestGroupModel = GroupModel.TestCase


def test_a_compacted_log_adds_up_to_the_same_group() -> None:
    """Of each key only the last record is left, wherever it stood."""
    driver = Driver(a=6)
    consumers = [Consumer(driver, f"m{n}").join() for n in range(3)]
    for _ in range(4):
        for consumer in consumers:
            consumer.beat()
    driver.leave("m1")
    consumers[0].beat()
    consumers[2].beat()

    compacted = [
        (key, value)
        for at, (key, value) in enumerate(driver.log)
        if value is not None and all(key != later for later, _ in driver.log[at + 1 :])
    ]
    group = Driver.replay(compacted)
    group.resume(driver.ctx.now, SESSION_MS)

    assert shown(group) == shown(driver.group)
