"""The workload that shows where the time goes."""

import cProfile
import itertools
from pathlib import Path

import pytest

from penstock.cli.bench.workloads.profile import shares_by_layer
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.rules import ValidationRules
from penstock.protocol.records.validation import validate_batch
from penstock.storage.tail import Tail


def test_a_profile_is_shared_out_among_the_layers(tmp_path: Path) -> None:
    batch = build_batch([NewRecord(value=b"v", timestamp=1)])
    rules, tail = ValidationRules(), Tail(0, 0)
    # A clock that ticks once a reading: the real one would count a garbage collection to whoever allocates just then.
    profile = cProfile.Profile(itertools.count().__next__, timeunit=1e-6)
    profile.enable()
    for number in range(50):
        validate_batch(batch, rules, 1)
        tail.add([number], [1])
    profile.disable()
    path = tmp_path / "profile"
    profile.dump_stats(path)
    shares, calls = shares_by_layer(str(path))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["check of the batch"] > shares["log and segment"] > 0
    assert calls > 100
