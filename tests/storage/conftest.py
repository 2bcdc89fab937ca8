from random import Random

import pytest

from penstock_simulation.disk import FaultyDisk


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/data")
    disk.sync_dir("/")
    return disk
