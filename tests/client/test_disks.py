"""The state of a broker's disks, from its answers."""

from penstock.client.disks import Disk, disks_in
from penstock.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from penstock.protocol.messages.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult

TOTAL = 24_000_000


def disk(usable_bytes: int, reserve: str | None = "1000000", **fields: int) -> Disk:
    result = DescribeLogDirsResult(
        **{"log_dir": "/data", "total_bytes": TOTAL, "usable_bytes": usable_bytes, **fields}  # type: ignore[arg-type]
    )
    config = DescribeConfigsResourceResult(name="penstock.disk.reserve.bytes", value=reserve)
    settings = DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[config] if reserve else [])])
    (found,) = disks_in(1, DescribeLogDirsResponse(results=[result]), settings)
    return found


def test_a_disk_is_full_below_its_reserve_and_nearly_full_below_the_resume_threshold() -> None:
    assert [disk(free).state for free in (2_000_000, 1_250_000)] == ["ok", "ok"]
    assert [disk(free).state for free in (1_249_999, 1_000_000)] == ["nearly full", "nearly full"]
    assert disk(999_999).state == "full"


def test_without_a_reserve_a_disk_is_never_full() -> None:
    assert disk(0, "0").state == "ok"


def test_a_user_who_may_not_see_the_reserve_sees_the_default() -> None:
    assert (disk(1_100_000, None).state, disk(1_100_000, None).reserve_bytes) == ("full", 1_200_000)


def test_a_directory_with_an_error_has_failed() -> None:
    failed = disk(-1, error_code=56, total_bytes=-1)
    assert failed.trouble == "The disk of broker 1 has failed: check it, then restart the broker."
    assert failed.figures == "-"


def test_a_disk_of_unknown_size_counts_as_healthy() -> None:
    assert disk(-1, total_bytes=-1).state == "ok"


def test_the_message_of_a_full_disk_says_what_to_do() -> None:
    assert disk(2_000_000).trouble is None
    assert disk(400_000).trouble == (
        "The disk of broker 1 is full (0.4 MB free of 24.0 MB, reserve 1.0 MB). Clients' writes are refused: delete "
        "topics, lower their retention or enlarge the disk."
    )
