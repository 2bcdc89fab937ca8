"""When a failed query is started again."""

from penstock.spark.pipeline.core.model import Restart
from penstock.spark.pipeline.run.policy import Again, GiveUp, after_failure

RESTART = Restart(attempts=3, within_ms=60_000, backoff_ms=1_000)


def test_the_pause_doubles_with_each_failure() -> None:
    assert after_failure([0], 0, RESTART) == Again(after_ms=1_000, attempt=1)
    assert after_failure([0, 5_000], 5_000, RESTART) == Again(after_ms=2_000, attempt=2)
    assert after_failure([0, 5_000, 9_000], 9_000, RESTART) == Again(after_ms=4_000, attempt=3)


def test_a_query_is_given_up_when_its_attempts_are_used_up() -> None:
    assert after_failure([0, 1, 2, 3], 3, RESTART) == GiveUp(reason="it failed 4 times in 1 min")


def test_failures_of_long_ago_are_forgotten() -> None:
    assert after_failure([0, 1, 2, 90_000], 90_000, RESTART) == Again(after_ms=1_000, attempt=1)


def test_no_pause_is_longer_than_a_minute() -> None:
    patient = Restart(attempts=50, within_ms=10**9, backoff_ms=1_000)
    assert after_failure([0] * 40, 0, patient) == Again(after_ms=60_000, attempt=40)


def test_a_failure_that_would_come_again_is_not_tried_again() -> None:
    assert isinstance(after_failure([0], 0, RESTART, is_final=True), GiveUp)


def test_no_attempts_means_that_the_first_failure_is_the_last() -> None:
    assert isinstance(after_failure([0], 0, Restart(attempts=0)), GiveUp)
