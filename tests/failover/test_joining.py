"""Starting a cluster and what is refused, in one clear line."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker import BrokerProcess, free_port
from tests.support.cluster import running_cluster

pytestmark = pytest.mark.timeout(120)


def refused(data: Path, node_id: int, member: str) -> str:
    """What a node says that cannot join."""
    command = [sys.executable, "-m", "penstock.cli.main", "up", "--listen", f"127.0.0.1:{free_port()}"]
    command += ["--data", str(data), "--node-id", str(node_id), "--join", member]
    command += ["--set", "initial.broker.registration.timeout.ms=3000", "--log-level", "error"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    (line,) = done.stderr.strip().splitlines()
    return line


def test_a_node_id_that_is_taken_is_refused(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 2) as cluster:
        line = refused(tmp_path / "third", 2, cluster.nodes[1].bootstrap)
        assert "a broker with node id 2 runs already: choose another --node-id, or stop that one" in line


def test_a_disk_of_another_cluster_is_refused(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "one", 1) as one, running_cluster(tmp_path / "two", 1) as two:
        stray = BrokerProcess(
            tmp_path / "stray", arguments=["--node-id", "5", "--join", two.nodes[1].bootstrap]
        )
        stray.start().terminate()
        line = refused(stray.data_dir, 5, one.nodes[1].bootstrap)
        assert "belongs to cluster" in line
        assert "give an empty data directory with --data DIR, or join the cluster it belongs to" in line


def test_nobody_to_join_is_told(tmp_path: Path) -> None:
    line = refused(tmp_path / "lonely", 2, f"127.0.0.1:{free_port()}")
    assert "no member of the cluster answers" in line
    assert "start one first, or correct --join HOST:PORT" in line


def test_a_node_that_returns_needs_no_flag(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", 2)
        node = cluster.nodes[2]
        assert node.terminate() == 0
        again = BrokerProcess(tmp_path / "node-2", arguments=["--node-id", "2"], port=node.port)
        cluster.nodes[2] = again.start()
        cluster.await_in_sync("t")


def test_a_member_starts_again_although_the_node_that_its_flag_names_is_down(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic("t", 2)
        for number in (1, 2):
            assert cluster.nodes[number].terminate() == 0
        cluster.nodes[2].start()  # with --join of the first, as a unit file has it
        cluster.await_in_sync("t")


def test_a_new_node_joins_through_any_of_the_members_that_are_named(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 1) as cluster:
        nobody = f"127.0.0.1:{free_port()}"
        for number, seeds in ((2, [f"{nobody},{cluster.bootstrap}"]), (3, [nobody, cluster.bootstrap])):
            flags = [word for seed in seeds for word in ("--join", seed)]
            node = BrokerProcess(tmp_path / str(number), arguments=["--node-id", str(number), *flags])
            cluster.nodes[number] = node.start()
        cluster.create_topic("t", 2)
        cluster.await_in_sync("t")
