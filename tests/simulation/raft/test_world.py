"""The quorum under seeded faults: a fixed set of seeds, which must hold and repeat exactly."""

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from penstock_simulation import __main__ as command
from penstock_simulation.raft.world import RaftWorld, plan_of
from penstock_simulation.violation import Violation


@pytest.mark.parametrize("seed", range(100, 116))
def test_no_invariant_breaks_under_faults(seed: int) -> None:
    RaftWorld(seed).run()


def test_a_seed_reproduces_the_same_records() -> None:
    def run(seed: int) -> tuple[object, ...]:
        world = RaftWorld(seed)
        world.run()
        return world.acked, world.checker.committed, world.checker.leaders, world.timeline.now_ms

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_the_command_runs_a_range_of_seeds_and_prints_those_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(seed: int) -> tuple[int, str]:
        if seed == 2:
            raise Violation("broken", "on purpose")
        return 10, ""

    monkeypatch.setattr(command, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(command, "LEVELS", {"raft": run})
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
