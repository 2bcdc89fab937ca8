"""Classic and KIP-848 members in one group: from one kind to the other and back while it works."""

from collections.abc import Iterable

import msgspec
import pytest

from penstock.groups.classic.group import ClassicGroup, GroupSettings
from penstock.groups.classic.states import State
from penstock.groups.consumer import classic_members, migration
from penstock.groups.consumer.classic_members import Joiner
from penstock.groups.consumer.embedded import decode_assignment
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.heartbeat import Client
from penstock.groups.consumer.states import MemberState
from penstock.protocol.messages import consumer_protocol_assignment, consumer_protocol_subscription
from penstock.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from penstock.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from penstock.protocol.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.protocol.messages.leave_group import MemberIdentity
from penstock.protocol.messages.sync_group import SyncGroupRequest
from tests.groups.classic.driver import Driver as ClassicDriver
from tests.groups.consumer.driver import REBALANCE_MS, SETTINGS, Consumer, Driver, replay, settle, topic_id

CLASSIC_SESSION_MS = 10_000


def subscription(*topics: str, owned: Iterable[int] = (), version: int = 1) -> bytes:
    said = ConsumerProtocolSubscription(
        topics=list(topics),
        owned_partitions=[TopicPartition(topic="a", partitions=sorted(owned))] if owned else [],
    )
    return version.to_bytes(2, "big") + consumer_protocol_subscription.encode(said, version)


def assignment(*partitions: int) -> bytes:
    given = ConsumerProtocolAssignment(
        assigned_partitions=[AssignedTopic(topic="a", partitions=list(partitions))]
    )
    return b"\0\1" + consumer_protocol_assignment.encode(given, 1)


def classic_group(**assignments: bytes) -> ClassicGroup:
    """A stable group of generation 1, each member with its assignment."""
    driver = ClassicDriver()
    tickets = {
        name: driver.join(new_id=name, protocols={"range": subscription("a")}, session_ms=CLASSIC_SESSION_MS)
        for name in assignments
    }
    while driver.group.state is State.PREPARING_REBALANCE:
        driver.advance(1000)
    assert all(not driver.error(ticket) for ticket in tickets.values())
    leader = driver.group.leader_id
    assert leader is not None
    driver.sync(leader, assignments)
    return driver.group


def upgraded(driver: Driver, classic: ClassicGroup) -> None:
    driver.group = migration.upgraded(classic, driver.now)
    driver.log = driver.group.take_outbox()


class ClassicConsumer:
    """A cooperative classic member: joins when it is told to, with what it holds."""

    def __init__(self, driver: Driver, member_id: str, instance_id: str | None = None) -> None:
        self.driver = driver
        self.member_id = member_id
        self.instance_id = instance_id
        self.generation = 1
        self.held: set[int] = set()

    def join(self, **more: object) -> JoinGroupResponse:
        metadata = subscription("a", owned=self.held)
        request = JoinGroupRequest(
            group_id="g",
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            session_timeout_ms=CLASSIC_SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        request = msgspec.structs.replace(request, **more)
        joiner = Joiner(Client("classic", "/127.0.0.1"), "new-id", must_know_its_id=True)
        answer = classic_members.join(self.driver.group, request, joiner, self.driver.now)
        self.driver._take()
        if not answer.error_code:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self) -> set[int]:
        request = SyncGroupRequest(
            group_id="g",
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name="range",
        )
        answer = classic_members.sync(self.driver.group, request, self.driver.now)
        given = decode_assignment(answer.assignment, self.driver.image)
        self.held = set(given.get(topic_id("a"), ()))
        return self.held

    def beat(self) -> str:
        request = HeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            generation_id=self.generation,
        )
        code = classic_members.heartbeat(self.driver.group, request, self.driver.now)
        self.driver._take()
        return code.name

    def work(self) -> None:
        """One heartbeat, and what follows from it."""
        if self.beat() == "REBALANCE_IN_PROGRESS":
            self.join()
            self.sync()


def mixed() -> tuple[Driver, ClassicConsumer, Consumer]:
    """A group of one classic and one new member, at rest."""
    driver = Driver(a=4)
    upgraded(driver, classic_group(c1=assignment(0, 1, 2, 3)))
    old = ClassicConsumer(driver, "c1")
    old.held = {0, 1, 2, 3}
    new = Consumer(driver, "m1").join()
    for _ in range(4):
        old.work()
        new.beat()
    return driver, old, new


# -- there --------------------------------------------------------------------------------------------------


