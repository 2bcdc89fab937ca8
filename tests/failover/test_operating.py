"""`penstock cluster`: a broker is described, drained and removed, and stops, while the others continue."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from penstock.cli.connect.requests import RequestClient
from penstock.cli.errors import CommandError
from penstock.protocol.messages import unregister_broker
from tests.cli.conftest import call_command
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

pytestmark = pytest.mark.timeout(180)


def ask(cluster: ClusterProcesses, *arguments: str) -> str:
    done = call_command("cluster", *arguments, "--bootstrap-server", cluster.bootstrap)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def refused(cluster: ClusterProcesses, *arguments: str) -> str:
    done = call_command("cluster", *arguments, "--bootstrap-server", cluster.bootstrap)
    assert done.returncode != 0, done
    (line,) = done.stderr.splitlines()
    return line


def status(cluster: ClusterProcesses) -> Any:
    return json.loads(ask(cluster, "status", "--json"))


def test_a_broker_is_drained_removed_and_stopped_while_the_others_continue(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        admin = cluster.admin()  # kept until the answer has come
        admin.create_topics([NewTopic("t", 6, 2)])["t"].result(30)
        shown = ask(cluster, "status")
        assert "metadata quorum: leader 1" in shown
        assert "all 6 partition(s) have a leader and every replica in sync" in shown
        assert "there is no broker 9: there are 1, 2, 3" in refused(cluster, "drain", "9")
        assert "broker 3 holds" in refused(cluster, "remove", "3")

        assert "AFTER" in ask(cluster, "drain", "3", "--dry-run")
        assert "moved " in ask(cluster, "drain", "3")
        assert ask(cluster, "drain", "3") == "broker 3 holds no replicas\n"
        eventually(lambda: cluster.in_sync("t") == [{1, 2}] * 6, "two replicas each, none on broker 3")

        check_removed(cluster, 3, left=[1, 2])
        assert status(cluster)["unhealthy"] == []
        # Neither of two voters is a majority without the other: its vote has to go while it still runs.
        check_removed(cluster, 1, "--force", left=[2])


def check_removed(cluster: ClusterProcesses, number: int, *options: str, left: list[int]) -> None:
    """A running broker that is removed stops by itself, with one line, and is no longer a voter."""
    node = cluster.nodes.pop(number)
    logged = len(node.log_path.read_text())
    assert f"broker {number} is removed" in ask(cluster, "remove", str(number), *options)
    eventually(lambda: not node.is_running, f"broker {number} stops")
    written = node.log_path.read_text()[logged:].splitlines()
    assert f"the registration of node {number} is gone" in written[-1]
    assert sum("Metadata quorum " not in line for line in written) == 1, written
    found = status(cluster)
    assert [each["id"] for each in found["brokers"]] == left
    assert [each["node"] for each in found["quorum"]["nodes"] if each["isVoter"]] == left


def test_a_new_broker_gets_its_share_of_replicas_and_leaders_and_may_be_removed(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", 6)
        cluster.add(3)
        assert "moved 4 of 4 partition(s)" in ask(cluster, "rebalance")
        cluster.await_leaders("t", [1, 1, 2, 2, 3, 3])
        assert "replicas are spread evenly already" in ask(cluster, "rebalance", "--replicas")
        deprecated = call_command(
            "cluster", "elect-leaders", "--replicas", "--bootstrap-server", cluster.bootstrap
        )
        assert "replicas are spread evenly already" in deprecated.stdout
        assert deprecated.stderr == "penstock: elect-leaders --replicas is deprecated, use rebalance\n"
        assert "every preferred leader that is in sync" in ask(cluster, "elect-leaders", "--dry-run")
        check_eviction(cluster)


def check_eviction(cluster: ClusterProcesses) -> None:
    """A broker that is removed while it runs logs it and stops; after a restart it is back."""
    with (
        RequestClient(cluster.bootstrap) as client,
        pytest.raises(CommandError, match="Broker 3 is running and has a vote in the metadata quorum"),
    ):
        client.ask(unregister_broker.UnregisterBrokerRequest(broker_id=3))
    ask(cluster, "remove", "3", "--force")
    eventually(lambda: not cluster.nodes[3].is_running, "broker 3 stops")
    assert "the registration of node 3 is gone" in cluster.nodes[3].log_tail()
    cluster.nodes[3].start()
    eventually(lambda: [len(each) for each in cluster.in_sync("t")] == [2] * 6, "both replicas in sync")
