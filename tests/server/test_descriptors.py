import subprocess
import sys

import pytest

from penstock.server.descriptors import divide_limit


@pytest.mark.parametrize("limit", [0, 10, 256, 1024, 4096, 1 << 20])
def test_logs_and_connections_never_exceed_the_descriptor_limit(limit: int) -> None:
    shared = divide_limit(limit)
    assert shared.for_logs >= 1
    assert shared.for_connections >= 1
    assert shared.for_logs + shared.for_connections <= max(2, limit)


def test_with_a_high_limit_connections_get_all_descriptors_that_logs_do_not_need() -> None:
    shared = divide_limit(100_000)
    assert shared.for_logs == 1000
    assert shared.for_connections > 98_000


def test_the_soft_limit_is_raised_to_the_hard_limit() -> None:
    script = (
        "import resource\n"
        "from penstock.server.descriptors import raise_limit\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (128, 200))\n"
        "print(raise_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["200", "200"]
    assert "ulimit -n" in done.stderr
