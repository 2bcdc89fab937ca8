"""Nodes that join a cluster, and refusals with one clear line."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.cluster.state import read_quorum
from penstock.cli.connect.requests import RequestClient
from tests.cli.conftest import call_command
from tests.support.broker import BrokerFailed, BrokerProcess, free_port
from tests.support.cluster import eventually, running_cluster

pytestmark = pytest.mark.timeout(120)


def refused(data: Path, node_id: int, member: str, *more: str, **environment: str) -> str:
    """The error of a node that cannot join."""
    command = [sys.executable, "-m", "penstock.cli.main", "up", "--listen", f"127.0.0.1:{free_port()}"]
    command += ["--data", str(data), "--node-id", str(node_id), "--join", member]
    command += ["--set", "initial.broker.registration.timeout.ms=3000", "--log-level", "error", *more]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=os.environ | environment
    )
    assert done.returncode != 0
    (line,) = done.stderr.strip().splitlines()
    return line


def test_a_node_id_in_use_is_refused(tmp_path: Path) -> None:
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


def test_a_node_without_a_reachable_cluster_reports_an_error(tmp_path: Path) -> None:
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


# --- the token


def token_of(node: BrokerProcess) -> str:
    done = call_command("cluster", "token", "--data", str(node.data_dir))
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.strip()


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_cluster(tmp_path_factory.mktemp("member"), 1) as cluster:
        yield cluster.nodes[1]


def test_the_token_is_kept_where_only_the_brokers_user_reads_it(member: BrokerProcess) -> None:
    path, token = member.data_dir / "cluster.secret", token_of(member)
    assert path.read_text().strip() == token
    assert len(token) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    left_behind = (Path(os.environ["XDG_RUNTIME_DIR"]) / "penstock").iterdir()
    (left,) = [each for each in left_behind if each.read_text().strip() == token]
    assert stat.S_IMODE(left.stat().st_mode) == 0o600


def test_a_node_of_another_user_needs_the_token(member: BrokerProcess, tmp_path: Path) -> None:
    line = refused(tmp_path / "data", 2, member.bootstrap, XDG_RUNTIME_DIR=str(tmp_path), HOME=str(tmp_path))
    assert "A node that joins needs the cluster's token" in line
    assert "penstock cluster token" in line
    assert not (tmp_path / "data").exists()


def test_a_wrong_token_is_refused_and_not_repeated(member: BrokerProcess, tmp_path: Path) -> None:
    line = refused(tmp_path / "data", 2, member.bootstrap, "--token", "ab" * 32)
    assert "it cannot prove that it is a member of this cluster" in line
    assert "abab" not in line
    assert not (tmp_path / "data").exists()
    assert "--token is not a token" in refused(tmp_path / "data", 2, member.bootstrap, "--token", "ab")


def test_a_node_with_the_token_joins_and_keeps_it_from_any_source(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 1) as cluster:
        token, member = token_of(cluster.nodes[1]), cluster.nodes[1].bootstrap
        (tmp_path / "token").write_text(f"{token}\n")
        alone = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
        ways: list[tuple[list[str], dict[str, str]]] = [
            (["--token", token], {}),
            (["--token-file", str(tmp_path / "token")], {}),
            ([], {"PENSTOCK_TOKEN": token}),
        ]
        for number, (arguments, environment) in enumerate(ways, 2):
            cluster.nodes[number] = BrokerProcess(
                tmp_path / str(number),
                arguments=["--node-id", str(number), "--join", member, *arguments],
                environment=alone | environment,
            ).start()
            assert token_of(cluster.nodes[number]) == token
        cluster.create_topic("t", len(cluster.nodes))  # each has replicas of three of the partitions
        eventually(lambda: [len(each) for each in cluster.in_sync("t")] == [3] * 4, "all replicas in sync")


def test_a_token_that_differs_from_the_directorys_is_refused(tmp_path: Path) -> None:
    node = BrokerProcess(tmp_path).start()
    node.terminate()
    node.arguments = ["--token", "ab" * 32]
    with pytest.raises(BrokerFailed, match="the given token differs from that in"):
        node.start()


# --- data of an earlier version, which had no token


def test_a_single_node_without_a_token_creates_one(tmp_path: Path) -> None:
    node = BrokerProcess(tmp_path).start()
    node.kill()
    (node.data_dir / "cluster.secret").unlink()
    node.start()
    assert len(token_of(node)) == 64
    node.kill()


def test_a_cluster_without_a_token_is_given_one_while_it_is_stopped(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 2) as cluster:
        with RequestClient(cluster.bootstrap) as client:
            eventually(lambda: sum(each.is_voter for each in read_quorum(client).nodes) == 2, "two voters")
        for node in cluster.nodes.values():
            node.kill()
            (node.data_dir / "cluster.secret").unlink()
        first, second = cluster.nodes.values()
        first.arguments, second.arguments = ["--node-id", "1"], ["--node-id", "2"]
        with pytest.raises(BrokerFailed, match="penstock cluster token --create --data"):
            first.start()
        done = call_command("cluster", "token", "--create", "--data", str(first.data_dir))
        second.arguments += ["--token", done.stdout.strip()]
        first.launch()
        second.start()
        first.await_ready()
        assert token_of(first) == token_of(second) == done.stdout.strip()


def test_a_member_starts_again_although_the_node_that_its_flag_names_is_down(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic("t", 2)
        for number in (1, 2):
            assert cluster.nodes[number].terminate() == 0
        cluster.nodes[2].start()  # with --join of the first, as a unit file has it
        cluster.await_in_sync("t")


def test_a_new_node_joins_through_any_of_the_named_members(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 1) as cluster:
        unreachable = f"127.0.0.1:{free_port()}"
        for number, seeds in (
            (2, [f"{unreachable},{cluster.bootstrap}"]),
            (3, [unreachable, cluster.bootstrap]),
        ):
            flags = [word for seed in seeds for word in ("--join", seed)]
            node = BrokerProcess(tmp_path / str(number), arguments=["--node-id", str(number), *flags])
            cluster.nodes[number] = node.start()
        cluster.create_topic("t", 2)
        cluster.await_in_sync("t")
