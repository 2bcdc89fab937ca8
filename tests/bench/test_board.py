from penstock_bench.board import Board
from penstock_bench.figures import Ratio
from penstock_bench.peers.targets import Target

OURS = Target("Penstock", "Penstock")
REDIS = Target("Redis Streams", "Redis Streams")
NATS = Target("NATS JetStream", "NATS JetStream")
PAIRS = [("Penstock", name) for name in ("Redis Streams", "NATS JetStream", "RabbitMQ")]


def board_with_rates() -> Board:
    board = Board()
    for ours, redis, nats in ((30, 10, 40), (60, 10, 5), (90, 10, 6)):
        board.add("rate", ours, "/s", OURS)
        board.add("rate", redis, "/s", REDIS)
        board.add("rate", nats, "/s", NATS)
    return board


def ratios(board: Board) -> dict[str, Ratio]:
    return {ratio.label: ratio for ratio in board.findings().ratios}


def test_values_without_a_target_become_figures_in_the_order_in_which_they_were_first_measured() -> None:
    board = Board()
    for value in (1.0, 2.0):
        board.add("reference", value * 2, "/s")
        board.add("broker", value, "/s")
    board.ratio("r", "broker", "reference")
    board.ratio("of nothing", "broker", "not measured")
    found = board.findings("no more")
    assert [each.series.label for each in found.figures] == ["reference", "broker"]
    assert [(each.label, each.values) for each in found.ratios] == [("r", (0.5, 0.5))]
    assert (found.comparisons, found.failure) == ((), "no more")


def test_latencies_become_a_median_and_a_99th_percentile_in_the_unit() -> None:
    board = Board()
    board.add_latencies("commit", [0.001] * 98 + [0.005] * 2, "ms")
    values = {each.series.label: each.series.values for each in board.findings().figures}
    assert values == {"commit, p50": (1.0,), "commit, p99": (5.0,)}


def test_a_ratio_is_formed_round_by_round_for_targets_that_have_values() -> None:
    board = board_with_rates()
    board.compare("rate", *PAIRS)
    found = ratios(board)
    assert list(found) == ["rate: Penstock / Redis Streams", "rate: Penstock / NATS JetStream"]
    assert found["rate: Penstock / Redis Streams"].values == (3.0, 6.0, 9.0)


def test_a_target_that_failed_in_a_later_round_is_compared_over_the_rounds_it_took_part_in() -> None:
    board = board_with_rates()
    board.add("rate", 1000, "/s", OURS)
    board.fail(REDIS, "it has gone")
    board.compare("rate", PAIRS[0])
    assert ratios(board)["rate: Penstock / Redis Streams"].values == (3.0, 6.0, 9.0)
    assert board.findings().notes == ("Redis Streams was not measured to the end: it has gone",)


def test_the_best_target_has_the_highest_rate_or_the_lowest_latency() -> None:
    board = board_with_rates()
    board.add("p99", 2, "ms", REDIS)
    board.add("p99", 1, "ms", NATS)
    assert board.best("rate", PAIRS) == [("Penstock", "Redis Streams")]
    assert board.best("p99", PAIRS) == [("Penstock", "NATS JetStream")]
    assert board.best("rate", [("Penstock", "RabbitMQ")]) == []


def test_growth_is_the_ratio_of_one_target_under_high_load_to_low_load() -> None:
    board = Board()
    for little, much in ((10, 12), (20, 30)):
        board.add("1 partition", little, "µs", OURS)
        board.add("1,000 partitions", much, "µs", OURS)
    board.ratio("growth", "1,000 partitions", "1 partition", "Penstock")
    board.ratio("growth of Redis", "1,000 partitions", "1 partition", "Redis Streams")
    assert {label: ratio.values for label, ratio in ratios(board).items()} == {"growth": (1.2, 1.5)}


def test_values_of_warm_up_rounds_are_dropped() -> None:
    board = Board()
    board.is_warming = True
    board.add("rate", 1, "/s", OURS)
    board.is_warming = False
    board.add("rate", 2, "/s", OURS)
    (comparison,) = board.findings().comparisons
    assert comparison.is_more_better
    assert comparison.rows[0].series.values == (2.0,)
    assert comparison.rows[0].durability == "synced before ack"
