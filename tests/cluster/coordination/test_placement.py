"""The coordinator partition of a group or a transactional id."""

import pytest

from penstock.cluster.coordination.placement import partition_for


@pytest.mark.parametrize(
    ("group", "java_hash"),
    [
        ("", 0),
        ("hello", 99162322),
        ("the-group", -1812139485),
        ("\U0001f511", 1772660),  # two UTF-16 units: 0xD83D * 31 + 0xDD11
        ("polygenelubricants", -(2**31)),  # the word whose hash has no positive counterpart
    ],
)
def test_an_id_belongs_to_the_partition_of_kafkas_hash(group: str, java_hash: int) -> None:
    expected = 0 if java_hash == -(2**31) else abs(java_hash) % 50
    assert partition_for(group, 50) == expected
