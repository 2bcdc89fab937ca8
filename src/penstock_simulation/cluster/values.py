"""Types that checkers and clients share."""

PartitionName = tuple[str, int]
Records = list[tuple[int, bytes]]
"""Offsets and values, in the order of a log."""
