"""How many seconds a query is behind."""

from penstock.spark.pipeline.progress.lag import LagEstimator


def test_a_query_that_has_read_everything_is_not_behind() -> None:
    clock = LagEstimator()
    clock.observe({"t": {0: 10}}, 1_000)
    assert clock.seconds_behind({"t": {0: 10}}, 9_000) == 0


def test_the_lag_is_the_time_since_the_first_unread_record_was_seen() -> None:
    clock = LagEstimator()
    for at_ms, end in ((1_000, 10), (2_000, 20), (3_000, 30)):
        clock.observe({"t": {0: end}}, at_ms)
    assert clock.seconds_behind({"t": {0: 10}}, 5_000) == 3.0
    assert clock.seconds_behind({"t": {0: 25}}, 5_000) == 2.0


def test_an_end_that_does_not_move_is_as_old_as_when_it_was_first_seen() -> None:
    clock = LagEstimator()
    clock.observe({"t": {0: 10}}, 1_000)
    clock.observe({"t": {0: 10}}, 8_000)
    assert clock.seconds_behind({"t": {0: 4}}, 9_000) == 8.0


def test_the_partition_that_is_furthest_behind_counts() -> None:
    clock = LagEstimator()
    clock.observe({"t": {0: 10}, "u": {0: 10}}, 1_000)
    clock.observe({"t": {0: 20}, "u": {0: 20}}, 4_000)
    assert clock.seconds_behind({"t": {0: 10}, "u": {0: 0}}, 5_000) == 4.0


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    clock = LagEstimator()
    clock.observe({"t": {0: 100}}, 1_000)
    clock.observe({"t": {0: 5}}, 7_000)
    assert clock.seconds_behind({"t": {0: 0}}, 8_000) == 1.0


def test_a_query_that_is_behind_for_long_remembers_since_when() -> None:
    clock = LagEstimator()
    for second in range(5_000):
        clock.observe({"t": {0: second + 1}}, second * 1_000)
    assert clock.seconds_behind({"t": {0: 0}}, 5_000_000) == 5_000.0
