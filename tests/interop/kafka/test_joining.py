"""A Penstock broker joins a cluster of Kafka, or says why it cannot and changes nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.cluster.state import ClusterState
from tests.cli.conftest import run_command
from tests.interop.kafka.mixed import MixedCluster, segment_bytes
from tests.support.broker import BrokerFailed, BrokerProcess
from tests.support.plugin import require_kafka

ONE_REPLICA = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "min.insync.replicas": "1",
}
SMALL_SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "internal.metadata.log.segment.bytes": "9000",
    "metadata.max.retention.bytes": "4000",
    "metadata.max.retention.ms": "2000",
}
"""Kafka then keeps only the newest of its metadata in its log, so that a node that joins needs a snapshot."""


def write_metadata(cluster: MixedCluster) -> None:
    """Some 80 KB of metadata in topics with long settings and few partitions."""
    for number in range(40):
        long = ",".join(f"{each}:1" for each in range(400))
        cluster.create_topic(f"many-{number}", [[1]], leader_replication_throttled_replicas=long)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    """One Kafka node, with a dynamic quorum, and Penstock's node 11."""
    cluster = MixedCluster(tmp_path_factory.mktemp("cluster"), require_kafka(), 1, settings=ONE_REPLICA)
    try:
        cluster.start_kafka()
        cluster.add_penstock(11)
        yield cluster
    finally:
        cluster.close()


def broker_ids(state: ClusterState) -> list[int]:
    return [each.id for each in state.brokers]


def refusal(cluster: MixedCluster, node: BrokerProcess) -> str:
    """Start a node that is refused; returns its last words."""
    before = cluster.state()
    with pytest.raises(BrokerFailed) as failed:
        node.start()
    assert cluster.state().brokers == before.brokers
    return str(failed.value)


def test_status_shows_which_node_is_of_which_product(cluster: MixedCluster) -> None:
    shown = run_command("cluster", "status", "--bootstrap-server", cluster.penstock[11].bootstrap).stdout
    lines = [line.split() for line in shown.splitlines()]
    assert [line[:4] for line in lines if line[0] in ("1", "11")][:2] == [
        ["1", "Kafka", "broker,", "controller"],
        ["11", "Penstock", "broker", cluster.penstock[11].bootstrap],
    ]


def test_a_directory_of_another_cluster_is_refused(cluster: MixedCluster, tmp_path: Path) -> None:
    node = cluster.new_penstock(12)
    alone = BrokerProcess(tmp_path, arguments=["--node-id", "12"])
    alone.start()
    alone.terminate()
    alone.data_dir.rename(node.data_dir)
    assert "belongs to cluster" in refusal(cluster, node)


def test_the_node_id_of_a_controller_is_refused_before_a_directory_is_formatted(
    cluster: MixedCluster,
) -> None:
    node = cluster.new_penstock(1)
    assert "its controller 1 has the id of this node" in refusal(cluster, node)
    assert not (node.data_dir / "meta.properties").exists()


def test_the_node_id_of_a_running_broker_is_refused(cluster: MixedCluster) -> None:
    settings = {"initial.broker.registration.timeout.ms": "1000"}
    node = cluster.new_penstock(11, directory="other-11", settings=settings)
    assert "a broker with node id 11 runs already" in refusal(cluster, node)


def test_the_listener_of_a_broker_is_not_taken_for_a_controllers(cluster: MixedCluster) -> None:
    servers = {"controller.quorum.bootstrap.servers": cluster.kafka[1].bootstrap}
    node = cluster.new_penstock(12, directory="misled", settings=servers)
    assert "it is a listener of brokers" in refusal(cluster, node)


def test_a_second_node_of_penstock_needs_the_token_of_the_first(
    cluster: MixedCluster, tmp_path: Path
) -> None:
    """A node on another host, which has not got the token from the runtime directory of this user."""
    elsewhere = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    node = cluster.new_penstock(13, environment=elsewhere)
    assert "share a token, which this node cannot prove" in refusal(cluster, node)
    token = tmp_path / "token"
    token.write_text(run_command("cluster", "token", "--data", str(cluster.penstock[11].data_dir)).stdout)
    node.arguments += ["--token-file", str(token)]
    cluster.penstock[13] = node
    node.start()
    assert broker_ids(cluster.state()) == [1, 11, 13]


def test_a_broker_follows_a_static_quorum_and_survives_crashes(tmp_path: Path) -> None:
    """kraft.version 0: the voters are in the settings only, also when a snapshot has replaced the start of the log."""
    settings = {**ONE_REPLICA, **SMALL_SNAPSHOTS}
    cluster = MixedCluster(tmp_path, require_kafka(), 1, has_static_voters=True, settings=settings)
    try:
        cluster.start_kafka()
        write_metadata(cluster)
        node = cluster.add_penstock(11)
        assert list((node.data_dir / "__cluster_metadata-0").glob("*.checkpoint"))
        cluster.create_topic("t", [[11, 1], [1, 11]])
        for value in range(3):
            for partition in (0, 1):
                cluster.produce("t", partition, b"%d" % value)
            if value == 0:
                node.kill()
                node.start()
            elif value == 1:
                cluster.kafka[1].kill()
                cluster.kafka[1].start()
            cluster.await_healthy()
        node.restart()
        cluster.await_healthy()
        shown = run_command("cluster", "status", "--bootstrap-server", node.bootstrap).stdout
        assert "metadata quorum: leader 1," in shown
        for number in (0, 1):
            replicas = [segment_bytes(cluster.data_of(each) / f"t-{number}") for each in (1, 11)]
            assert replicas[0] == replicas[1]
            assert len(replicas[0]) > 0
    finally:
        cluster.close()
