import importlib

import pytest

from penstock_bench.catalogue import WORKLOADS, letters
from penstock_bench.figures import Figure, Findings, Goal, Ratio, Series


def test_every_workload_has_a_function_that_runs_it() -> None:
    for each in WORKLOADS.values():
        assert each.title
        assert each.method
        module, _, name = each.function.rpartition(".")
        assert callable(getattr(importlib.import_module(f"penstock_bench.workloads.{module}"), name))


def test_workloads_are_in_the_order_of_the_page() -> None:
    assert list(letters()) == sorted(WORKLOADS, key=str.swapcase)  # a to z, then A
    groups = ("machine", "peers", "cluster", "reference_commit")
    assert sorted("".join(letters(group) for group in groups)) == sorted(WORKLOADS)


def at_least(bound: float) -> Goal:
    return Goal(side="at least", bound=bound)


def at_most(bound: float) -> Goal:
    return Goal(side="at most", bound=bound)


@pytest.mark.parametrize(
    ("letter", "label", "goal"),
    [
        ("b", "raw client, 100 B / bare fdatasync loop", at_least(0.7)),
        ("b", "raw client, 100 B / bare fdatasync loop in a file grown beforehand", None),
        ("f", "idle memory (RSS)", at_most(60)),
        ("l", "100 B: Penstock / RabbitMQ, quorum queue", at_least(0.8)),
        ("l", "100 B: Penstock / Kafka, flush.messages=1", None),
        ("n", "100 B: Penstock, page cache / Kafka", at_least(1)),
        ("n", "100 B, CPU for a GB: Penstock / Kafka, flush.messages=1", at_most(1)),
        ("r", "Penstock, page cache, p50 of a message: 1,000 / 1 connection", at_most(1.5)),
        ("r", "Kafka, p50 of a message: 1,000 / 1 connection", None),
        ("w", "leader killed that was the controller", at_most(2)),
        ("w", "leader killed, until another leads", at_most(1)),
    ],
)
def test_a_goal_applies_to_the_labels_that_it_matches(letter: str, label: str, goal: Goal | None) -> None:
    assert WORKLOADS[letter].goal(label) == goal


def test_every_goal_has_a_bound_that_can_be_read() -> None:
    for each in WORKLOADS.values():
        for label in each.goals:
            assert each.goal(label.replace("{peer}", "NATS").replace("{kafka}", "Kafka")) is not None


def test_a_section_has_the_description_and_the_goals_of_its_workload() -> None:
    start = Series(label="idle memory (RSS)", unit="MiB", values=(50.0,))
    ratio = Ratio(label="idle memory (RSS) / bare Python", measured=start, reference=start)
    section = WORKLOADS["f"].section(Findings(ratios=(ratio,), figures=(Figure(series=start),), notes=("n",)))
    assert (section.key, section.title, section.notes) == ("f", "Start and idle memory", ("n",))
    assert section.figures[0].goal == at_most(60)
    assert section.ratios[0].goal is None
