"""The quorum under seeded faults: a fixed set of seeds, which must hold and repeat exactly."""

from typing import Self

import msgspec
import pytest

from penstock_simulation import __main__ as command
from penstock_simulation.raft.world import RaftWorld, plan_of


@pytest.mark.parametrize("seed", range(100, 116))
def test_no_invariant_breaks_under_faults(seed: int) -> None:
    RaftWorld(seed).run()


def test_a_seed_gives_the_same_records_again() -> None:
    def run(seed: int) -> tuple[object, ...]:
        world = RaftWorld(seed)
        world.run()
        return world.acked, world.checker.committed, world.checker.leaders, world.timeline.now_ms

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_the_command_runs_a_range_of_seeds_and_prints_those_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Pool:
        def __init__(self, _jobs: int) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def map(self, work: object, seeds: range, chunksize: int) -> object:
            return [(seed, "Violation: broken" if seed == 2 else None, 10) for seed in seeds]

    monkeypatch.setattr(command, "ProcessPoolExecutor", Pool)
    assert command.main(["--seeds", "0..4"]) == 1
    said = capsys.readouterr().out
    assert "seed 2 FAILED: Violation: broken" in said
    assert "--seed 2" in said
    assert "4 seeds" in said
    assert command.main(["--seeds", "3..5"]) == 0


@pytest.mark.parametrize("seed", range(6))
def test_no_invariant_breaks_beside_a_hostile_node(seed: int) -> None:
    world = RaftWorld(seed, msgspec.structs.replace(plan_of(seed), hostile_interval_ms=20))
    world.run()
    assert world.hostile.sent_count > 100
