"""The protocol of `exactly_once` on a real broker: every step can be the driver's last."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.client.blocking.client import BlockingClient
from penstock.spark.sink import exactly_once
from penstock.spark.sink.decision import Decision, Member
from penstock.spark.sink.errors import Fenced, PartialCommit, SinkError, TransactionLost
from penstock.spark.sink.identity import driver_id
from penstock.spark.sink.transactions import BrokerTransactions
from tests.spark.sink.live import LiveQuery, committed_rows, new_name, sink_settings
from tests.support.broker import BrokerProcess


class Crash(BaseException):
    """The driver is gone."""


class Crashing:
    """Real transactions that stop before one of the calls."""

    def __init__(self, real: BrokerTransactions, calls: int) -> None:
        self._real = real
        self._left = calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._left == 0:
                raise Crash
            self._left -= 1
            return getattr(self._real, name)(*arguments, **named)

        return call


@pytest.fixture
def query(shared_broker: BrokerProcess) -> Iterator[LiveQuery]:
    topic = new_name("out")
    settings = sink_settings(shared_broker.bootstrap, topic)
    cluster = BlockingClient(settings.client)
    cluster.create_topic(topic, partitions=2)
    yield LiveQuery(cluster, settings, new_name("query"))
    cluster.close()


def seen(query: LiveQuery) -> list[int]:
    assert query.settings.topic is not None
    return committed_rows(query.settings.client.bootstrap, query.settings.topic)


def next_run(query: LiveQuery) -> LiveQuery:
    return LiveQuery(query.cluster, query.settings, query.run.query_id, new_name("run"))


def test_rows_become_visible_with_the_commit_of_their_batch(query: LiveQuery) -> None:
    written = query.write(0, [[1, 2], [], [3]])
    assert seen(query) == []
    exactly_once.commit(query.transactions, written)
    assert sorted(seen(query)) == [1, 2, 3]
    last = query.transactions.last_decision(query.run.query_id, is_stable=True)
    assert last is not None
    assert (last.batch_id, last.members, last.is_applied) == (0, written.members, True)


def test_a_batch_that_is_aborted_leaves_nothing(query: LiveQuery) -> None:
    exactly_once.abort(query.transactions, query.write(0, [[1], [2]]))
    assert seen(query) == []
    assert query.transactions.open_transactional_ids(query.run.query_id) == []


def test_ids_are_used_again_by_the_batches_of_a_run(query: LiveQuery) -> None:
    written = [query.write(0, [[1], [2]])]
    exactly_once.commit(query.transactions, written[0])
    written.append(query.write(1, [[3], [4]]))
    exactly_once.commit(query.transactions, written[1])
    first, second = ([member.number for member in each.members] for each in written)
    assert first == second
    assert sorted(seen(query)) == [1, 2, 3, 4]


def test_a_driver_may_die_before_any_call_and_the_batch_still_appears_once(query: LiveQuery) -> None:
    rows: list[int] = []
    for calls in itertools.count():
        batch_id, own_rows = calls, [10 * calls, 10 * calls + 1, 10 * calls + 2]
        rows += own_rows
        dying = next_run(query)
        written = dying.write(batch_id, [own_rows[:2], own_rows[2:]])
        try:
            exactly_once.commit(Crashing(dying.transactions, calls), written)
            break
        except Crash:
            heir = next_run(query)
            exactly_once.commit(heir.transactions, heir.write(batch_id, [[row] for row in own_rows]))
    assert calls > 6
    assert sorted(seen(query)) == rows
    assert query.transactions.open_transactional_ids(query.run.query_id) == []


def test_what_a_dead_run_left_open_is_aborted_by_the_next_commit(query: LiveQuery) -> None:
    query.write(0, [[1], [2]])
    assert len(query.transactions.open_transactional_ids(query.run.query_id)) == 2
    heir = next_run(query)
    exactly_once.commit(heir.transactions, heir.write(0, [[1, 2]]))
    assert query.transactions.open_transactional_ids(query.run.query_id) == []
    assert sorted(seen(query)) == [1, 2]


def test_a_driver_that_was_replaced_cannot_decide(query: LiveQuery) -> None:
    query_id = query.run.query_id
    old = query.transactions.begin(driver_id(query_id))
    query.transactions.begin(driver_id(query_id))
    with pytest.raises(Fenced, match=f"deciding batch 3 of query {query_id}"):
        query.transactions.record(query_id, old, Decision(batch_id=3, run_id="r"))
    assert query.transactions.last_decision(query_id, is_stable=True) is None


def test_a_transaction_that_somebody_took_over_is_found_before_anything_is_decided(query: LiveQuery) -> None:
    written = query.write(0, [[1], [2]])
    query.transactions.begin(query.run.transactional_id(written.members[1].number))
    with pytest.raises(TransactionLost, match="1 of its 2 transactions have been aborted"):
        exactly_once.commit(query.transactions, written)
    exactly_once.abort(query.transactions, written)
    assert seen(query) == []


def test_a_decided_transaction_that_no_longer_exists_is_an_error(query: LiveQuery) -> None:
    written = query.write(0, [[1], [2]])
    calls_until_decided = 5  # list, begin, read, check, record
    with pytest.raises(Crash):
        exactly_once.commit(Crashing(query.transactions, calls_until_decided), written)
    query.transactions.begin(query.run.transactional_id(written.members[1].number))  # as its timeout would do
    heir = next_run(query)
    with pytest.raises(PartialCommit, match="1 of its 2 transactions were aborted"):
        exactly_once.commit(heir.transactions, heir.write(0, [[1, 2]]))


def test_ending_again_in_the_same_way_is_no_error_and_in_another_way_is_reported(query: LiveQuery) -> None:
    written = query.write(0, [[1], [2]])
    kept, dropped = written.members[:1], written.members[1:]
    for _ in range(2):
        assert query.transactions.end(query.run, kept, commit=True) == []
        assert query.transactions.end(query.run, dropped, commit=False) == []
    assert query.transactions.end(query.run, kept, commit=False) == list(kept)
    assert query.transactions.end(query.run, dropped, commit=True) == list(dropped)
    unknown = Member(999, 1, 1)
    assert query.transactions.end(query.run, [unknown], commit=True) == [unknown]


def test_a_decision_of_many_pieces_survives_a_shorter_one(query: LiveQuery) -> None:
    query_id = query.run.query_id
    many = Decision(
        batch_id=1,
        run_id="r",
        members=tuple(Member(n * n * 7919 % 1_000_003, n * n * 31, n % 999) for n in range(2000)),
    )
    few = Decision(batch_id=2, run_id="r", members=(Member(1, 2, 3),))
    for decision in (many, few):
        query.transactions.record(query_id, query.transactions.begin(driver_id(query_id)), decision)
        assert query.transactions.last_decision(query_id, is_stable=True) == decision


def test_a_timeout_that_the_broker_does_not_allow_is_lowered_or_reported(query: LiveQuery) -> None:
    transactional_id = query.run.transactional_id(0)
    too_long = BrokerTransactions(query.cluster, timeout_ms=2_000_000_000)
    with pytest.raises(SinkError, match=r"lower kafka\.transaction\.timeout\.ms"):
        too_long.begin(transactional_id)
    too_long._can_lower_timeout = True
    assert too_long.begin(transactional_id)[1] == 0
