"""The reserve of a disk: when clients' records are refused, and when they are accepted again."""

import errno

from penstock.storage.directory.disk_space import DiskSpace, DiskState
from penstock.storage.errors import is_disk_failure, is_out_of_space
from penstock.storage.files import Usage

TOTAL, RESERVE = 1_000_000, 100_000


def measured(free_bytes: int, *, reserve_bytes: int = RESERVE, now_ms: float = 0) -> DiskSpace:
    space = DiskSpace()
    space.measured(Usage(TOTAL, free_bytes), reserve_bytes, now_ms)
    return space


def test_clients_may_use_the_free_space_beyond_the_reserve() -> None:
    space = measured(300_000)
    assert (space.state, space.room_bytes, space.trouble) == (DiskState.OK, 200_000, None)


def test_a_disk_below_its_reserve_stays_full_until_clearly_more_than_the_reserve_is_free() -> None:
    space = measured(RESERVE - 1)
    assert (space.state, space.room_bytes) == (DiskState.FULL, 0)
    space.measured(Usage(TOTAL, RESERVE + 10_000), RESERVE, 0)
    assert (space.state, space.room_bytes) == (DiskState.FULL, 0), "it would be full again at once"
    space.measured(Usage(TOTAL, RESERVE + 25_000), RESERVE, 0)
    assert (space.state, space.room_bytes) == (DiskState.OK, 25_000)


def test_a_refused_write_makes_the_disk_full_at_once_and_asks_for_a_measurement() -> None:
    space = measured(300_000)
    asked: list[DiskState] = []
    space.news.subscribe(lambda: asked.append(space.state))
    refusal = space.refuse("orders-0")
    space.refused(now_ms=101)
    assert asked == [DiskState.FULL]
    assert str(refusal).startswith("cannot write to orders-0: the disk of the broker is full")
    assert is_out_of_space(refusal)
    assert not is_disk_failure(refusal)


def test_after_a_refusal_for_the_reserve_every_write_is_refused_until_the_next_measurement() -> None:
    """Otherwise a disk with next to nothing left would be full for large batches and not for small ones."""
    space = measured(RESERVE + 10_000)
    space.refuse("orders-0")
    assert space.room_bytes == 0
    space.measured(Usage(TOTAL, RESERVE + 10_000), RESERVE, 0)
    assert (space.state, space.room_bytes) == (DiskState.FULL, 0)
    space.measured(Usage(TOTAL, RESERVE + 25_000), RESERVE, 0)
    assert (space.state, space.room_bytes) == (DiskState.OK, 25_000)


def test_a_write_that_the_disk_itself_refused_counts_for_five_seconds() -> None:
    """The kernel may refuse for reasons that the free space does not show, such as a quota."""
    space = measured(300_000)
    space.refused(now_ms=1_000)
    space.measured(Usage(TOTAL, 300_000), RESERVE, 5_999)
    assert (space.state, space.room_bytes) == (DiskState.FULL, 200_000), "small records may still fit"
    space.measured(Usage(TOTAL, 300_000), RESERVE, 6_000)
    assert space.state is DiskState.OK


def test_without_a_reserve_nothing_is_refused_before_the_disk_does() -> None:
    space = measured(0, reserve_bytes=0)
    assert (space.state, space.room_bytes > TOTAL) == (DiskState.OK, True)


def test_a_failed_disk_stays_failed_however_much_space_is_free() -> None:
    space = measured(300_000)
    space.failed(OSError(errno.EIO, "Input/output error", "/data/orders-0/0.log"))
    space.measured(Usage(TOTAL, 300_000), RESERVE, 100_000)
    space.refused(now_ms=100_001)
    assert space.state is DiskState.FAILED
    assert "/data" in (space.failure or "")
    assert "/data" not in (space.trouble or ""), "every client may read that"


def test_the_error_names_the_free_space_and_the_reserve() -> None:
    assert measured(RESERVE - 1).trouble == (
        "its disk is full (0.1 MB free of 1.0 MB, reserve 0.1 MB); clients' writes are refused until space is freed"
    )
