"""Decisions as text, and which transactional ids the next batch may use."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.sink.decision import (
    APPLIED_PARTITION,
    Decision,
    Member,
    choose_id_number,
    decide,
    decode_offsets,
    encode_pieces,
)
from penstock.spark.sink.errors import DecisionTooLarge, SinkError
from penstock.spark.sink.identity import Run, Task

RUN = Run(query_id="q", run_id="8a2f6a3e-0c5c-4b1f-8f4b-0e7f5a0f1d55")

members = st.lists(
    st.builds(Member, st.integers(0, 1 << 40), st.integers(0, 1 << 50), st.integers(0, 32_767)), max_size=50
)
decisions = st.builds(
    Decision,
    batch_id=st.integers(0, 1 << 60),
    run_id=st.text(max_size=40),
    members=members.map(tuple),
    idle=st.lists(st.integers(0, 1 << 40), max_size=20).map(tuple),
)


def offsets(decision: Decision) -> dict[int, tuple[int, str]]:
    return {piece: (decision.batch_id, text) for piece, text in enumerate(encode_pieces(decision))}


def task(partition: int, *, attempt: int = 0, run: Run = RUN) -> Task:
    return Task(run=run, batch_id=5, partition=partition, attempt=attempt, number=900 + partition)


@given(decisions)
def test_a_decision_reads_back_as_it_was_written(decision: Decision) -> None:
    assert decode_offsets(offsets(decision)) == decision


@given(decisions, decisions)
def test_pieces_of_an_earlier_longer_decision_do_not_matter(before: Decision, after: Decision) -> None:
    mixed = {**{piece: (after.batch_id - 1, text) for piece, text in enumerate(["x"] * 8)}, **offsets(after)}
    assert decode_offsets(mixed) == after


def test_a_thousand_tasks_fit_and_no_piece_is_longer_than_a_broker_takes() -> None:
    many = Decision(
        batch_id=7,
        run_id=RUN.run_id,
        members=tuple(Member(n * 7919 % 100_003, n * 104_729 % 1_000_003, n % 300) for n in range(1000)),
    )
    pieces = encode_pieces(many)
    assert max(len(piece) for piece in pieces) <= 4096
    assert decode_offsets(offsets(many)) == many


def test_more_tasks_than_fit_are_refused_with_advice() -> None:
    chance = random.Random(1)
    members = tuple(Member(chance.getrandbits(40), chance.getrandbits(50), n % 30_000) for n in range(9000))
    with pytest.raises(DecisionTooLarge, match=r"9000 tasks.*coalesce"):
        encode_pieces(Decision(batch_id=7, run_id=RUN.run_id, members=members))


def test_nothing_committed_means_nothing_decided() -> None:
    assert decode_offsets({}) is None


@pytest.mark.parametrize("text", ["", "2 1 AAAA", "1 x AAAA", "somebody's own note"])
def test_offsets_that_are_no_decision_differ_from_no_offsets(text: str) -> None:
    with pytest.raises(SinkError, match="batch 3"):
        decode_offsets({0: (3, text)})


def test_a_decision_with_a_missing_piece_is_not_guessed_at() -> None:
    with pytest.raises(SinkError, match="incomplete"):
        decode_offsets({0: (3, "1 2 AAAA"), 1: (2, "BBBB")})


def test_only_the_mark_of_the_same_batch_and_run_says_that_it_is_applied() -> None:
    decision = Decision(batch_id=4, run_id="r")
    for mark, expected in [((4, "r"), True), ((3, "r"), False), ((4, "other"), False)]:
        found = decode_offsets({**offsets(decision), APPLIED_PARTITION: mark})
        assert found is not None
        assert found.is_applied is expected


def test_first_attempts_take_the_ids_of_the_batch_before_each_its_own() -> None:
    last = Decision(batch_id=4, run_id=RUN.run_id, members=(Member(10, 0, 0), Member(11, 1, 0)), idle=(12,))
    assert [choose_id_number(task(partition), last) for partition in range(4)] == [10, 11, 12, 903]


def test_other_attempts_other_runs_and_the_first_batch_take_new_ids() -> None:
    last = Decision(batch_id=4, run_id=RUN.run_id, members=(Member(10, 0, 0),))
    assert choose_id_number(task(0, attempt=1), last) == 900
    assert choose_id_number(task(0, run=Run(query_id="q", run_id="another")), last) == 900
    assert choose_id_number(task(0), None) == 900


def test_ids_that_had_no_task_this_time_stay_reusable_and_those_of_lost_tasks_do_not() -> None:
    last = Decision(
        batch_id=4, run_id=RUN.run_id, members=(Member(10, 0, 0), Member(11, 1, 0), Member(12, 2, 0))
    )
    after = decide(RUN, 5, members=[Member(10, 0, 1), Member(99, 3, 0)], idle=[], task_count=2, last=last)
    assert after.reusable == (10, 99, 12)


def test_the_ids_of_another_run_are_not_taken_over() -> None:
    last = Decision(batch_id=4, run_id="another", members=(Member(10, 0, 0), Member(11, 1, 0)))
    assert decide(RUN, 5, members=[], idle=[7], task_count=1, last=last).reusable == (7,)