def test_members_keep_what_they_hold_when_the_group_is_upgraded() -> None:
    driver = Driver(a=4)

    upgraded(driver, classic_group(c1=assignment(0, 1), c2=assignment(2, 3)))

    group = driver.group
    assert (group.epoch, group.assignment_epoch) == (1, 1)
    assert {m.member_id: dict(m.assigned) for m in group.members.values()} == {
        "c1": {topic_id("a"): {0: 1, 1: 1}},
        "c2": {topic_id("a"): {2: 1, 3: 1}},
    }
    assert replay(driver.log).members == group.members


def test_a_new_member_gets_only_what_classic_ones_gave_up() -> None:
    driver = Driver(a=4)
    upgraded(driver, classic_group(c1=assignment(0, 1), c2=assignment(2, 3)))
    one, two = ClassicConsumer(driver, "c1"), ClassicConsumer(driver, "c2")
    one.held, two.held = {0, 1}, {2, 3}

    new = Consumer(driver, "m1").join()
    assert new.numbers == []
    for _ in range(4):
        for each in (one, two):
            each.work()
        new.beat()
        held = [*one.held, *two.held, *new.numbers]
        assert len(held) == len(set(held)), "nothing is held twice"

    assert sorted(held) == [0, 1, 2, 3]
    assert new.numbers


def test_an_eager_member_gives_up_everything_before_it_joins() -> None:
    driver = Driver(a=4)
    upgraded(driver, classic_group(c1=assignment(0, 1, 2, 3)))
    eager = ClassicConsumer(driver, "c1")
    new = Consumer(driver, "m1").join()

    assert eager.beat() == "REBALANCE_IN_PROGRESS"
    eager.join()
    assert len(eager.sync()) == 2
    assert eager.beat() == "NONE"

    assert sorted([*eager.held, *new.beat().numbers]) == [0, 1, 2, 3]


@pytest.mark.parametrize("change", [{"protocol_type": "connect"}, {"members": "bad"}])
def test_a_group_that_is_not_of_consumers_is_not_upgraded(change: dict[str, str]) -> None:
    driver = Driver(a=4)
    classic = classic_group(c1=b"")
    if "protocol_type" in change:
        classic.protocol_type = "connect"
    else:
        classic.members["c1"].protocols = (("range", b"\0"),)

    with pytest.raises(Refused) as refused:
        migration.upgraded(classic, driver.now)

    assert refused.value.code.name == "GROUP_ID_NOT_FOUND"


def test_the_policy_may_forbid_it() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, allows_upgrade=False), a=4)

    with pytest.raises(Refused) as refused:
        migration.upgraded(classic_group(c1=assignment(0)), driver.now)

    assert refused.value.code.name == "GROUP_ID_NOT_FOUND"


def test_a_group_that_is_full_is_not_upgraded() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, size_max=1), a=4)

    with pytest.raises(Refused) as refused:
        migration.upgraded(classic_group(c1=assignment(0)), driver.now)

    assert refused.value.code.name == "GROUP_MAX_SIZE_REACHED"


# -- together -----------------------------------------------------------------------------------------------


def test_a_classic_newcomer_is_told_its_id_first() -> None:
    driver, _, _ = mixed()
    newcomer = ClassicConsumer(driver, "")

    answer = newcomer.join()
    assert (answer.error_code, answer.member_id) == (79, "new-id")
    assert "new-id" not in driver.group.members

    newcomer.member_id = answer.member_id
    assert not newcomer.join().error_code
    assert "new-id" in driver.group.members


def test_a_classic_member_is_not_told_to_join_while_there_is_nothing_to_get() -> None:
    driver, old, new = mixed()
    newcomer = ClassicConsumer(driver, "c2")
    newcomer.join()
    newcomer.sync()
    assert driver.group.members["c2"].state is MemberState.UNRELEASED_PARTITIONS
    assert newcomer.beat() == "NONE"

    for _ in range(3):
        old.work()
        new.beat()
    assert newcomer.beat() == "REBALANCE_IN_PROGRESS"
    newcomer.join()

    assert sorted([*old.held, *new.numbers, *newcomer.sync()]) == [0, 1, 2, 3]


def test_a_classic_member_learns_of_new_partitions() -> None:
    driver, old, new = mixed()

    driver.change_topics(a=6)
    for _ in range(3):
        old.work()
        new.beat()

    assert sorted([*old.held, *new.numbers]) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"protocol_type": "connect"}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocols": [JoinGroupRequestProtocol(name="other")]}, "INCONSISTENT_GROUP_PROTOCOL"),
        (
            {"protocols": [JoinGroupRequestProtocol(name="range", metadata=b"\0")]},
            "INCONSISTENT_GROUP_PROTOCOL",
        ),
        ({"member_id": "c9", "group_instance_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
    ],
)
def test_classic_joins_that_do_not_fit_are_refused(change: dict[str, object], code: str) -> None:
    driver, _, _ = mixed()

    with pytest.raises(Refused) as refused:
        ClassicConsumer(driver, "c2").join(**change)

    assert refused.value.code.name == code
    assert driver.group.take_outbox() == []


