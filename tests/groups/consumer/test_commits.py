"""Which members may commit and fetch offsets of a KIP-848 group."""

import pytest

from penstock.groups.consumer.commits import check_commit, check_fetch
from penstock.groups.consumer.group import ConsumerGroup
from tests.groups.base.driver import topic_id
from tests.groups.consumer.driver import Consumer, Driver, beat_until_stable

A = topic_id("a")


def commit(driver: Driver, member_id: str, epoch: int, *partitions: int, knows_epochs: bool = True) -> str:
    wanted = [(A, p) for p in partitions or (0,)]
    return check_commit(driver.group, member_id, epoch, wanted, knows_epochs=knows_epochs).name


def two_members() -> tuple[Driver, Consumer, Consumer]:
    """m1 holds 0 and 1 since epoch 1, m2 holds 2 and 3 since epoch 2."""
    driver = Driver(a=4)
    first, second = Consumer(driver, "m1").join(), Consumer(driver, "m2").join()
    beat_until_stable(first, second)
    return driver, first, second


def test_a_member_commits_in_its_epoch() -> None:
    driver, first, _ = two_members()

    assert commit(driver, "m1", first.epoch) == "NONE"
    assert commit(driver, "m1", first.epoch + 1) == "STALE_MEMBER_EPOCH"
    assert commit(driver, "nobody", first.epoch) == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize(("partition", "code"), [(0, "NONE"), (1, "NONE"), (2, "STALE_MEMBER_EPOCH")])
def test_a_commit_with_an_older_epoch_is_accepted_for_partitions_assigned_before(
    partition: int, code: str
) -> None:
    """KIP-1251: a commit that was on its way when the epoch rose is not lost."""
    driver, _, _ = two_members()

    assert commit(driver, "m1", 1, partition) == code


def test_a_commit_with_an_older_epoch_is_refused_for_partitions_assigned_later() -> None:
    driver, _, _ = two_members()

    assert commit(driver, "m2", 1, 2) == "STALE_MEMBER_EPOCH"
    assert commit(driver, "m1", 1, 0, 2) == "STALE_MEMBER_EPOCH", "all or nothing"


def test_offsets_of_partitions_to_revoke_may_still_be_committed() -> None:
    driver = Driver(a=2)
    first = Consumer(driver, "m1").join()
    Consumer(driver, "m2").join()
    first.beat(revokes=False)

    assert commit(driver, "m1", 1, 0, 1) == "NONE"


def test_versions_without_epochs_are_refused() -> None:
    driver, first, _ = two_members()

    assert commit(driver, "m1", first.epoch, knows_epochs=False) == "UNSUPPORTED_VERSION"


def test_an_empty_group_accepts_commits_without_an_epoch() -> None:
    group = ConsumerGroup("g")

    assert check_commit(group, "", -1, [(A, 0)], knows_epochs=True).name == "NONE"
    assert check_commit(group, "m1", 1, [(A, 0)], knows_epochs=True).name == "UNKNOWN_MEMBER_ID"


def test_a_group_with_members_refuses_commits_of_others() -> None:
    driver, _, _ = two_members()

    assert commit(driver, "", -1) == "UNKNOWN_MEMBER_ID"


def test_a_transaction_may_commit_without_a_member_id() -> None:
    driver, _, _ = two_members()

    def in_transaction(member_id: str, epoch: int) -> str:
        code = check_commit(
            driver.group, member_id, epoch, [(A, 0)], knows_epochs=True, is_transactional=True
        )
        return code.name

    assert in_transaction("", -1) == "NONE"
    assert in_transaction("m1", -1) == "STALE_MEMBER_EPOCH"


def test_members_of_the_current_epoch_and_admin_clients_may_fetch() -> None:
    driver, first, _ = two_members()

    assert check_fetch(driver.group, "m1", first.epoch).name == "NONE"
    assert check_fetch(driver.group, None, -1).name == "NONE"
    assert check_fetch(driver.group, "m1", first.epoch - 1).name == "STALE_MEMBER_EPOCH"
    assert check_fetch(driver.group, "m9", 1).name == "UNKNOWN_MEMBER_ID"
