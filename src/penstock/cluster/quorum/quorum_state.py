"""The durable state of a node's elections: `quorum-state` in the directory of the metadata log.

Kafka's file, JSON in version 1, with the cluster id, which Kafka's reader ignores:

    {"clusterId":"4L6g3nShT-eMCtK--X86sw","leaderId":1,"leaderEpoch":7,"votedId":1,
     "votedDirectoryId":"uJSTn_JtR9GyRbjIBTQLdw","data_version":1}

-1 means no leader, or no vote. Version 0 has no directory ids. The file is replaced as a whole, and synced with its
name before a request is answered: a vote that a crash could take back could be given twice.
"""

import logging
import os
from typing import Final

import msgspec

from penstock.cluster.raft.epochs import EPOCH_MAX
from penstock.cluster.raft.errors import QuorumStateDamaged
from penstock.cluster.raft.values import NO_DIRECTORY, NO_NODE, Election, ReplicaKey
from penstock.storage.directory.metadata_files import decode_uuid, encode_uuid
from penstock.storage.files import FileSystem, read_whole, write_atomically

_log = logging.getLogger(__name__)

QUORUM_STATE: Final = "quorum-state"
_VERSION: Final = 1
_NODE_ID_MAX: Final = 2**31 - 1
_REMEDY: Final = (
    "With other voters, restore the file from a backup, or remove this node from the quorum and start it with an empty "
    "data directory to join again"
)


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

    def read(self, *, log_epoch: int = 0, is_alone: bool = False) -> Election:
        """Read the file; a new node has no vote yet. Raises `QuorumStateDamaged`.

        `log_epoch` is the epoch of the last record in the log: no node is in an earlier one. A node that votes alone
        (`is_alone`) has given its votes to itself only, so it may forget them.
        """
        if not self._files.exists(self._path):
            if log_epoch > 0 and not is_alone:
                raise QuorumStateDamaged(
                    f"{self._path} is missing, although the log beside it has records up to epoch {log_epoch}: "
                    f"this node could vote twice. {_REMEDY}"
                )
            election = Election()
        else:
            content = read_whole(self._files, self._path)
            try:
                election = self._decode(content)
            except (msgspec.DecodeError, ValueError) as error:
                raise QuorumStateDamaged(
                    f"{self._path} cannot be used ({error}). If this node is the only voter, remove the file: the "
                    f"node continues from its log. {_REMEDY}"
                ) from error
        if election.epoch >= log_epoch:
            return election
        _log.warning(
            "%s is missing or out of date (epoch %d): continuing from epoch %d of the log",
            self._path,
            election.epoch,
            log_epoch,
        )
        return Election(epoch=log_epoch)

    def write(self, election: Election) -> None:
        """Write the file; it is durable when this returns. Blocks; raises `OSError`."""
        if not self._is_reachable:
            # The name of a new log's directory is not synced yet: a crash would lose it, and this file with it.
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
        _check_range(found)
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


def _check_range(found: _Content) -> None:
    """Raise `ValueError` for values that no node writes, and for an epoch that allows no further election."""
    if not -1 <= found.leader_epoch < EPOCH_MAX:
        raise ValueError(f"its epoch {found.leader_epoch} is out of range, 0 to {EPOCH_MAX - 1}")
    for name, node_id in (("leader", found.leader_id), ("vote", found.voted_id)):
        if not NO_NODE <= node_id <= _NODE_ID_MAX:
            raise ValueError(f"its {name} is node {node_id}, which is out of range")
