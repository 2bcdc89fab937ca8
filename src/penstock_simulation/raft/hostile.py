"""A hostile node beside the quorum: it sends forged requests.

It lies about its id, log, epoch and cluster, and claims to be a voter that is a candidate or a leader. It does not do
two things that no state machine could detect: fetch under the key of a voter, which would forge an acknowledgement, and
change the voters, which is an administrator's right. Only the connection can prevent these.
"""

from typing import TYPE_CHECKING

from penstock.cluster.raft.epochs import FREE_EPOCH_MAX
from penstock.cluster.raft.events import RequestArrived
from penstock.cluster.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    Request,
    VoteRequest,
)
from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey
from penstock_simulation.raft.host import RaftHost, ReplyTo
from penstock_simulation.seeds import randomness

if TYPE_CHECKING:
    from penstock_simulation.raft.world import RaftWorld

HOSTILE_ID = 66
_ADDRESS = (Address("PLAINTEXT", "hostile", HOSTILE_ID),)
_FOREIGN_IDS = (HOSTILE_ID, 0, -1, -(2**31), 2**31 - 1)


class HostileNode:
    def __init__(self, world: "RaftWorld", seed: int) -> None:
        self._world = world
        self._random = randomness(seed, "hostile")
        self.sent_count = 0

    def attack(self) -> None:
        """Send one forged request to one node, past the network."""
        host = self._random.choice(self._world.hosts)
        if host.node is not None:
            self.sent_count += 1
            host.handle(RequestArrived(ReplyTo(lambda _: None), self._forge(host)))

    def _forge(self, host: RaftHost) -> Request:
        kinds = (self._vote, self._vote, self._begin, self._end, self._fetch, self._fetch_snapshot)
        return self._random.choice(kinds)(host)

    def _vote(self, host: RaftHost) -> Request:
        return VoteRequest(
            cluster_id=self._cluster_id(),
            voter=self._random.choice((None, host.key, self._foreign_key())),
            candidate=self._random.choice((self._foreign_key(), self._voter())),
            epoch=self._epoch(host),
            last=self._position(host),
            is_pre_vote=self._random.random() < 0.3,
        )

    def _begin(self, host: RaftHost) -> Request:
        return BeginQuorumEpochRequest(
            cluster_id=self._cluster_id(),
            voter=self._random.choice((None, host.key)),
            leader_id=self._random.choice((self._foreign_key(), self._voter())).node_id,
            epoch=self._epoch(host),
            endpoints=self._random.choice((_ADDRESS, ())),
        )

    def _end(self, host: RaftHost) -> Request:
        return EndQuorumEpochRequest(
            cluster_id=self._cluster_id(),
            leader_id=self._random.choice((self._foreign_key(), self._voter())).node_id,
            epoch=self._epoch(host),
            preferred=self._random.choice(((), (host.key,), (self._foreign_key(),))),
            endpoints=_ADDRESS,
        )

    def _fetch(self, host: RaftHost) -> Request:
        last = self._position(host)
        return FetchRequest(
            cluster_id=self._cluster_id(),
            replica=self._foreign_key(),
            epoch=self._epoch(host),
            offset=last.offset,
            last_epoch=last.epoch,
            max_wait_ms=self._random.choice((-1, 0, 2**31 - 1)),
            max_bytes=self._random.choice((-1, 0, 100)),
        )

    def _fetch_snapshot(self, host: RaftHost) -> Request:
        snapshots = list(host.log.content.snapshots)
        return FetchSnapshotRequest(
            cluster_id=self._cluster_id(),
            replica=self._foreign_key(),
            epoch=self._epoch(host),
            snapshot=self._random.choice([*snapshots, self._position(host)]),
            position=self._random.choice((-1, 0, 2**62)),
            max_bytes=self._random.choice((-1, 0, 100)),
        )

    # -- forged values --------------------------------------------------------------------------------

    def _cluster_id(self) -> str | None:
        """Return mostly the right id, which is no secret."""
        right = self._world.cluster_id
        return self._random.choice((right, right, right, right, "other", "", None))

    def _foreign_key(self) -> ReplicaKey:
        return ReplicaKey(self._random.choice(_FOREIGN_IDS), self._random.randbytes(16))

    def _voter(self) -> ReplicaKey:
        """Return a voter's key, which every client can get by DescribeQuorum."""
        return self._random.choice(self._world.hosts).key

    def _epoch(self, host: RaftHost) -> int:
        """Return an epoch at or near the host's own, or a distant or invalid one."""
        assert host.node is not None
        own = host.node.epoch
        near = self._random.choice((own, own, own + 1, own + 1, own - 1, own + 1000))
        far = self._random.choice((0, -1, -(2**31), FREE_EPOCH_MAX, 2**31 - 2, 2**31 - 1))
        return near if self._random.random() < 0.7 else far

    def _position(self, host: RaftHost) -> LogPosition:
        assert host.node is not None
        end = host.node.log.end
        return self._random.choice(
            (
                end,
                LogPosition(0, 0),
                LogPosition(end.epoch, end.offset + 1000),
                LogPosition(end.epoch + 1, 0),
                LogPosition(end.epoch - 1, end.offset),
                LogPosition(2**31 - 1, 2**63 - 1),
                LogPosition(-1, -1),
            )
        )
