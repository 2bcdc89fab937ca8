"""Transcripts of a KIP-848 group: the subscriptions of its members, and the target assignment."""

import msgspec

from penstock.groups.base.epoch_group import GroupState
from penstock.groups.consumer.states import MemberState
from tests.groups.base.driver import kinds
from tests.groups.consumer.driver import SETTINGS, Consumer, Driver, beat_until_stable

# -- subscriptions and topics -------------------------------------------------------------------------------


def test_a_changed_subscription_begins_a_new_epoch() -> None:
    driver = Driver(a=2, b=2)
    member = Consumer(driver, "m1", "a").join()

    request = msgspec.structs.replace(member.request(), subscribed_topic_names=["b"])
    member.receive(driver.send(request))
    member.take_over()
    member.beat()

    assert member.held == {("b", 0), ("b", 1)}
    assert member.epoch == driver.group.epoch == 2


def test_a_topic_that_grows_begins_a_new_epoch_at_the_next_heartbeat() -> None:
    driver = Driver(a=2)
    member = Consumer(driver, "m1").join()

    driver.change_topics(a=3)
    member.beat()

    assert (member.numbers, member.epoch) == ([0, 1, 2], 2)


def test_a_topic_created_later_is_assigned_and_a_deleted_one_is_not() -> None:
    driver = Driver(a=1)
    member = Consumer(driver, "m1", "a", "later").join()
    assert member.held == {("a", 0)}

    driver.change_topics(later=2)
    assert member.beat().held == {("a", 0), ("later", 0), ("later", 1)}

    driver.change_topics(a=0)
    assert member.beat().beat().held == {("later", 0), ("later", 1)}


def test_unsubscribed_topics_change_nothing() -> None:
    driver = Driver(a=1)
    member = Consumer(driver, "m1").join()

    driver.change_topics(other=5)
    member.beat()

    assert driver.written == []


def test_a_pattern_must_match_the_whole_topic_name() -> None:
    driver = Driver(orders=1, orders_eu=1, reorders=1)
    member = Consumer(driver, "m1", regex="orders(_..)?").join()
    assert member.held == {("orders", 0), ("orders_eu", 0)}

    driver.change_topics(orders_us=1, orders_=1)
    assert member.beat().held == {("orders", 0), ("orders_eu", 0), ("orders_us", 0)}

    driver.change_topics(orders_eu=0)
    assert member.beat().beat().held == {("orders", 0), ("orders_us", 0)}


def test_a_pattern_is_removed_with_its_last_subscriber() -> None:
    driver = Driver(a=1, b=1)
    first, second = Consumer(driver, "m1", regex="a").join(), Consumer(driver, "m2", regex="a").join()
    beat_until_stable(first, second)

    driver.leave("m1")
    assert set(driver.group.regexes) == {"a"}
    request = msgspec.structs.replace(
        second.request(), subscribed_topic_regex="", subscribed_topic_names=["b"]
    )
    second.receive(driver.send(request))
    assert "RegularExpression gone" in kinds(driver)
    second.take_over()
    assert second.beat().held == {("b", 0)}


def test_names_and_a_pattern_are_combined() -> None:
    driver = Driver(a=1, b=1, c=1)
    member = Consumer(driver, "m1", "a", regex="[ab]").join()

    assert member.held == {("a", 0), ("b", 0)}


# -- targets ------------------------------------------------------------------------------------------------


def test_members_that_join_together_share_one_target_assignment() -> None:
    """KIP-1263: between two targets there is an interval."""
    driver = Driver(msgspec.structs.replace(SETTINGS, assignment_interval_ms=1000), a=6)
    members = [Consumer(driver, f"m{n}").join() for n in range(3)]
    assert [len(m.held) for m in members] == [6, 0, 0]
    assert driver.group.state is GroupState.ASSIGNING
    assert driver.group.assignment_epoch == 1

    driver.advance(1000)
    beat_until_stable(*members)

    assert [len(m.held) for m in members] == [2, 2, 2]
    assert driver.group.assignment_epoch == 3


def test_a_member_revokes_unsubscribed_partitions_before_there_is_a_new_target() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, assignment_interval_ms=1000), a=1, b=1)
    member = Consumer(driver, "m1", "a", "b").join()

    request = msgspec.structs.replace(member.request(), subscribed_topic_names=["b"])
    member.receive(driver.send(request))

    assert member.assigned == {("b", 0)}
    assert driver.group.assignment_epoch == 1


def test_a_lone_member_that_restarts_need_not_wait_for_the_interval() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, assignment_interval_ms=1000), a=2)
    Consumer(driver, "m1").join()
    driver.leave("m1")

    assert Consumer(driver, "m2").join().numbers == [0, 1]


def test_the_assignor_that_most_members_prefer_is_used() -> None:
    driver = Driver(a=2, b=2)
    members = [Consumer(driver, f"m{n}", "a", "b", assignor="range").join() for n in range(2)]
    members.append(Consumer(driver, "m2", "a", "b", assignor="uniform").join())
    beat_until_stable(*members)

    assert [sorted(m.held) for m in members] == [[("a", 0), ("b", 0)], [("a", 1), ("b", 1)], []]


def test_the_state_of_each_member_is_in_the_log() -> None:
    driver = Driver(a=2)
    first = Consumer(driver, "m1").join()
    Consumer(driver, "m2").join()
    first.beat(revokes=False)

    states = {m.member_id: m.state for m in driver.replayed().members.values()}

    assert states == {"m1": MemberState.UNREVOKED_PARTITIONS, "m2": MemberState.UNRELEASED_PARTITIONS}
