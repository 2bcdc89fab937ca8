import msgspec

from penstock.cluster.in_sync import Followers, WantedSet
from penstock.cluster.metadata.state import Partition

LAG_MS = 100
PARTITION = Partition(replicas=(1, 2, 3), isr=(1, 2, 3), leader=1, leader_epoch=4, partition_epoch=7)


def led(
    isr: tuple[int, ...] = (1, 2, 3),
    *,
    fit: tuple[int, ...] = (1, 2, 3),
    epoch_start: int = 0,
    elr: tuple[int, ...] = (),
) -> Followers:
    return Followers(
        1,
        msgspec.structs.replace(PARTITION, isr=isr, elr=elr),
        epoch_start=epoch_start,
        now_ms=0,
        lag_ms_max=LAG_MS,
        may_join=lambda broker_id, epoch: broker_id in fit and epoch == 50,
    )


def confirmed(followers: Followers, *isr: int) -> None:
    after = msgspec.structs.replace(PARTITION, isr=isr, partition_epoch=PARTITION.partition_epoch + 1)
    followers.follow(after, 0)


def members(wanted: WantedSet | None) -> list[int] | None:
    return None if wanted is None else [each for each, _ in wanted.members]


def test_the_high_watermark_is_the_end_of_the_slowest_in_sync_follower() -> None:
    followers = led()
    assert followers.high_watermark(10, 0, min_isr=1) is None  # no follower has fetched yet
    followers.fetched(2, 50, 10, 10, 1)
    followers.fetched(3, 50, 7, 10, 1)
    assert followers.high_watermark(10, 1, min_isr=1) == 7
    followers.fetched(3, 50, 12, 12, 2)
    assert followers.high_watermark(10, 2, min_isr=1) == 10  # its own disk counts too


def test_nothing_is_committed_while_too_few_are_in_sync() -> None:
    followers = led(isr=(1,))
    assert followers.high_watermark(10, 0, min_isr=2) is None
    assert followers.high_watermark(10, 0, min_isr=1) == 10


def test_nothing_is_committed_while_a_replica_that_is_not_in_sync_could_be_elected() -> None:
    """Whatever `min.insync.replicas` is here: the controller may use another value."""
    followers = led(isr=(1,), elr=(2,))
    assert followers.high_watermark(10, 0, min_isr=1) is None
    confirmed(followers, 1)
    assert followers.high_watermark(10, 0, min_isr=1) == 10


def test_no_more_replicas_need_to_be_in_sync_than_there_are() -> None:
    followers = led(isr=(1, 2))
    for each in (2, 3):
        followers.fetched(each, 50, 10, 10, 1)
    assert followers.high_watermark(10, 1, min_isr=4) is None
    confirmed(followers, 1, 2, 3)
    assert followers.high_watermark(10, 1, min_isr=4) == 10


def test_a_follower_that_lags_for_too_long_leaves_the_in_sync_set() -> None:
    followers = led()
    followers.fetched(2, 50, 10, 10, 50)
    followers.fetched(3, 50, 10, 10, 50)
    assert followers.wanted(10, 10, 1000) is None  # nothing new: an idle follower does not lag
    followers.fetched(2, 50, 20, 20, 140)
    assert followers.wanted(20, 10, 150) is None
    wanted = followers.wanted(20, 10, 151)
    assert wanted == WantedSet(members=((1, -1), (2, 50)), leader_epoch=4, partition_epoch=7)


def test_a_follower_that_fetches_committed_records_again_has_lost_them_and_leaves_at_once() -> None:
    followers = led()
    followers.fetched(2, 50, 10, 10, 50)
    followers.fetched(3, 50, 10, 10, 50)
    assert followers.high_watermark(10, 50, min_isr=1) == 10
    followers.fetched(3, 50, 9, 10, 51)
    assert members(followers.wanted(10, 10, 51)) == [1, 2]
    followers.fetched(3, 50, 10, 10, 52)
    assert followers.wanted(10, 10, 52) is None


