from penstock_bench.peers import pairs
from penstock_bench.peers.board import Board
from penstock_bench.peers.targets import BARE_LOOP, TARGETS


def full_board() -> Board:
    board = Board()
    for number, target in enumerate(TARGETS, start=1):
        board.add(target, "rate", number, "/s", higher_is_better=True)
    return board


def test_penstock_is_compared_with_each_peer_that_syncs_and_is_not_kafka() -> None:
    labels = [ratio.label for ratio in pairs.against_each(full_board(), "rate")]
    assert len(labels) == 4
    assert "rate: Penstock / RabbitMQ, quorum queue" in labels
    assert not any("Kafka" in label for label in labels)


def test_kafka_is_compared_at_the_same_flush_setting() -> None:
    assert [ratio.label for ratio in pairs.against_kafka(full_board(), "rate")] == [
        "rate: Penstock / Kafka, flush.messages=1",
        "rate: Penstock, page cache / Kafka",
    ]


def test_the_best_peer_is_one_that_syncs_and_is_not_kafka() -> None:
    best = pairs.against_best(full_board(), "rate")
    assert [ratio.reference.label for ratio in best] == ["RabbitMQ, quorum queue"]
    assert pairs.against_best(Board(), "rate") == ()


def test_the_bare_loop_is_a_reference_for_penstock_and_no_peer() -> None:
    board = full_board()
    board.add(BARE_LOOP, "rate", 100, "/s", higher_is_better=True)
    assert [ratio.label for ratio in pairs.against_bare_loop(board, "rate")] == [
        "rate: Penstock / bare fdatasync loop",
    ]
    assert not any("bare" in ratio.label for ratio in pairs.against_each(board, "rate"))
    assert pairs.against_bare_loop(full_board(), "rate") == ()


def test_each_of_ours_is_compared_with_those_that_acknowledge_at_the_same_moment() -> None:
    labels = [ratio.label for ratio in pairs.against_equals(full_board(), "rate", TARGETS)]
    assert "rate: Penstock, page cache / Kafka" in labels
    assert "rate: Penstock / Kafka, flush.messages=1" in labels
    assert "rate: Penstock / Kafka" not in labels
    assert not any(label.endswith("/ Penstock") for label in labels)
