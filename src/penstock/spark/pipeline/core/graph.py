"""The graph of a pipeline: inputs, order, cycles, streams. No I/O."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from penstock.spark.pipeline.core.model import Output, Pipeline, Step, TopicSource
from penstock.spark.pipeline.core.problems import Problem, did_you_mean, error, warning


def topological_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Sort each step after the steps that it reads, else keep the order. Steps of a cycle come last."""
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
    """Report inputs that are not among the `known` names, and cycles.

    `lines` has (name of the step, input) -> line, if it is more precise than the line of the step.
    """
    readers = [
        (f"step {step.name}", lines.get((step.name, name), step.line), name)
        for step in steps
        for name in step.inputs
    ]
    readers += [(f"output {output.name}", output.line, output.input) for output in outputs]
    problems = []
    for reader, line, name in readers:
        if name and known and name not in known:
            hint = did_you_mean(name, known) or f": there are {', '.join(known)}"
            problems.append(
                error(line, f"{reader} reads `{name}`, which is neither a source nor a step{hint}")
            )
    return problems + [_cycle_problem(cycle) for cycle in cycles(steps)]


def _cycle_problem(cycle: Sequence[Step]) -> Problem:
    spelled = " → ".join(f"{step.name} (line {step.line})" if step.line else step.name for step in cycle)
    first = cycle[0].name
    if len(cycle) == 1:
        message = f"step {first} reads itself: let it read another source or step"
    else:
        message = (
            f"steps read each other in a cycle: {spelled} → {first}; let one of them read something else"
        )
    return error(cycle[0].line, message)


def cycles(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Return each cycle once, from the step that is first in the file; every step reads the next one."""
    by_name = {step.name: step for step in steps}
    found: dict[frozenset[str], tuple[Step, ...]] = {}
    finished: set[str] = set()

    def search(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            cycle = [by_name[each] for each in path[path.index(name) :]]
            first = cycle.index(min(cycle, key=steps.index))
            found.setdefault(frozenset(path[path.index(name) :]), (*cycle[first:], *cycle[:first]))
        elif name in by_name and name not in finished:
            for read in by_name[name].inputs:
                search(read, (*path, name))
            finished.add(name)

    for name in by_name:
        search(name, ())
    return list(found.values())


def unused_warnings(pipeline: Pipeline) -> list[Problem]:
    needed = upstream(pipeline, (output.input for output in pipeline.outputs))
    sources = [("source", source.name, source.line) for source in pipeline.sources]
    steps = [("step", step.name, step.line) for step in pipeline.steps]
    return [
        warning(line, f"{kind} {name} is not used: no output reads it, so it is not run")
        for kind, name, line in sources + steps
        if name not in needed
    ]


def upstream(pipeline: Pipeline, names: Iterable[str]) -> set[str]:
    """Return the names and all their inputs, direct and indirect."""
    return reachable(names, {step.name: step.inputs for step in pipeline.steps})


def reachable(starts: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    waiting, seen = list(starts), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(edges.get(name, ()))
    return seen


def outputs_of(pipeline: Pipeline, name: str) -> tuple[Output, ...]:
    return tuple(output for output in pipeline.outputs if name in upstream(pipeline, [output.input]))


def streaming_names(pipeline: Pipeline) -> set[str]:
    found = {source.name for source in pipeline.sources if isinstance(source, TopicSource)}
    for step in topological_order(pipeline.steps):
        if set(step.inputs) & found:
            found.add(step.name)
    return found


def declared_spelling(name: str, declared: Collection[str]) -> str:
    """Return the declared spelling of a name; SQL ignores case."""
    return next((each for each in declared if each.casefold() == name.casefold()), name)
