"""Whatever dies, and whenever: every row becomes visible once, and batches in their order."""

import itertools
import os
import random
from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.spark.sink import exactly_once
from penstock.spark.sink.decision import Member, Producer
from penstock.spark.sink.errors import PartialCommit, TransactionLost
from penstock.spark.sink.exactly_once import WrittenBatch
from penstock.spark.sink.identity import Run
from tests.spark.sink.model import QUERY, Crash, ModelBrokers, Spark

BATCHES = [[0, 1, 2, 3], [4, 5], [], [6, 7, 8]]
EXAMPLES = int(os.environ.get("SINK_EXAMPLES", "400"))


def check(spark: Spark) -> None:
    seen = spark.brokers.visible
    assert sorted(seen) == sorted(itertools.chain(*spark.batches)), "each row once"
    batch_of = {row: number for number, rows in enumerate(spark.batches) for row in rows}
    order = [batch_of[row] for row in seen]
    assert order == sorted(order), "batches in their order"


class CrashAt:
    """Crashes before these steps, counted from the start of each run."""

    def __init__(self, *steps: int) -> None:
        self.left = list(steps)
        self.count = 0
        self.has_crashed = False

    def __call__(self) -> None:
        self.count += 1
        if self.left and self.count > self.left[0]:
            del self.left[0]
            self.count = 0
            self.has_crashed = True
            raise Crash


def run_to_the_end(spark: Spark) -> None:
    for _ in range(100):
        if starts(spark):
            return
    raise AssertionError("the query never got to its end")


def starts(spark: Spark, batches_max: int = 1 << 30) -> bool:
    """Whether a run got to its end. It may fail, but never because a decision could not be carried out."""
    try:
        spark.start(batches_max)
    except PartialCommit:
        raise
    except (Crash, TransactionLost):
        return False
    return True


def test_batches_without_trouble_become_visible_in_order() -> None:
    spark = Spark(ModelBrokers(), BATCHES)
    spark.start()
    check(spark)


def choose_tasks(crash: CrashAt, partitionings: tuple[int, int], count: int) -> int:
    """So many tasks before the first crash, so many after it; no task fails."""
    return partitionings[crash.has_crashed] if count == 3 else 0


@pytest.mark.parametrize("partitionings", [(1, 1), (1, 2), (2, 0), (2, 2)])
@pytest.mark.parametrize("keeps_decider", [False, True])
def test_a_driver_may_die_before_any_step_and_its_successor_before_any_other(
    partitionings: tuple[int, int], keeps_decider: bool
) -> None:
    crashes = 0
    for first in itertools.count():
        is_first_over = False
        for second in itertools.count(0, 3):
            spark = Spark(ModelBrokers(), BATCHES)
            spark.keeps_decider = keeps_decider
            crash = CrashAt(first, second)
            spark.brokers.between = crash
            spark.choose = partial(choose_tasks, crash, partitionings)
            run_to_the_end(spark)
            check(spark)
            crashes += crash.has_crashed
            is_first_over = len(crash.left) == 2
            if crash.left:
                break
        if is_first_over:
            break
    assert crashes > 100


class Trouble:
    """What happens between one step and the next, by chance: crashes, lost tasks that go on, second drivers."""

    def __init__(self, spark: Spark, seed: int, troubles_max: int = 40) -> None:
        self._spark = spark
        self._random = random.Random(seed)
        self._left = troubles_max
        self._rate = self._random.choice([0.05, 0.2, 0.5])
        self._depth = 0
        spark.choose, spark.brokers.between = self.choose, self.between

    def choose(self, count: int) -> int:
        return self._random.randrange(count) if self._left or count == 3 else 0

    def between(self) -> None:
        if not self._left or self._random.random() > self._rate:
            return
        self._left -= 1
        what = self._random.choices(["crash", "wake", "second driver"], [1, 4, 1])[0]
        if what == "crash":
            raise Crash
        if what == "wake" and self._spark.zombies:
            self._spark.wake(self._random.randrange(len(self._spark.zombies)))
        if what == "second driver" and self._depth < 2:
            self._depth += 1
            try:
                starts(self._spark, self._random.randint(1, 3))
            finally:
                self._depth -= 1


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 1 << 32))
def test_crashes_lost_tasks_and_second_drivers_in_any_mixture_change_nothing(seed: int) -> None:
    spark = Spark(ModelBrokers(), BATCHES)
    spark.keeps_decider = bool(seed % 2)
    Trouble(spark, seed)
    run_to_the_end(spark)
    spark.brokers.between = lambda: None
    while spark.zombies:
        spark.wake(0)
    check(spark)


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(st.integers(0, 1 << 32))
def test_what_was_left_open_is_aborted_by_the_next_batch(seed: int) -> None:
    spark = Spark(ModelBrokers(), BATCHES)
    spark.keeps_decider = bool(seed % 2)
    Trouble(spark, seed)
    run_to_the_end(spark)
    spark.zombies.clear()
    spark.brokers.between, spark.choose = (lambda: None), (lambda _: 0)
    spark.batches = [*spark.batches, [9]]
    run_to_the_end(spark)
    assert spark.brokers.open_transactional_ids(QUERY) == []


