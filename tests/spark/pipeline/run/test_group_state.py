"""What is stored of outputs that share their reads, with the files of the checkpoints in memory."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from penstock.spark.pipeline.core.model import TopicSource
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.core.queries import PlannedQuery, QueryGroup
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.group_state import GroupState, check_not_shared
from penstock.spark.pipeline.run.positions import in_step, refused

QUERY = "_source.orders/query"
SOURCE = TopicSource(name="orders", topics=("orders",))


class Files:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def write(self, path: str, text: str) -> None:
        self.texts[path] = text

    def names(self, path: str) -> list[str]:
        return [each.removeprefix(f"{path}/") for each in self.texts if each.startswith(f"{path}/")]

    def add_query(self, key: str, ends: list[int], finished: int) -> None:
        """Write what Spark writes of a query that planned a batch up to each of these offsets."""
        self.texts[f"{key}/metadata"] = json.dumps({"id": f"id of {key}"})
        for batch, end in enumerate(ends):
            self.texts[f"{key}/offsets/{batch}"] = f'v1\n{{"batchWatermarkMs":0}}\n{{"orders":{{"0":{end}}}}}'
        for batch in range(finished + 1):
            self.texts[f"{key}/commits/{batch}"] = "v1\n{}"


def at(offset: int) -> Offsets:
    return {"orders": {0: offset}}


def planned(name: str) -> PlannedQuery:
    return PlannedQuery(key=name, name=f"shop.{name}", reads=(SOURCE,), input="orders")


def opened(files: Any, *names: str, first: int = 0, starts: Mapping[str, int] | None = None) -> GroupState:
    members = tuple(planned(name) for name in names)
    group = QueryGroup(key="_source.orders", name="g", members=members, shared_source="orders")
    return GroupState(files, group, lambda key: at((starts or {}).get(key, first)))


def test_a_new_group_begins_where_its_source_starts_and_keeps_that() -> None:
    files = Files()
    state = opened(files, "a", "b", first=5)
    assert not any(position.is_behind for position in state.positions.values())
    assert len({position.identity for position in state.positions.values()}) == 2
    again = opened(files, "a", "b", first=9)
    assert again.positions == state.positions
    assert (again.start, again.end(), again.is_unfinished) == (at(5), at(5), True)


def test_a_group_begins_at_the_furthest_of_the_checkpoints_that_its_outputs_had() -> None:
    files = Files()
    files.add_query("ahead", [10, 30], finished=1)
    files.add_query("back", [10, 20], finished=1)
    files.add_query("died", [10, 25], finished=0)
    state = opened(files, "ahead", "back", "died", "new")
    ahead, back, died, new = (state.positions[name] for name in ("ahead", "back", "died", "new"))
    assert (state.start, ahead.is_behind) == (at(30), False)
    assert (back.reached, new.reached) == (at(20), at(0))
    assert died.pending is not None
    assert (died.pending.query_id, died.pending.batch_id) == ("id of died", 1)
    assert (died.pending.start, died.pending.end) == (at(10), at(25))
    # the positions are lost: an old checkpoint is not continued twice
    for name in [each for each in files.texts if each.startswith("_source.orders/outputs/")]:
        del files.texts[name]
    assert opened(files, "ahead").positions["ahead"].reached == at(0)


def test_an_output_that_is_added_starts_where_its_file_or_a_reset_says() -> None:
    files = Files()
    opened(files, "a")
    files.add_query("_source.orders/query", [10, 20], finished=1)
    assert opened(files, "a", "b", first=3).positions["b"].reached == at(3)
    assert opened(files, "a", "c", first=90).positions["c"].reached == at(90)
    state = opened(files, "a", "reset", starts={"reset": 4})
    assert (state.positions["reset"].reached, state.positions["a"].is_behind) == (at(4), False)


def test_an_output_that_was_out_of_the_file_for_a_run_continues_where_it_was() -> None:
    files = Files()
    opened(files, "kept", "removed")
    files.add_query(QUERY, [10], finished=0)
    opened(files, "kept")
    files.add_query(QUERY, [10, 30], finished=1)
    assert opened(files, "kept", "removed").positions["removed"].reached == at(10)


def test_an_output_that_may_have_an_unfinished_batch_writes_it_again_under_the_same_identity() -> None:
    files = Files()
    identity = opened(files, "kept", "removed").positions["removed"].identity
    files.add_query(QUERY, [10, 20], finished=0)
    opened(files, "kept")
    files.add_query(QUERY, [10, 20], finished=1)
    pending = opened(files, "kept", "removed").positions["removed"].pending
    assert pending is not None
    assert (pending.query_id, pending.batch_id) == (identity, 1)
    assert (pending.start, pending.end) == (at(10), at(20))


def test_what_a_refused_batch_had_is_beyond_the_end_while_its_group_has_not_finished_it() -> None:
    files = Files()
    state = opened(files, "a", "b")
    files.add_query("_source.orders/query", [10, 20], finished=0)
    assert state.span(1) == (at(10), at(20))
    state.save("b", refused(state.positions["b"], 1, *state.span(1)))
    again = opened(files, "a", "b")
    assert (again.end(), again.newest_end()) == (at(10), at(20))
    again.save("b", in_step(again.positions["b"]))
    assert opened(files, "a", "b").newest_end() == at(10)


def test_a_checkpoint_that_does_not_tell_one_position_is_refused() -> None:
    files = Files()
    files.add_query("joined", [10], finished=0)
    files.texts["joined/offsets/0"] += '\n{"returns":{"0":1}}'
    with pytest.raises(PipelineError, match="does not say where its output is"):
        opened(files, "joined")


def test_an_output_that_shared_its_reads_cannot_go_on_by_itself() -> None:
    files: Any = Files()
    check_not_shared(files, planned("a"))
    files.add_query("a", [10], finished=0)
    check_not_shared(files, planned("a"))
    opened(files, "a")
    with pytest.raises(
        PipelineError, match=r"remove _source\.orders/outputs/a\.json and a/ from the checkpoints"
    ):
        check_not_shared(files, planned("a"))
