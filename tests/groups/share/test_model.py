"""Random histories of a share group: clients miss responses, leave, freeze and return; topics are created, extended
and deleted; the share coordinator is slow or refuses; group coordinators fail over. No member ever gets a partition
that is not initialized, and at the end every partition is assigned and no member is idle. HISTORIES in the environment
sets their number.
"""

import contextlib
import os
from collections import Counter

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.groups.base.errors import GroupError
from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.groups.base.driver import SESSION_MS
from tests.groups.share.driver import SETTINGS, Consumer, Driver

TOPICS = ("a", "b", "c")
_picked = st.integers(0, 99)


class GroupModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.consumers: dict[str, Consumer] = {}
        self.names = 0

    @initialize(interval_ms=st.sampled_from([0, 1000]))
    def begin(self, interval_ms: int) -> None:
        self.driver = Driver(
            msgspec.structs.replace(SETTINGS, assignment_interval_ms=interval_ms), a=3, b=1, c=2
        )

    def pick(self, number: int) -> Consumer:
        return list(self.consumers.values())[number % len(self.consumers)]

    # -- what may happen ------------------------------------------------------------------------------

    @precondition(lambda self: len(self.consumers) < 7)
    @rule(topics=st.sets(st.sampled_from(TOPICS), min_size=1))
    def join(self, topics: set[str]) -> None:
        self.names += 1
        consumer = Consumer(self.driver, f"m{self.names}", *sorted(topics))
        self.consumers[consumer.member_id] = consumer
        self.heartbeat(consumer, consumer.request())

    @precondition(lambda self: self.consumers)
    @rule(number=_picked, hears=st.booleans())
    def report(self, number: int, hears: bool) -> None:
        consumer = self.pick(number)
        self.heartbeat(consumer, consumer.request(), hears=hears)

    @precondition(lambda self: self.consumers)
    @rule(number=_picked, topics=st.sets(st.sampled_from(TOPICS), min_size=1))
    def subscribe(self, number: int, topics: set[str]) -> None:
        consumer = self.pick(number)
        consumer.topics, consumer.sends_everything = sorted(topics), True
        self.heartbeat(consumer, consumer.request())

    @rule(topics=st.sets(st.sampled_from(TOPICS), min_size=1), number=_picked, leaves=st.booleans())
    def the_log_refuses(self, topics: set[str], number: int, leaves: bool) -> None:
        """A member joins, changes its subscription or leaves, and the write is refused."""
        everyone = [None, *self.consumers.values()]
        known = everyone[number % len(everyone)]
        consumer = known or Consumer(self.driver, "in vain")
        request = msgspec.structs.replace(consumer.request(), subscribed_topic_names=sorted(topics))
        self.driver.refuses = True
        with contextlib.suppress(GroupError):
            if known and leaves:
                self.driver.leave(known.member_id)
            else:
                self.driver.send(request)
        self.driver.refuses = False
        assert shown(self.driver.group) == shown(Driver.replay(self.driver.log))

    def heartbeat(
        self, consumer: Consumer, request: ShareGroupHeartbeatRequest, *, hears: bool = True
    ) -> None:
        try:
            answer = self.driver.send(request)
        except GroupError as refused:
            if refused.code is not ErrorCode.FENCED_MEMBER_EPOCH:
                raise
            consumer.join()
            return
        if not hears:
            consumer.sends_everything = True
            return
        consumer.receive(answer)
        if answer.assignment is not None:
            initialized = self.driver.group.state_partitions.initialized
            for each in answer.assignment.topic_partitions:
                topic = self.driver.image.topics_by_id.get(each.topic_id)
                if topic is not None:  # one that is gone may be taken away a now later (KIP-1263)
                    assert topic.name in consumer.topics
                    assert initialized[each.topic_id].issuperset(each.partitions)

    @precondition(lambda self: self.consumers)
    @rule(number=_picked)
    def leave(self, number: int) -> None:
        consumer = self.pick(number)
        self.driver.leave(consumer.member_id)
        del self.consumers[consumer.member_id]

    @precondition(lambda self: self.driver.asked)
    @rule(succeeds=st.booleans())
    def share_coordinator_answers(self, succeeds: bool) -> None:
        self.driver.share_coordinator_answers(succeeds=succeeds)

    @rule(delta_ms=st.sampled_from([100, 1000, SESSION_MS // 2]))
    def time_passes(self, delta_ms: int) -> None:
        for member_id in self.driver.advance(delta_ms):
            del self.consumers[member_id]

    @rule(topic=st.sampled_from(TOPICS), by=st.integers(1, 2))
    def topic_grows(self, topic: str, by: int) -> None:
        known = self.driver.image.topics.get(topic)
        count = by + (0 if known is None else len(known.partitions))
        self.driver.change_topics(**{topic: min(count, 8)})

    @rule(topic=st.sampled_from(TOPICS))
    def topic_is_deleted(self, topic: str) -> None:
        if topic in self.driver.image.topics:
            self.driver.change_topics(**{topic: 0})

    @rule()
    def coordinator_moves(self) -> None:
        """Another broker reads the log, and goes on."""
        before = shown(self.driver.group)
        self.driver.fail_over()
        assert shown(self.driver.group) == before

    # -- what must hold -------------------------------------------------------------------------------

    @invariant()
    def the_group_knows_its_members(self) -> None:
        if hasattr(self, "driver"):
            assert self.driver.group.members.keys() == self.consumers.keys()

    @invariant()
    def what_is_asked_for_is_in_the_log(self) -> None:
        if not hasattr(self, "driver"):
            return
        group = self.driver.group
        for each, partitions in group.in_flight.items():
            if each in self.driver.image.topics_by_id:
                written = group.state_partitions.initializing.get(each, frozenset())
                assert partitions <= written | group.state_partitions.initialized.get(each, frozenset())

    def teardown(self) -> None:
        if self.consumers:
            self.settle_all()

    def settle_all(self) -> None:
        for _ in range(6):
            while self.driver.asked:
                self.driver.share_coordinator_answers()
            self.driver.advance(1000)
            for consumer in self.consumers.values():
                self.heartbeat(consumer, consumer.request())
        assert shown(Driver.replay(self.driver.log)) == shown(self.driver.group), (
            "the log adds up to the group"
        )
        topics = self.driver.image.topics
        reads = {c.member_id: frozenset(c.topics).intersection(topics) for c in self.consumers.values()}
        readers = Counter(place for c in self.consumers.values() for place in c.held)
        wanted = {(name, p) for names in reads.values() for name in names for p in topics[name].partitions}
        assert readers.keys() == wanted, "nothing is left out"
        assert all(c.held for c in self.consumers.values() if reads[c.member_id]), "nobody is idle"
        if len(set(reads.values())) == 1 and wanted:
            loads = [len(c.held) for c in self.consumers.values()]
            assert max(loads) - min(loads) <= 1


def shown(group: ShareGroup) -> tuple[object, ...]:
    """Everything of a group that is in the log."""
    return (
        group.epoch,
        group.metadata_hash,
        group.assignment_epoch,
        group.assigned_at_ms,
        group.members,
        group.target,
        group.state_partitions,
        group.topic_names(),
    )


GroupModel.TestCase.settings = settings(
    max_examples=int(os.environ.get("HISTORIES", "60")), stateful_step_count=40, deadline=None
)
TestGroupModel = GroupModel.TestCase


def test_a_compacted_log_adds_up_to_the_same_group() -> None:
    """Of each key only the last record is left, wherever it stood."""
    driver = Driver(a=6)
    consumers = [Consumer(driver, f"m{n}").join() for n in range(3)]
    driver.share_coordinator_answers()
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

    assert shown(Driver.replay(compacted)) == shown(driver.group)
