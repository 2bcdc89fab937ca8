"""How large the reserve of a disk is."""

from penstock.config.disk_reserve import AUTOMATIC, reserve_bytes

MIB = 1024 * 1024


def test_by_itself_it_is_a_twentieth_of_the_disk_and_64_mib_at_most() -> None:
    assert reserve_bytes(AUTOMATIC, 20 * MIB) == MIB
    assert reserve_bytes(AUTOMATIC, 10**12) == 64 * MIB


def test_what_is_set_counts_and_zero_switches_it_off() -> None:
    assert reserve_bytes(5, 20 * MIB) == 5
    assert reserve_bytes(0, 20 * MIB) == 0