def test_a_follower_that_is_always_a_little_behind_is_caught_up() -> None:
    followers = led()
    for step in range(1, 10):
        now_ms = step * 60
        followers.fetched(2, 50, step * 10 - 10, step * 10, now_ms)
        followers.fetched(3, 50, step * 10, step * 10, now_ms)
        assert followers.wanted(step * 10, 0, now_ms) is None


def test_a_follower_joins_once_it_has_all_committed_records() -> None:
    followers = led(isr=(1, 2))
    followers.fetched(2, 50, 10, 10, 1)
    followers.fetched(3, 50, 9, 10, 1)
    assert followers.wanted(10, 10, 1) is None
    followers.fetched(3, 50, 10, 12, 2)
    assert members(followers.wanted(12, 10, 2)) == [1, 2, 3]


def test_a_follower_joins_only_once_it_has_reached_the_start_of_the_leaders_epoch() -> None:
    followers = led(isr=(1,), epoch_start=10)
    followers.fetched(2, 50, 5, 10, 1)
    assert followers.wanted(10, 5, 1) is None


def test_a_fenced_broker_or_one_with_a_stale_epoch_does_not_join() -> None:
    followers = led(isr=(1, 2), fit=(1, 2))
    followers.fetched(3, 50, 10, 10, 1)
    followers.fetched(2, 50, 10, 10, 1)
    assert followers.wanted(10, 10, 1) is None
    stale = led(isr=(1, 2))
    stale.fetched(2, 50, 10, 10, 1)
    stale.fetched(3, 49, 10, 10, 1)
    assert stale.wanted(10, 10, 1) is None


def test_a_requested_member_counts_until_the_controller_has_decided() -> None:
    followers = led(isr=(1, 2))
    followers.fetched(2, 50, 10, 10, 1)
    followers.fetched(3, 50, 10, 10, 1)
    wanted = followers.wanted(10, 10, 1)
    assert wanted is not None
    followers.asked(wanted)
    assert followers.wanted(10, 10, 1) is None
    followers.fetched(2, 50, 20, 20, 500)
    assert followers.high_watermark(20, 500, min_isr=1) == 10
    followers.refused()
    assert followers.high_watermark(20, 500, min_isr=1) == 20


def test_a_replica_to_be_removed_counts_until_the_controller_has_decided() -> None:
    followers = led(isr=(1, 2))
    followers.fetched(2, 50, 5, 10, 1)
    wanted = followers.wanted(10, 5, 500)
    assert members(wanted) == [1]
    assert wanted is not None
    followers.asked(wanted)
    assert followers.high_watermark(10, 500, min_isr=1) == 5
    confirmed(followers, 1)
    assert followers.high_watermark(10, 500, min_isr=1) == 10


def test_the_high_watermark_waits_for_a_follower_that_is_joining() -> None:
    followers = led(isr=(1,))
    followers.fetched(2, 50, 10, 10, 1)
    assert followers.high_watermark(20, 2, min_isr=1) == 10
    assert followers.high_watermark(20, 500, min_isr=1) == 20


def test_an_older_decision_of_the_controller_changes_nothing() -> None:
    followers = led()
    followers.follow(msgspec.structs.replace(PARTITION, isr=(1,)), 0)
    assert followers.in_sync == {1, 2, 3}
    after = msgspec.structs.replace(PARTITION, replicas=(1, 2, 4), isr=(1, 2), partition_epoch=8)
    followers.follow(after, 0)
    assert followers.in_sync == {1, 2}
    assert 4 in followers
    assert 3 not in followers
    assert len(followers) == 2


def test_a_follower_has_ended_at_an_offset_when_it_has_fetched_there_since() -> None:
    followers = led(isr=(1, 2))
    followers.fetched(2, 50, 10, 10, 5)
    assert followers.have_ended_at(10, 4)
    assert not followers.have_ended_at(10, 5), "it may have got more records with the answer"
    assert not followers.have_ended_at(9, 4)
    followers.fetched(2, 50, 9, 9, 6)
    assert followers.have_ended_at(9, 5), "the other one is not in sync"
