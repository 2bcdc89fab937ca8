from penstock_bench.peers.board import Board
from penstock_bench.peers.targets import SYNCED, Target

OURS = Target(name="Penstock", server="Penstock", durability=SYNCED, is_ours=True)
REDIS = Target(name="Redis Streams", server="Redis Streams", durability=SYNCED)
NATS = Target(name="NATS JetStream", server="NATS JetStream", durability=SYNCED)


def board_with_rates() -> Board:
    board = Board()
    for ours, redis, nats in ((30, 10, 40), (60, 10, 5), (90, 10, 6)):
        board.add(OURS, "rate", ours, "/s", higher_is_better=True)
        board.add(REDIS, "rate", redis, "/s", higher_is_better=True)
        board.add(NATS, "rate", nats, "/s", higher_is_better=True)
    return board


def test_a_ratio_is_formed_round_by_round() -> None:
    ratio = board_with_rates().ratio("rate", "Penstock", "Redis Streams")
    assert ratio is not None
    assert ratio.values == (3.0, 6.0, 9.0)
    assert ratio.label == "rate: Penstock / Redis Streams"


def test_a_target_that_failed_in_a_later_round_is_compared_over_the_rounds_it_took_part_in() -> None:
    board = board_with_rates()
    board.add(OURS, "rate", 1000, "/s", higher_is_better=True)
    board.fail(REDIS, "it has gone")
    ratio = board.ratio("rate", "Penstock", "Redis Streams")
    assert ratio is not None
    assert ratio.values == (3.0, 6.0, 9.0)
    assert board.notes() == ("Redis Streams was not measured to the end: it has gone",)


def test_there_is_no_ratio_to_a_target_without_values() -> None:
    assert board_with_rates().ratio("rate", "Penstock", "RabbitMQ") is None


def test_the_best_target_has_the_highest_rate_or_the_lowest_latency() -> None:
    board = board_with_rates()
    board.add(REDIS, "p99", 2, "ms")
    board.add(NATS, "p99", 1, "ms")
    names = ("Redis Streams", "NATS JetStream", "RabbitMQ")
    assert board.best("rate", names) == "Redis Streams"
    assert board.best("p99", names) == "NATS JetStream"
    assert board.best("rate", ["RabbitMQ"]) is None


def test_growth_is_the_ratio_of_one_target_under_high_load_to_low_load() -> None:
    board = Board()
    for little, much in ((10, 12), (20, 30)):
        board.add(OURS, "1 partition", little, "µs")
        board.add(OURS, "1,000 partitions", much, "µs")
    (ratio,) = board.growth("growth", "Penstock", "1,000 partitions", "1 partition")
    assert ratio.values == (1.2, 1.5)
    assert board.growth("growth", "Redis Streams", "1,000 partitions", "1 partition") == ()


def test_values_of_warm_up_rounds_are_dropped() -> None:
    board = Board()
    board.is_warming = True
    board.add(OURS, "rate", 1, "/s")
    board.is_warming = False
    board.add(OURS, "rate", 2, "/s")
    (comparison,) = board.comparisons()
    assert comparison.rows[0].series.values == (2.0,)
    assert comparison.rows[0].durability == "synced before ack"
