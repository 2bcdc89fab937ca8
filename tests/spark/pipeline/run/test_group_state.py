"""What is stored of outputs that share their reads, with the files of the checkpoints in memory."""

import json
from typing import Any

import pytest

from penstock.spark.pipeline.core.model import TopicSource
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.core.queries import PlannedQuery, QueryGroup
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.group_state import GroupState, check_not_shared
from penstock.spark.pipeline.run.positions import in_step, refused

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
    return PlannedQuery(key=name, name=f"shop.{name}", reads=(SOURCE,))


def opened(files: Any, *names: str, first: int = 0) -> GroupState:
    members = tuple(planned(name) for name in names)
    group = QueryGroup(key="_source.orders", name="g", members=members, shared_source="orders")
    return GroupState(files, group, lambda: at(first))


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


def test_an_output_that_is_added_catches_up_and_begins_no_later_than_its_group_is() -> None:
    files = Files()
    opened(files, "a")
    files.add_query("_source.orders/query", [10, 20], finished=1)
    assert opened(files, "a", "b", first=3).positions["b"].reached == at(3)
    assert opened(files, "a", "c", first=90).positions["c"].reached == at(20)


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
