from penstock_bench.board import Board
from penstock_bench.catalogue import WORKLOADS
from penstock_bench.workloads.machine.pipelines import (
    AT_LEAST_ONCE,
    CONNECTOR,
    EXACTLY_ONCE,
    PIPELINE,
    PLAIN,
    THREE,
    add_ratios,
    latency_label,
)


def test_every_ratio_has_a_goal() -> None:
    board = Board()
    for label, seconds in ((PLAIN, 10.0), (PIPELINE, 11.0), (THREE, 22.0)):
        board.add(label, seconds, "s")
    for label in (AT_LEAST_ONCE, EXACTLY_ONCE, CONNECTOR):
        board.add(latency_label(label), 100.0, "ms")
    add_ratios(board)
    ratios = {ratio.label: ratio.median for ratio in board.findings().ratios}
    assert ratios["time: pipeline file / plain Spark code"] == 1.1
    assert ratios["time: three outputs / one"] == 2.0
    assert [str(WORKLOADS["E"].goal(label)) for label in ratios] == ["≤ 1.15", "≤ 1.60", "≤ 1.20", "≤ 1.50"]
