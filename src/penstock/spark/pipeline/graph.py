"""How the parts of a pipeline hang together: what reads what, in which order, and which of it is a stream. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from penstock.spark.pipeline.model import Output, Pipeline, Step, TopicSource
from penstock.spark.pipeline.problems import Problem, did_you_mean, error, warning


def in_reading_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Each step after the steps that it reads, otherwise as they stand. Steps of a circle come last."""
    waiting, done, ordered = list(steps), set[str](), list[Step]()
    names = {step.name for step in steps}
    while waiting:
        ready = next((step for step in waiting if not (set(step.inputs) & names) - done), None)
        if ready is None:
            return (*ordered, *waiting)
        waiting.remove(ready)
        ordered.append(ready)
        done.add(ready.name)
    return tuple(ordered)


def connection_problems(
    steps: Sequence[Step],
    outputs: Sequence[Output],
    *,
    known: Collection[str],
    lines: Mapping[tuple[str, str], int],
) -> list[Problem]:
    """Inputs that are not among the `known` names, and circles.

    `lines` has (name of the step, input) -> line, where that is known better than the line of the step.
    """
    readers = [
        (f"step {step.name}", lines.get((step.name, name), step.line), name)
        for step in steps
        for name in step.inputs
    ]
    readers += [(f"output {output.name}", output.line, output.input) for output in outputs]
    problems = [
        error(
            line, f"{reader} reads `{name}`, which is neither a source nor a step{_known_names(name, known)}"
        )
        for reader, line, name in readers
        if name and known and name not in known
    ]
    return problems + [_circle_problem(circle) for circle in circles(steps)]


def _known_names(wrong: str, known: Collection[str]) -> str:
    return did_you_mean(wrong, known) or f": there are {', '.join(known) or 'none'}"


def _circle_problem(circle: Sequence[Step]) -> Problem:
    spelled = " → ".join(f"{step.name} (line {step.line})" if step.line else step.name for step in circle)
    first = circle[0].name
    if len(circle) == 1:
        message = f"step {first} reads itself: let it read another source or step"
    else:
        message = (
            f"steps read each other in a circle: {spelled} → {first}; let one of them read something else"
        )
    return error(circle[0].line, message)


def circles(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Each circle once, beginning with the step that stands first in the file; every step reads the one after it."""
    by_name = {step.name: step for step in steps}
    found: dict[frozenset[str], tuple[Step, ...]] = {}
    finished: set[str] = set()

    def search(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = [by_name[each] for each in path[path.index(name) :]]
            first = circle.index(min(circle, key=steps.index))
            found.setdefault(frozenset(path[path.index(name) :]), (*circle[first:], *circle[:first]))
        elif name in by_name and name not in finished:
            for read in by_name[name].inputs:
                search(read, (*path, name))
            finished.add(name)

    for name in by_name:
        search(name, ())
    return list(found.values())


def unused_warnings(pipeline: Pipeline) -> list[Problem]:
    """Sources and steps that no output needs: they are not run."""
    needed = upstream(pipeline, (output.input for output in pipeline.outputs))
    sources = [("source", source.name, source.line) for source in pipeline.sources]
    steps = [("step", step.name, step.line) for step in pipeline.steps]
    return [
        warning(line, f"{kind} {name} is not used: no output reads it, so it is not run")
        for kind, name, line in sources + steps
        if name not in needed
    ]


def upstream(pipeline: Pipeline, names: Iterable[str]) -> set[str]:
    """The names and everything that they read, directly or not."""
    inputs = {step.name: step.inputs for step in pipeline.steps}
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(inputs.get(name, ()))
    return seen


def outputs_of(pipeline: Pipeline, name: str) -> tuple[Output, ...]:
    """The outputs that a source or step reaches, directly or not."""
    return tuple(output for output in pipeline.outputs if name in upstream(pipeline, [output.input]))


def streams(pipeline: Pipeline) -> set[str]:
    """The names that are streams: topics, and every step that reads a stream. The others are tables."""
    found = {source.name for source in pipeline.sources if isinstance(source, TopicSource)}
    for step in in_reading_order(pipeline.steps):
        if set(step.inputs) & found:
            found.add(step.name)
    return found


def as_declared(name: str, declared: Collection[str]) -> str:
    """The name as it was declared: names in SQL are the same in upper and lower case."""
    return next((each for each in declared if each.casefold() == name.casefold()), name)
