import fcntl
import os
import resource
from collections.abc import Iterator

import pytest

from penstock_bench.readable import is_readable_within

FIRST = 1500


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose reading end has a number that `select.select` does not take."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    low, writing = os.pipe()
    reading = fcntl.fcntl(low, fcntl.F_DUPFD, FIRST)
    os.close(low)
    yield reading, writing
    os.close(reading)
    os.close(writing)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_pipe_with_a_high_file_descriptor_is_polled(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    assert reading >= FIRST
    assert not is_readable_within(reading, 0)
    assert not is_readable_within(reading, -1.0)
    os.write(writing, b"x")
    assert is_readable_within(reading, 60)


def test_a_pipe_that_has_ended_is_readable() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    assert is_readable_within(reading, 60)
    os.close(reading)
