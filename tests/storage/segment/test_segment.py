import os
from pathlib import Path

import pytest

from penstock.storage.log.log import Log
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
