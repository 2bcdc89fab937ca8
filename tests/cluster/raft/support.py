"""A node of the quorum driven by a test: events in, effects out, on the test's clock."""

from collections.abc import Callable, Iterable
from random import Random
from typing import TypeVar

from penstock.cluster.raft.effects import Answer, Effect, Send
from penstock.cluster.raft.events import Event, RequestArrived, ResponseArrived, Synced, Tick
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import (
    FetchRequest,
    FetchResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from penstock.cluster.raft.node import RaftNode
from penstock.cluster.raft.values import Address, Election, LogPosition, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import Voter, VoterHistory, VoterSet
from penstock.protocol.records.builder import NewRecord, build_batch

T = TypeVar("T")
CLUSTER = "cluster"


def key(node_id: int, directory: int | None = None) -> ReplicaKey:
    return ReplicaKey(node_id, (node_id if directory is None else directory).to_bytes(16))


def voters(*node_ids: int) -> VoterSet:
    return VoterSet(Voter(key=key(node_id)) for node_id in node_ids)


def batch(*values: str, epoch: int = -1, offset: int = 0) -> bytes:
    return build_batch(
        [NewRecord(value=value.encode(), timestamp=0) for value in values],
        base_offset=offset,
        leader_epoch=epoch,
    )


class Subject:
    """`effects` are those of the last event."""

    def __init__(
        self,
        node_id: int = 1,
        voting: Iterable[int] = (1, 2, 3),
        *,
        election: Election | None = None,
        log: LogShape | None = None,
        history: VoterHistory | None = None,
        settings: RaftSettings | None = None,
        bootstrap: tuple[Address, ...] = (),
        endpoints: tuple[Address, ...] = (),
    ) -> None:
        self.now_ms = 0.0
        self.node = RaftNode(
            key(node_id),
            CLUSTER,
            election=election or Election(),
            log=log or LogShape(),
            voter_history=history or VoterHistory(voters(*voting)),
            settings=settings or RaftSettings(),
            randomness=Random(node_id),
            stamp_ms=lambda: int(self.now_ms),
            bootstrap=bootstrap,
            endpoints=endpoints,
        )
        self.effects: list[Effect] = self.node.start(self.now_ms)

    def handle(self, event: Event, after_ms: float = 0) -> list[Effect]:
        self.now_ms += after_ms
        self.effects = self.node.handle(event, self.now_ms)
        return self.effects

    def wait(self) -> list[Effect]:
        """Advance the clock to the node's next deadline."""
        self.now_ms = max(self.now_ms, self.node.next_deadline_ms)
        return self.handle(Tick())

    def ask(self, request: Request) -> Response:
        """The answer to a request that is answered at once."""
        self.handle(RequestArrived("asked", request))
        return self.one(Answer).response

    def respond(self, send: Send, response: Response) -> list[Effect]:
        return self.handle(ResponseArrived(send.request_id, response))

    def all(self, kind: type[T], where: Callable[[T], bool] = lambda _: True) -> list[T]:
        return [each for each in self.effects if isinstance(each, kind) and where(each)]

    def one(self, kind: type[T]) -> T:
        found = self.all(kind)
        assert len(found) == 1, f"{found} in {self.effects}"
        return found[0]

    def sends(self, kind: type[Request]) -> list[Send]:
        return self.all(Send, lambda each: isinstance(each.request, kind))

    # -- shortcuts ------------------------------------------------------------------------------------

    def win_pre_vote(self) -> None:
        """Wait for the election timeout, and grant all pre-votes."""
        self.wait()
        for send in self.sends(VoteRequest):
            self.respond(send, VoteResponse(epoch=self.node.epoch, is_granted=True))
            if not isinstance(send.request, VoteRequest) or self.sends(VoteRequest):
                break

    def win(self) -> None:
        """Become leader, with the first vote that makes a majority."""
        self.win_pre_vote()
        while not self.node.is_leader:
            send = self.sends(VoteRequest)[0]
            self.respond(send, VoteResponse(epoch=self.node.epoch, is_granted=True))

    def sync(self) -> list[Effect]:
        return self.handle(Synced(self.node.log.end_offset))

    def fetched_by(self, node_id: int, offset: int | None = None) -> list[Effect]:
        """Let a follower fetch at `offset`, the end unless it is given."""
        end = self.node.log.end
        request = fetch(node_id, self.node.epoch, end if offset is None else LogPosition(end.epoch, offset))
        return self.handle(RequestArrived(("fetch", node_id), request))


def fetch(node_id: int, epoch: int, end: LogPosition, *, max_wait_ms: int = 500) -> FetchRequest:
    return FetchRequest(
        cluster_id=CLUSTER,
        replica=key(node_id),
        epoch=epoch,
        offset=end.offset,
        last_epoch=end.epoch,
        max_wait_ms=max_wait_ms,
        max_bytes=1 << 20,
        high_watermark=0,
    )


def vote(
    candidate: int, voter: int, epoch: int, last: LogPosition, *, is_pre_vote: bool = False
) -> VoteRequest:
    return VoteRequest(
        cluster_id=CLUSTER,
        voter=key(voter),
        candidate=key(candidate),
        epoch=epoch,
        last=last,
        is_pre_vote=is_pre_vote,
    )


def records(epoch: int, leader_id: int, data: bytes, high_watermark: int = 0) -> FetchResponse:
    return FetchResponse(epoch=epoch, leader_id=leader_id, high_watermark=high_watermark, records=data)


def follows(epoch: int = 1, leader_id: int = 2, log: LogShape | None = None) -> Subject:
    return Subject(election=Election(epoch=epoch, leader_id=leader_id), log=log)
