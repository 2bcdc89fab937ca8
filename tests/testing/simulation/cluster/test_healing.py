"""What is looked through at the end of a run."""

import pytest

from penstock.testing.simulation.cluster.healing import compare
from penstock.testing.simulation.raft.checker import Violation

P = ("orders", 0)


def test_replicas_with_the_same_records_pass() -> None:
    compare(P, {"node-1": [(0, b"a")], "node-2": [(0, b"a")]})


@pytest.mark.parametrize("other", [[(0, b"b")], [], [(0, b"a"), (1, b"b")]])
def test_a_replica_with_other_records_is_noticed(other: list[tuple[int, bytes]]) -> None:
    with pytest.raises(Violation, match="logs agree"):
        compare(P, {"node-1": [(0, b"a")], "node-2": other})
