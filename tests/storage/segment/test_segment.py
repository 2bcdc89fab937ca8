import os
from pathlib import Path

import pytest

from penstock.storage.log.log import Log
from penstock.storage.segment.indexes import INDEX, TIME_INDEX
from penstock.storage.segment.time_index import ENTRY_SIZE
from tests.storage.logs import (
    NOW_MS,
    append,
    new_log,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return new_log(str(tmp_path))


def test_a_sealed_segment_is_cut_to_its_size(log: Log) -> None:
    append(log, "a")
    assert os.path.getsize(log.segments[0].log_path) > log.segments[0].size_bytes
    log.roll(now_ms=NOW_MS)
    assert os.path.getsize(log.segments[0].log_path) == log.segments[0].size_bytes


def test_a_short_segment_has_an_offset_index_file_and_its_last_timestamp_for_kafka(log: Log) -> None:
    append(log, "a")
    log.release()
    segment = log.segments[0]
    assert os.path.getsize(segment.path(INDEX)) == 0
    assert os.path.getsize(segment.path(TIME_INDEX)) == ENTRY_SIZE
