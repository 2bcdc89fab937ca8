from typing import cast

from penstock.cluster.replica import Replica
from penstock.mirror.throttle import MirrorThrottle
from penstock.runtime.clock import ManualClock

REPLICA = cast("Replica", None)


def test_a_partition_waits_while_the_rate_of_all_is_above_the_limit() -> None:
    clock = ManualClock()
    limit = [1000]
    throttle = MirrorThrottle(lambda: limit[0], clock)
    throttle.record(REPLICA, 5000)
    assert throttle.holds_back(REPLICA, -1)
    clock.advance(6000)
    assert not throttle.holds_back(REPLICA, -1)
    throttle.record(REPLICA, 5000)
    assert throttle.holds_back(REPLICA, -1)
    limit[0] = 0
    assert not throttle.holds_back(REPLICA, -1)
    assert throttle.copied_bytes == 10_000
