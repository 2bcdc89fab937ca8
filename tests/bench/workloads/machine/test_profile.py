"""The workload that shows where the time goes."""

import cProfile
import itertools
from pathlib import Path
from types import ModuleType

import pytest

from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.rules import ValidationRules
from penstock.protocol.records.validation import validate_batch
from penstock.runtime import completion
from penstock.server import connection
from penstock.storage import flusher, sync
from penstock.storage.segment.tail import Tail
from penstock.storage.storable_batch import StorableBatch
from penstock_bench.workloads.machine.profile import layer_of, shares_by_layer


def test_the_time_of_a_profile_is_divided_among_the_layers(tmp_path: Path) -> None:
    batch = build_batch([NewRecord(value=b"v", timestamp=1)])
    rules, tail = ValidationRules(), Tail(0, 0)
    # A clock that ticks once for each reading: a real one would charge garbage collection to the caller that allocates.
    profile = cProfile.Profile(itertools.count().__next__, timeunit=1e-6)
    profile.enable()
    for number in range(50):
        header = validate_batch(batch, rules, 1).header
        tail.add([StorableBatch(batch, header, number, number, 1, len(batch))])
    profile.disable()
    path = tmp_path / "profile"
    profile.dump_stats(path)
    shares, calls = shares_by_layer(str(path))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["check of the batch"] > shares["log and segment"] > 0
    assert calls > 100


@pytest.mark.parametrize(
    ("module", "layer"),
    [
        (connection, "connection and dispatch"),
        (flusher, "sync"),
        (sync, "sync"),
        (completion, "clock, metrics, completions"),
    ],
)
def test_modules_of_the_broker_are_in_their_layers(module: ModuleType, layer: str) -> None:
    assert layer_of(str(module.__file__)) == layer