def test_an_older_generation_is_refused() -> None:
    _, old, _ = mixed()
    old.generation -= 1

    for request in (old.beat, old.sync):
        with pytest.raises(Refused) as refused:
            request()
        assert refused.value.code.name == "ILLEGAL_GENERATION"


def test_a_sync_that_comes_after_the_next_rebalance_began_is_refused() -> None:
    driver, old, _ = mixed()
    old.join()
    driver.leave("m1")

    with pytest.raises(Refused) as refused:
        old.sync()

    assert refused.value.code.name == "REBALANCE_IN_PROGRESS"


def test_members_of_the_new_protocol_do_not_speak_the_classic_one() -> None:
    driver, _, new = mixed()
    impostor = ClassicConsumer(driver, "m1")
    impostor.generation = new.epoch

    with pytest.raises(Refused) as refused:
        impostor.beat()

    assert refused.value.code.name == "UNKNOWN_MEMBER_ID"


def test_a_classic_member_that_does_not_join_in_time_is_removed() -> None:
    driver, old, new = mixed()
    Consumer(driver, "m2").join()
    removed = []
    for _ in range(REBALANCE_MS // 5000):
        assert old.beat() == "REBALANCE_IN_PROGRESS"
        new.beat()
        removed += driver.advance(5000)

    assert "c1" in removed


def test_a_classic_member_that_does_not_sync_in_time_is_removed() -> None:
    driver, old, new = mixed()
    old.join()
    removed = []
    for _ in range(REBALANCE_MS // 5000):
        assert old.beat() == "NONE"
        new.beat()
        removed += driver.advance(5000)

    assert removed == ["c1"]


def test_a_classic_session_is_as_long_as_the_member_said() -> None:
    driver, _, new = mixed()

    driver.advance(CLASSIC_SESSION_MS - 1)
    new.beat()

    assert driver.advance(1) == ["c1"]


def test_classic_members_leave_by_their_own_request() -> None:
    driver, _, new = mixed()
    leaving = [MemberIdentity(member_id=each) for each in ("c1", "c1", "m1", "nobody")]

    answers = classic_members.leave(driver.group, leaving, driver.now)
    driver._take()

    assert [each.error_code for each in answers] == [0, 25, 25, 25]
    assert new.beat().numbers == [0, 1, 2, 3]


def test_a_static_classic_member_may_come_back_as_a_new_one() -> None:
    driver, old, new = mixed()
    static = ClassicConsumer(driver, "", instance_id="one")
    static.join()
    for _ in range(4):
        static.work()
        old.work()
        new.beat()
    held = static.held or static.sync()

    again = Consumer(driver, "m2", instance_id="one").join()

    assert set(again.numbers) == held
    assert static.member_id not in driver.group.members


# -- and back -----------------------------------------------------------------------------------------------


def test_the_group_is_classic_again_when_the_last_new_member_goes() -> None:
    driver, old, _ = mixed()
    assert not migration.can_downgrade(driver.group, SETTINGS)
    driver.leave("m1")
    assert migration.can_downgrade(driver.group, SETTINGS)

    classic = migration.downgraded(driver.group, GroupSettings(), driver.now)

    assert (classic.state, classic.generation) == (State.STABLE, driver.group.epoch)
    assert (classic.protocol_type, classic.protocol_name) == ("consumer", "range")
    member = classic.members["c1"]
    assert set(decode_assignment(member.assignment, driver.image)[topic_id("a")]) == old.held
    assert member.session_timeout_ms == CLASSIC_SESSION_MS


def test_the_log_forgets_a_group_that_became_classic() -> None:
    driver, _, _ = mixed()
    driver.leave("m1")

    gone = replay([*driver.log, *driver.group.tombstones()])

    assert (gone.members, gone.target, gone.assignment_epoch) == ({}, {}, -1)


@pytest.mark.parametrize("change", [{"allows_downgrade": False}, {"classic_size_max": 0}])
def test_a_group_stays_when_it_may_not_be_classic(change: dict[str, object]) -> None:
    driver, _, _ = mixed()
    driver.leave("m1")

    assert not migration.can_downgrade(driver.group, msgspec.structs.replace(SETTINGS, **change))


def test_an_empty_group_is_of_no_kind() -> None:
    driver, old, new = mixed()
    settle(new)
    driver.leave(old.member_id)
    driver.leave(new.member_id)

    assert not migration.can_downgrade(driver.group, SETTINGS)
