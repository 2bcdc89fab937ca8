import logging
from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.quorum.driver import RaftDriver
from penstock.cluster.quorum.quorum import Quorum
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload


def quorum_of(*voters: int) -> Quorum:
    node = SimpleNamespace(voters=SimpleNamespace(ids=voters), me=SimpleNamespace(node_id=3))
    driver = cast("RaftDriver", SimpleNamespace(node=node))
    return Quorum(
        AppliedMetadata(MetadataImage("cluster")),
        lambda _quorum, _on_failure: driver,
        clock=ManualClock(),
        offload=InlineOffload(),
    )


def test_a_leader_and_its_loss_are_logged_once_however_often_it_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quorum = quorum_of(1, 2, 3)
    with caplog.at_level(logging.INFO, "penstock.cluster.quorum.quorum"):
        for _ in range(3):  # no majority: the election fails, and the last leader is looked for again
            quorum.leader_changed(1, 5)
            quorum.leader_changed(None, 5)
        quorum.leader_changed(2, 6)
    assert [each.getMessage() for each in caplog.records] == [
        "Metadata quorum has a leader. node=1 epoch=5",
        "Metadata quorum lost its leader. node=1 epoch=5",
        "Metadata quorum has a leader. node=2 epoch=6",
    ]
