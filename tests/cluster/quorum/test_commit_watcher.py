"""A node without a working disk, which follows the commits of the others; the test plays the others."""

import asyncio

import msgspec

from penstock.cluster.quorum.commit_watcher import Watcher
from penstock.cluster.raft.messages import FetchRequest, FetchResponse, Request, Response
from penstock.cluster.raft.values import Address, LogPosition, RaftSettings
from penstock.cluster.raft.voters import Voter, VoterSet
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from tests.cluster.raft.support import CLUSTER, batch, key, records

VOTERS = VoterSet(
    Voter(key=key(node_id), endpoints=(Address("PLAINTEXT", f"n{node_id}", 9092),)) for node_id in (1, 2, 3)
)
FIRST, SECOND = batch("a", "b", epoch=4, offset=10), batch("c", epoch=5, offset=12)
NOBODY_LEADS = FetchResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER, epoch=4)


class Quorum:
    """Returns answers in turn, and then is silent; node 1 is the watcher."""

    def __init__(self, *answers: Response | OSError) -> None:
        self.answers = list(answers)
        self._said = len(answers)
        self.asked: list[tuple[int, FetchRequest]] = []
        self.applied: list[bytes] = []
        self.leaders: list[tuple[int, int]] = []
        self.clock = ManualClock()
        self.watcher = Watcher(
            CLUSTER,
            1,
            VOTERS,
            LogPosition(3, 10),
            4,
            peers=self,
            apply=self.apply,
            leader_changed=lambda node_id, epoch: self.leaders.append((node_id, epoch)),
            settings=RaftSettings(),
            clock=self.clock,
        )

    async def ask(self, to: int, addresses: tuple[Address, ...], request: Request) -> Response:
        assert isinstance(request, FetchRequest)
        assert addresses == (Address("PLAINTEXT", f"n{to}", 9092),)
        self.asked.append((to, request))
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    async def apply(self, batches: bytes) -> None:
        self.applied.append(batches)

    def watch(self) -> None:
        async def until_all_is_answered() -> None:
            watching = asyncio.ensure_future(self.watcher.run())
            while len(self.asked) <= self._said and not watching.done():
                await asyncio.sleep(0)
                self.clock.advance(100)
            watching.cancel()

        asyncio.run(until_all_is_answered())


def test_committed_records_are_passed_on_and_the_rest_is_fetched_again() -> None:
    quorum = Quorum(
        records(5, 2, FIRST + SECOND, high_watermark=12), records(5, 2, SECOND, high_watermark=13)
    )
    quorum.watch()
    assert quorum.applied == [FIRST, SECOND]
    assert [(each.offset, each.last_epoch) for _, each in quorum.asked[:2]] == [(10, 3), (12, 4)]
    assert quorum.watcher.at == LogPosition(5, 13)
    assert quorum.leaders == [(2, 5)]


def test_a_voter_that_is_silent_is_not_waited_for() -> None:
    quorum = Quorum(TimeoutError(), TimeoutError(), records(4, 2, FIRST, high_watermark=12))
    quorum.watch()
    assert [to for to, _ in quorum.asked[:3]] in ([2, 3, 2], [3, 2, 3])
    assert quorum.applied == [FIRST]


def test_a_watcher_counts_for_no_majority() -> None:
    quorum = Quorum(NOBODY_LEADS)
    quorum.watch()
    assert quorum.asked[0][1].replica.node_id == -1


def test_the_others_are_asked_in_turn_until_one_knows_the_leader() -> None:
    elsewhere = FetchResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=6, leader_id=3)
    quorum = Quorum(NOBODY_LEADS, OSError(), NOBODY_LEADS, elsewhere, records(6, 3, FIRST, high_watermark=12))
    quorum.watch()
    assert {to for to, _ in quorum.asked[:3]} == {2, 3}
    assert (quorum.asked[4][0], quorum.asked[4][1].epoch) == (3, 6)
    assert quorum.leaders == [(3, 6)]
    assert quorum.watcher.leader_addresses == (Address("PLAINTEXT", "n3", 9092),)
    assert quorum.applied == [FIRST]


def test_an_answer_that_names_this_node_or_an_earlier_epoch_is_ignored() -> None:
    quorum = Quorum(
        msgspec.structs.replace(NOBODY_LEADS, leader_id=1),
        msgspec.structs.replace(NOBODY_LEADS, leader_id=2, epoch=3),
    )
    quorum.watch()
    assert quorum.leaders == []
    assert quorum.watcher.leader_addresses == ()


def test_damaged_records_are_not_applied() -> None:
    damaged = FIRST[:-1] + bytes([FIRST[-1] ^ 1])
    quorum = Quorum(records(4, 2, damaged, high_watermark=12), records(4, 2, FIRST, high_watermark=12))
    quorum.watch()
    assert quorum.applied == [FIRST]


def test_the_watcher_stops_when_it_would_need_a_snapshot() -> None:
    behind = FetchResponse(epoch=4, leader_id=2, snapshot=LogPosition(4, 50))
    quorum = Quorum(behind, records(4, 2, FIRST, high_watermark=12))
    quorum.watch()
    assert len(quorum.asked) == 1
