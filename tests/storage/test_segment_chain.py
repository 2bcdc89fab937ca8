import pytest

from penstock.protocol.records.rules import rules_for
from penstock.storage.log.append import prepare_own
from penstock.storage.segment_chain import split_by_record_count
from tests.storage.logs import NOW_MS, batch_of, config_of


@pytest.mark.parametrize(
    ("sizes", "room", "most", "groups"),
    [
        ([1], 5, 5, [[1]]),
        ([3, 2, 1], 5, 5, [[3, 2], [1]]),
        ([2, 2], 1, 3, [[2], [2]]),
        ([1, 9, 1], 1, 3, [[1], [9], [1]]),
        ([9], 0, 3, [[9]]),
    ],
)
def test_batches_are_grouped_so_that_each_segment_holds_no_more_records_than_it_may(
    sizes: list[int], room: int, most: int, groups: list[list[int]]
) -> None:
    records = b"".join(batch_of(*(str(number) for number in range(size))) for size in sizes)
    found = split_by_record_count(prepare_own(records, rules_for(config_of()), NOW_MS), room, most)
    assert [[batch.header.record_count for batch in group] for group in found] == groups