def test_of_two_drivers_the_slower_one_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Spark(ModelBrokers(), [[1, 2, 3]])
    slower: list[WrittenBatch] = []
    listed = spark.brokers.open_transactional_ids

    def list_and_let_another_write(query_id: str) -> list[str]:
        found = listed(query_id)
        if not slower:
            slower.append(spark.run_tasks(spark.new_run(), 0))
        return found

    monkeypatch.setattr(spark.brokers, "open_transactional_ids", list_and_let_another_write)
    spark.start()
    assert listed(QUERY) != []
    exactly_once.commit(spark.brokers, slower[0])
    assert listed(QUERY) == []
    check(spark)


@pytest.mark.parametrize("keeps_decider", [False, True])
def test_a_long_run_uses_no_more_ids_than_it_has_tasks(keeps_decider: bool) -> None:
    spark = Spark(ModelBrokers(), [[number, 1000 + number, 2000 + number] for number in range(200)])
    spark.keeps_decider = keeps_decider
    spark.choose = lambda n: 0 if n != 3 else spark.committed % 3  # one, two or three tasks
    spark.start()
    assert spark.brokers.id_count == 3 + 1  # and the driver's


@pytest.mark.parametrize("keeps_decider", [False, True])
def test_an_id_of_a_task_that_was_lost_is_not_used_again(keeps_decider: bool) -> None:
    spark = Spark(ModelBrokers(), [[n] for n in range(4)])
    spark.keeps_decider = keeps_decider

    def lose_one(count: int) -> int:
        return 7 if count == 8 and spark.committed == 1 and not spark.zombies else 0

    spark.choose = lose_one
    spark.start()
    assert len(spark.zombies) == 1
    while spark.zombies:
        spark.wake(0)  # its begin would have aborted a transaction if anybody else had the id
    check(spark)


def test_a_failed_commit_that_was_decided_is_not_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Spark(ModelBrokers(), [[1, 2, 3]])
    spark.choose = lambda n: n - 1 if n == 3 else 0

    def fail_once(run: Run, members: Sequence[Member], *, commit: bool) -> list[Member]:
        monkeypatch.undo()  # the broker is back
        raise TransactionLost("the broker is away")

    monkeypatch.setattr(spark.brokers, "end", fail_once)
    with pytest.raises(TransactionLost, match="away"):
        spark.start()  # which also aborts, as Spark does
    assert sorted(spark.brokers.visible) == [1, 2, 3]


def test_a_transaction_that_timed_out_before_the_decision_fails_the_batch_and_nothing_is_visible() -> None:
    brokers = ModelBrokers()
    run, member = Run(query_id=QUERY, run_id="r"), Member(7, 0, 0)
    assert brokers.begin(run.transactional_id(7)) == (0, 0)
    brokers.write(run.transactional_id(7), Producer(0, 0), [1])
    brokers.time_out()
    with pytest.raises(
        TransactionLost, match=r"Nothing of the batch is visible.*kafka\.transaction\.timeout\.ms"
    ):
        exactly_once.commit(brokers, WrittenBatch(run=run, batch_id=0, members=(member,), task_count=1))
    assert brokers.visible == []


def test_a_decided_transaction_that_timed_out_is_an_error_each_time() -> None:
    spark = Spark(ModelBrokers(), [[1, 2]])

    def crash_once_decided() -> None:
        if spark.brokers.is_decided:
            raise Crash

    spark.brokers.between = crash_once_decided
    with pytest.raises(Crash):
        spark.start()
    spark.brokers.between = lambda: None
    assert spark.brokers.visible == []
    spark.brokers.time_out()
    for _ in range(2):
        with pytest.raises(
            PartialCommit, match=r"batch 0 of query q was decided.*delivery set to at-least-once"
        ):
            spark.start()


def test_a_batch_older_than_the_last_decision_is_skipped() -> None:
    spark = Spark(ModelBrokers(), BATCHES)
    spark.start()
    spark.committed = 0  # an old copy of the checkpoint
    spark.start()
    check(spark)
