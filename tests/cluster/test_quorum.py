import logging
from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.metadata.log import MetadataLog
from penstock.cluster.quorum import Quorum
from penstock.cluster.raft.driver import RaftDriver
from penstock.observability.clock import Clock
from penstock.observability.offload import Offload


def quorum_of(*voters: int) -> Quorum:
    quorum = Quorum(cast("MetadataLog", None), cast("Clock", None), cast("Offload", None))
    node = SimpleNamespace(voters=SimpleNamespace(ids=voters), key=SimpleNamespace(node_id=3))
    quorum.driver = cast("RaftDriver", SimpleNamespace(node=node))
    return quorum


def test_a_leader_and_its_loss_are_told_once_however_often_it_is_looked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quorum = quorum_of(1, 2, 3)
    with caplog.at_level(logging.INFO, "penstock.cluster.quorum"):
        for _ in range(3):  # no majority: the election is given up, and the last leader looked for again
            quorum.leader_changed(1, 5)
            quorum.leader_changed(None, 5)
        quorum.leader_changed(2, 6)
    assert [each.getMessage() for each in caplog.records] == [
        "node 1 leads the metadata quorum in epoch 5",
        "nobody leads the metadata quorum as far as is known: node 1 did, in epoch 5",
        "node 2 leads the metadata quorum in epoch 6",
    ]
