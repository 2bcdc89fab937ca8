"""Converts groups between the classic and the KIP-848 protocol while their members work."""

import msgspec
import pytest

from penstock.groups.base.errors import GroupError
from penstock.groups.classic.group import GroupSettings
from penstock.groups.classic.states import State
from penstock.groups.consumer import migration
from penstock.groups.consumer.consumer_protocol import decode_assignment
from tests.groups.base.driver import topic_id
from tests.groups.consumer.classic_driver import (
    CLASSIC_SESSION_MS,
    ClassicConsumer,
    assignment,
    classic_group,
    mixed,
    upgraded,
)
from tests.groups.consumer.driver import SETTINGS, Consumer, Driver, beat_until_stable


def test_members_keep_their_partitions_when_the_group_is_upgraded() -> None:
    driver = Driver(a=4)

    upgraded(driver, classic_group(c1=assignment(0, 1), c2=assignment(2, 3)))

    group = driver.group
    assert (group.epoch, group.assignment_epoch) == (1, 1)
    assert {m.member_id: dict(m.assigned) for m in group.members.values()} == {
        "c1": {topic_id("a"): {0: 1, 1: 1}},
        "c2": {topic_id("a"): {2: 1, 3: 1}},
    }
    assert Driver.replay(driver.log).members == group.members


def test_a_new_member_gets_only_partitions_that_classic_members_revoked() -> None:
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


def test_an_eager_member_revokes_everything_before_it_joins() -> None:
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
def test_a_group_of_another_protocol_type_is_not_upgraded(change: dict[str, str]) -> None:
    driver = Driver(a=4)
    classic = classic_group(c1=b"")
    if "protocol_type" in change:
        classic.protocol_type = "connect"
    else:
        classic.members["c1"].protocols = (("range", b"\0"),)

    with pytest.raises(GroupError) as refused:
        migration.upgrade(classic, driver.ctx)

    assert refused.value.code.name == "GROUP_ID_NOT_FOUND"


def test_the_migration_policy_may_forbid_an_upgrade() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, allows_upgrade=False), a=4)

    with pytest.raises(GroupError) as refused:
        migration.upgrade(classic_group(c1=assignment(0)), driver.ctx)

    assert refused.value.code.name == "GROUP_ID_NOT_FOUND"


def test_a_full_group_is_not_upgraded() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, size_max=1), a=4)

    with pytest.raises(GroupError) as refused:
        migration.upgrade(classic_group(c1=assignment(0)), driver.ctx)

    assert refused.value.code.name == "GROUP_MAX_SIZE_REACHED"


def test_a_static_classic_member_may_return_with_the_new_protocol() -> None:
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


def test_the_group_is_downgraded_when_its_last_consumer_protocol_member_leaves() -> None:
    driver, old, _ = mixed()
    assert not migration.can_downgrade(driver.group, SETTINGS)
    driver.leave("m1")
    assert migration.can_downgrade(driver.group, SETTINGS)

    classic = migration.downgrade(driver.group, GroupSettings(), driver.ctx)

    assert (classic.state, classic.generation) == (State.STABLE, driver.group.epoch)
    assert (classic.protocol_type, classic.protocol_name) == ("consumer", "range")
    member = classic.members["c1"]
    assert set(decode_assignment(member.assignment, driver.image)[topic_id("a")]) == old.held
    assert member.session_timeout_ms == CLASSIC_SESSION_MS


def test_a_downgraded_group_is_deleted_from_the_log() -> None:
    driver, _, _ = mixed()
    driver.leave("m1")

    gone = Driver.replay([*driver.log, *driver.group.tombstones()])

    assert (gone.members, gone.target, gone.assignment_epoch) == ({}, {}, -1)


@pytest.mark.parametrize("change", [{"allows_downgrade": False}, {"classic_size_max": 0}])
def test_a_group_is_not_downgraded_if_the_policy_forbids_it(change: dict[str, object]) -> None:
    driver, _, _ = mixed()
    driver.leave("m1")

    assert not migration.can_downgrade(driver.group, msgspec.structs.replace(SETTINGS, **change))


def test_an_empty_group_is_not_downgraded() -> None:
    driver, old, new = mixed()
    beat_until_stable(new)
    driver.leave(old.member_id)
    driver.leave(new.member_id)

    assert not migration.can_downgrade(driver.group, SETTINGS)
