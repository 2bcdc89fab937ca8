"""Where an output is, from the batch that it refuses to the batch that it takes with its group again."""

from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.positions import (
    furthest,
    in_step,
    new_position,
    refused,
    with_next_batch,
    written,
)


def at(offset: int) -> Offsets:
    return {"orders": {0: offset}}


def test_a_refused_batch_is_written_again_under_its_own_identity_and_then_what_came_after_it() -> None:
    position = refused(new_position(), 7, at(10), at(20))
    assert position.pending is not None
    assert (position.pending.query_id, position.pending.batch_id) == (position.identity, 7)
    assert with_next_batch(position, at(50)) == position  # first things first

    position = with_next_batch(written(position), at(50))
    assert position.pending is not None
    assert (position.pending.query_id, position.pending.batch_id) == (position.catch_up, 0)
    assert (position.pending.start, position.pending.end) == (at(20), at(50))
    assert position.pending.rows_max == 30

    position = with_next_batch(written(position), at(60))
    assert position.pending is not None
    assert position.pending.batch_id == 1


def test_an_output_that_has_reached_its_group_waits_for_its_next_batch() -> None:
    position = written(refused(new_position(), 7, at(10), at(20)))
    assert with_next_batch(position, at(20)) == position
    assert with_next_batch(position, at(10)) == position  # its group replays the batch
    assert position.is_behind
    assert not in_step(position).is_behind


def test_an_output_that_was_reset_to_a_later_place_waits_until_its_group_has_passed_it() -> None:
    position = new_position(reached={"orders": {0: 50, 1: 0}})
    assert with_next_batch(position, {"orders": {0: 20, 1: 0}}) == position

    pending = with_next_batch(position, {"orders": {0: 20, 1: 7}}).pending
    assert pending is not None
    assert pending.end == {"orders": {0: 50, 1: 7}}
    assert pending.rows_max == 7


def test_the_furthest_of_several_positions_is_taken_in_each_partition() -> None:
    found = furthest([{"a": {0: 3, 1: 9}}, {"a": {0: 5}, "b": {0: 1}}])
    assert found == {"a": {0: 5, 1: 9}, "b": {0: 1}}
