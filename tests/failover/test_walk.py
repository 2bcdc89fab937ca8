"""The commands of `examples/cluster`, run as a user types them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.timeout(180)
def test_the_example_reads_the_records_from_before_and_after_the_death_of_the_leader() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.cluster.walk"],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done
    read = [line.split("\t")[-1] for line in done.stdout.splitlines() if line.count("\t") == 4]
    assert [each.split()[0] for each in read] == ["first", "second", "third"]
