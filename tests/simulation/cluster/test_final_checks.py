"""The checks at the end of a run."""

import pytest

from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_simulation.cluster.checkers.replicas import Batch
from penstock_simulation.cluster.final_checks import compare_logs
from penstock_simulation.violation import Violation

P = ("orders", 0)


def batch(offset: int, value: bytes, epoch: int = 0) -> Batch:
    return Batch(
        offset,
        offset + 1,
        epoch,
        build_batch([NewRecord(value=value)], base_offset=offset, leader_epoch=epoch),
    )


def test_replicas_with_the_same_batches_pass() -> None:
    compare_logs(P, {"node-1": [batch(0, b"a")], "node-2": [batch(0, b"a")]})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([batch(0, b"b")], id="another record"),
        pytest.param([batch(0, b"a", epoch=1)], id="another epoch"),
        pytest.param([], id="less"),
        pytest.param([batch(0, b"a"), batch(1, b"b")], id="more"),
    ],
)
def test_a_replica_with_other_batches_is_noticed(other: list[Batch]) -> None:
    with pytest.raises(Violation, match="logs agree"):
        compare_logs(P, {"node-1": [batch(0, b"a")], "node-2": other})
