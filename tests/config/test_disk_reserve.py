"""The size of the disk reserve."""

from penstock.config.disk_reserve import AUTOMATIC, reserve_bytes

MIB = 1024 * 1024


def test_the_default_is_a_twentieth_of_the_disk_and_at_most_64_mib() -> None:
    assert reserve_bytes(AUTOMATIC, 20 * MIB) == MIB
    assert reserve_bytes(AUTOMATIC, 10**12) == 64 * MIB


def test_a_set_value_overrides_the_default_and_zero_disables_the_reserve() -> None:
    assert reserve_bytes(5, 20 * MIB) == 5
    assert reserve_bytes(0, 20 * MIB) == 0
