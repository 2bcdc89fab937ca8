"""The file that holds a node's vote."""

from random import Random

import pytest

from penstock.cluster.quorum.quorum_state import QuorumStateFile
from penstock.cluster.raft.errors import QuorumStateDamaged
from penstock.cluster.raft.values import Election, ReplicaKey
from penstock.storage.files import write_atomically
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut

DIRECTORY = "/data/__cluster_metadata-0"
PROMISED = Election(epoch=7, leader_id=2, voted=ReplicaKey(3, b"d" * 16))


@pytest.fixture
def disk() -> FaultyDisk:
    """A data directory with the directory of a log whose name is unsynced."""
    made = FaultyDisk(Random(1))
    made.make_dirs("/data")
    made.sync_dir("/")
    made.make_dirs(DIRECTORY)
    return made


def test_a_new_node_has_no_vote(disk: FaultyDisk) -> None:
    assert QuorumStateFile(disk, DIRECTORY, "c").read() == Election()


@pytest.mark.parametrize("election", [Election(epoch=1), Election(epoch=2, leader_id=0), PROMISED])
def test_the_election_state_survives_a_power_cut(disk: FaultyDisk, election: Election) -> None:
    QuorumStateFile(disk, DIRECTORY, "c").write(election)
    assert QuorumStateFile(disk.crash(Keep.NOTHING), DIRECTORY, "c").read() == election


def test_a_power_cut_during_a_write_leaves_the_old_vote_or_the_new_one(disk: FaultyDisk) -> None:
    QuorumStateFile(disk, DIRECTORY, "c").write(PROMISED)
    later = Election(epoch=8)
    found = set()
    for count in range(20):
        disk.cut_power_at(count)
        try:
            QuorumStateFile(disk, DIRECTORY, "c").write(later)
        except PowerCut:
            disk = disk.crash(Keep.PAGES)
            found.add(QuorumStateFile(disk, DIRECTORY, "c").read())
        else:
            break
    assert found <= {PROMISED, later}
    assert found


def test_the_file_has_kafkas_format(disk: FaultyDisk) -> None:
    content = (
        b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",'
        b'"data_version":1}'
    )
    write_atomically(disk, f"{DIRECTORY}/quorum-state", content)
    assert QuorumStateFile(disk, DIRECTORY, "c").read() == Election(epoch=2, leader_id=1)


def test_the_version_without_directory_ids_is_read(disk: FaultyDisk) -> None:
    content = (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":4,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1}],"data_version":0}'
    )
    write_atomically(disk, f"{DIRECTORY}/quorum-state", content)
    assert QuorumStateFile(disk, DIRECTORY, "c").read().voted == ReplicaKey(4)


@pytest.mark.parametrize("content", [b"", b"{", b'{"leaderEpoch":2,"data_version":9}'])
def test_a_damaged_file_is_refused_and_not_taken_for_a_new_node(disk: FaultyDisk, content: bytes) -> None:
    write_atomically(disk, f"{DIRECTORY}/quorum-state", content)
    with pytest.raises(QuorumStateDamaged, match="quorum-state cannot be used"):
        QuorumStateFile(disk, DIRECTORY, "c").read()


def test_the_file_of_another_cluster_is_refused(disk: FaultyDisk) -> None:
    QuorumStateFile(disk, DIRECTORY, "c").write(PROMISED)
    with pytest.raises(QuorumStateDamaged, match="it belongs to cluster c, not other"):
        QuorumStateFile(disk, DIRECTORY, "other").read()


@pytest.mark.parametrize(
    "content",
    [
        b'{"leaderEpoch":2147483647,"data_version":1}',
        b'{"leaderEpoch":2147483648,"data_version":1}',
        b'{"leaderEpoch":-2,"data_version":1}',
        b'{"leaderEpoch":1,"leaderId":-2,"data_version":1}',
        b'{"leaderEpoch":1,"leaderId":2147483648,"data_version":1}',
        b'{"leaderEpoch":1,"votedId":-2,"data_version":1}',
        b'{"leaderEpoch":1,"votedId":99999999999,"data_version":1}',
    ],
)
def test_a_file_with_numbers_out_of_range_is_refused(disk: FaultyDisk, content: bytes) -> None:
    write_atomically(disk, f"{DIRECTORY}/quorum-state", content)
    with pytest.raises(QuorumStateDamaged, match=r"quorum-state cannot be used \(its .* is out of range"):
        QuorumStateFile(disk, DIRECTORY, "c").read()


def test_a_missing_file_beside_a_log_is_damage_unless_the_node_is_the_only_voter(disk: FaultyDisk) -> None:
    state = QuorumStateFile(disk, DIRECTORY, "c")
    with pytest.raises(QuorumStateDamaged, match=r"quorum-state is missing, although the log .* epoch 7"):
        state.read(log_epoch=7)
    assert state.read(log_epoch=7, is_alone=True) == Election(epoch=7)


def test_no_node_is_in_an_earlier_epoch_than_its_log(disk: FaultyDisk) -> None:
    state = QuorumStateFile(disk, DIRECTORY, "c")
    state.write(PROMISED)
    assert state.read(log_epoch=7) == PROMISED
    assert state.read(log_epoch=8) == Election(epoch=8)
