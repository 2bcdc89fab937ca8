"""What a node must not forget over a crash: `quorum-state` in the directory of the metadata log.

Kafka's file, JSON in its version 1, with the cluster's id added, which Kafka's reader leaves alone:

    {"clusterId":"4L6g3nShT-eMCtK--X86sw","leaderId":1,"leaderEpoch":7,"votedId":1,
     "votedDirectoryId":"uJSTn_JtR9GyRbjIBTQLdw","data_version":1}

-1 stands for no leader and no vote. Version 0 has no directory ids. The file is replaced as a whole, and synced with
its name before whoever asked is answered: a vote that a crash could take back could be given twice.
"""

import os
from typing import Final

import msgspec

from penstock.cluster.raft.errors import QuorumStateDamaged
from penstock.cluster.raft.values import NO_DIRECTORY, NO_NODE, Election, ReplicaKey
from penstock.storage.directory_files import decode_uuid, encode_uuid
from penstock.storage.files import FileSystem, read_whole, write_atomically

QUORUM_STATE: Final = "quorum-state"
_VERSION: Final = 1


class _Content(msgspec.Struct, rename="camel", kw_only=True):
    cluster_id: str = ""
    leader_id: int = NO_NODE
    leader_epoch: int = 0
    voted_id: int = NO_NODE
    voted_directory_id: str = ""
    version: int = msgspec.field(name="data_version")


class QuorumStateFile:
    def __init__(self, files: FileSystem, directory: str, cluster_id: str) -> None:
        self._files = files
        self._directory = directory
        self._is_reachable = False
        self._path = f"{directory}/{QUORUM_STATE}"
        self._cluster_id = cluster_id

    def read(self) -> Election:
        """What was last written; a new node has promised nothing. Raises `QuorumStateDamaged`."""
        if not self._files.exists(self._path):
            return Election()
        content = read_whole(self._files, self._path)
        try:
            return self._decode(content)
        except (msgspec.DecodeError, ValueError) as error:
            raise QuorumStateDamaged(
                f"{self._path} cannot be used ({error}): restore it from a backup, or remove this node from the "
                "voters and let it join anew with an empty data directory"
            ) from error

    def write(self, election: Election) -> None:
        """Durable when this returns. Waits for the disk; raises `OSError`."""
        if not self._is_reachable:
            # The directory of a new log has a name that nothing has synced yet: with it the file would be lost.
            self._files.sync_dir(os.path.dirname(self._directory))
            self._is_reachable = True
        write_atomically(self._files, self._path, self._encode(election))

    def _encode(self, election: Election) -> bytes:
        voted = election.voted
        return msgspec.json.encode(
            _Content(
                cluster_id=self._cluster_id,
                leader_id=NO_NODE if election.leader_id is None else election.leader_id,
                leader_epoch=election.epoch,
                voted_id=NO_NODE if voted is None else voted.node_id,
                voted_directory_id=encode_uuid(NO_DIRECTORY if voted is None else voted.directory_id),
                version=_VERSION,
            )
        )

    def _decode(self, content: bytes) -> Election:
        found = msgspec.json.decode(content, type=_Content)
        if found.version not in (0, _VERSION):
            raise ValueError(f"its version is {found.version}")
        if found.cluster_id not in ("", self._cluster_id):
            raise ValueError(f"it belongs to cluster {found.cluster_id}, not {self._cluster_id}")
        voted = None
        if found.voted_id != NO_NODE:
            directory_id = decode_uuid(found.voted_directory_id) if found.voted_directory_id else NO_DIRECTORY
            if directory_id is None:
                raise ValueError(f"{found.voted_directory_id!r} is no directory id")
            voted = ReplicaKey(found.voted_id, directory_id)
        leader_id = None if found.leader_id == NO_NODE else found.leader_id
        return Election(epoch=max(found.leader_epoch, 0), leader_id=leader_id, voted=voted)
