from penstock.spark.pipeline.core.graph import (
    cycles,
    outputs_of,
    streaming_names,
    topological_order,
    unused_warnings,
    upstream,
)
from penstock.spark.pipeline.core.model import FilterStep, Output, Pipeline, Step, TableSource, TopicSource
from penstock.spark.pipeline.outputs import ConsoleTarget


def step(name: str, *inputs: str, line: int = 0) -> Step:
    return Step(line=line, name=name, inputs=inputs, operation=FilterStep(condition="true"))


def pipeline(*steps: Step, outputs: tuple[str, ...] = ()) -> Pipeline:
    return Pipeline(
        name="p",
        sources=(TopicSource(name="topic", topics=("t",)), TableSource(name="table", path="t")),
        steps=steps,
        outputs=tuple(Output(name=f"to_{name}", input=name, target=ConsoleTarget()) for name in outputs),
    )


def test_steps_come_after_what_they_read_and_otherwise_as_they_stand() -> None:
    steps = [step("d", "c", "b"), step("a", "topic"), step("c", "a"), step("b", "a")]
    assert [each.name for each in topological_order(steps)] == ["a", "c", "b", "d"]


def test_each_circle_is_found_once_from_its_first_step_on() -> None:
    steps = [
        step("x", "a"),
        step("b", "a"),
        step("a", "c", "topic"),
        step("c", "b"),
        step("self", "self"),
        step("m", "n"),
        step("n", "m"),
    ]
    found = [[each.name for each in cycle] for cycle in cycles(steps)]
    assert found == [["b", "a", "c"], ["self"], ["m", "n"]]


def test_no_circle_is_seen_where_two_paths_meet() -> None:
    assert cycles([step("a", "topic"), step("b", "a"), step("c", "a"), step("d", "b", "c")]) == []


def test_a_step_is_a_stream_if_anything_it_reads_is_one() -> None:
    found = streaming_names(
        pipeline(step("joined", "facts", "topic"), step("facts", "table"), step("last", "joined"))
    )
    assert found == {"topic", "joined", "last"}


def test_what_no_output_needs_is_warned_about() -> None:
    graph = pipeline(step("used", "topic"), step("unused", "topic", line=7), outputs=("used",))
    assert [(each.line, each.is_warning, each.message) for each in unused_warnings(graph)] == [
        (0, True, "source table is not used: no output reads it, so it is not run"),
        (7, True, "step unused is not used: no output reads it, so it is not run"),
    ]


def test_both_ends_of_a_name_are_found() -> None:
    graph = pipeline(step("a", "topic"), step("b", "a", "table"), step("c", "topic"), outputs=("b", "c", "a"))
    assert upstream(graph, ["b"]) == {"b", "a", "topic", "table"}
    assert [output.name for output in outputs_of(graph, "a")] == ["to_b", "to_a"]
