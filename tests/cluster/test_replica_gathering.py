"""What clients send while the disk is busy is appended together, in its order, and each is told what became of it."""

import asyncio
import errno
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, cast

import pytest

from penstock.client.answers import decode_answer
from penstock.cluster.gathered import GATHERED_MAX
from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica, Surroundings
from penstock.cluster.replica_errors import PartitionGone
from penstock.observability.clock import SystemClock
from penstock.observability.offload import InlineOffload, Then
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.headers import decode_request_header, decode_response_header
from penstock.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.protocol.repeated_produce import read_head
from penstock.server.gathered_produce import GatheredProduce
from penstock.server.metrics.requests import RequestCounts
from penstock.server.route import PRODUCE, Route
from penstock.storage.file_cache import FileCache
from penstock.storage.files import Usage
from penstock.storage.flusher import Flusher
from penstock.storage.log import Log
from penstock.storage.log_errors import NoSpace
from penstock.storage.recovery import create_log
from penstock.testing.disk import FaultyDisk, Operation
from tests.server.raw import frame_of
from tests.storage.logs import NOW_MS, all_values, batch_of, config_of

if TYPE_CHECKING:
    from penstock.protocol.records.batch import BatchHeader


class HeldSyncs(InlineOffload):
    """Runs a sync when it is told to."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], object], Then]] = []

    def call(self, work: Callable[[], object], then: Then) -> None:
        self.held.append((work, then))

    def let_go(self) -> None:
        held, self.held = self.held, []
        for work, then in held:
            then(work(), None)


VERSION = 13
ROUTE = Route(PRODUCE, RequestCounts())


class Stage:
    """A led partition on a disk whose syncs end when the test says so."""

    def __init__(self) -> None:
        self.disk = FaultyDisk(Random(1))
        self.syncs = HeldSyncs()
        surroundings = Surroundings(1, SystemClock(), Flusher(self.syncs, SystemClock()))
        self.space = surroundings.disk
        self.replica = Replica("t", bytes(16), 0, self._open, surroundings)
        self.replica.follow(state())

    def _open(self) -> Log:
        self.disk.make_dirs("/t-0")
        cache, config = FileCache(self.disk), config_of()
        return Log("t", 0, "/t-0", config, loaded=create_log(cache, "/t-0", config))

    def gather(self, value: str) -> GatheredProduce:
        records = batch_of(value)
        data = PartitionProduceData(index=0, records=records)
        request = ProduceRequest(topic_data=[TopicProduceData(partition_data=[data])])
        frame = bytearray(frame_of(request, VERSION)[4:])
        header, position = decode_request_header(memoryview(frame))
        read = read_head(frame, header, position)
        assert read is not None
        produce = GatheredProduce(self.replica, read[0], frame, ROUTE, SystemClock())
        produce.batch = self.replica.log.prepare(records, NOW_MS)
        produce.size_bytes = len(records)
        self.replica.gather(produce)
        return produce

    def append(self, value: str) -> None:
        self.replica.append(batch_of(value), NOW_MS, leader_epoch=self.replica.leader_epoch)

    def values(self) -> list[str]:
        return all_values(self.replica.log)


def state(**changes: Any) -> Partition:
    fields: dict[str, Any] = {
        "replicas": (1,),
        "isr": (1,),
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
    }
    return Partition(**(fields | changes))


def on_stage(story: Callable[[Stage], Any]) -> None:
    async def run() -> None:
        await story(Stage())

    asyncio.run(run())


def test_it_is_gathered_only_while_a_sync_runs() -> None:
    async def story(stage: Stage) -> None:
        replica = stage.replica
        assert not replica.is_gathering, "whoever writes alone is not kept waiting"
        stage.append("a")
        while_syncing = replica.is_gathering
        stage.syncs.let_go()
        assert (while_syncing, replica.is_gathering) == (True, False)

    on_stage(story)


def test_it_is_not_gathered_when_clients_have_used_all_but_the_reserve_of_the_disk() -> None:
    async def story(stage: Stage) -> None:
        stage.space.measured(Usage(1_000_000, 100_150), 100_000, 0)
        stage.append("a")
        before = stage.replica.is_gathering
        gathered = [stage.gather("b"), stage.gather("c")]
        assert (before, stage.replica.is_gathering) == (True, False), "it counts before it is written"
        with pytest.raises(NoSpace, match="cannot write to t-0: the disk of the broker is full"):
            stage.append("d")
        stage.syncs.let_go()
        stage.syncs.let_go()
        assert ([each.is_done for each in gathered], stage.values()) == ([True, True], ["a", "b", "c"])

    on_stage(story)


def test_all_are_appended_at_the_end_of_the_turn_and_told_when_they_are_on_the_disk() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        produces = [stage.gather(value) for value in "bcd"]
        assert stage.values() == ["a"]
        await asyncio.sleep(0)
        assert stage.values() == ["a", "b", "c", "d"]
        stage.syncs.let_go()
        assert not any(each.is_done for each in produces), "that sync was begun before them"
        stage.syncs.let_go()
        assert [code_of(each) for each in produces] == [ErrorCode.NONE] * 3
        assert [answer_to(each).base_offset for each in produces] == [1, 2, 3]
        assert stage.replica.bytes_in == 4 * len(batch_of("a"))

    on_stage(story)


def test_what_is_appended_at_once_does_not_overtake_what_was_gathered() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        stage.gather("b")
        stage.append("c")
        stage.gather("d")
        await asyncio.sleep(0)
        assert stage.values() == ["a", "b", "c", "d"]

    on_stage(story)


def test_a_crowd_is_not_waited_for() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        for number in range(GATHERED_MAX + 1):
            stage.gather(str(number))
        assert len(stage.values()) == 1 + GATHERED_MAX
        await asyncio.sleep(0)
        assert len(stage.values()) == 2 + GATHERED_MAX

    on_stage(story)


def test_a_full_disk_is_told_to_each_of_them() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        stage.disk.fail("write", error=errno.ENOSPC)
        produces = [stage.gather(value) for value in "bc"]
        await asyncio.sleep(0)
        assert [code_of(each) for each in produces] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
        assert stage.values() == ["a"]

    on_stage(story)


def test_a_failing_sync_is_told_to_each_of_them() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        produces = [stage.gather(value) for value in "bc"]
        await asyncio.sleep(0)
        stage.disk.fail("sync")
        stage.syncs.let_go()
        assert [code_of(each) for each in produces] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2

    on_stage(story)


def test_who_is_gathered_when_another_broker_takes_over_is_told_to_ask_that_one() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        produce = stage.gather("b")
        stage.replica.follow(state(leader=2, leader_epoch=1, replicas=(1, 2), isr=(1, 2)))
        assert code_of(produce) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    on_stage(story)


def test_who_is_gathered_when_a_replica_is_added_waits_for_that_one_too() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        produce = stage.gather("b")
        stage.replica.follow(state(replicas=(1, 2), isr=(1, 2), leader_epoch=1))
        stage.syncs.let_go()
        stage.syncs.let_go()
        assert not produce.is_done
        stage.replica.follower_fetched(2, 1, 2)
        assert code_of(produce) == ErrorCode.NONE

    on_stage(story)


def test_what_is_committed_is_told_though_others_gathered_with_it_are_not_yet() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        produces = [stage.gather(value) for value in "bc"]
        stage.replica.follow(state(replicas=(1, 2), isr=(1, 2), leader_epoch=1))
        stage.syncs.let_go()
        stage.syncs.let_go()
        stage.replica.follower_fetched(2, 1, 2)  # it has "b", and not yet "c"
        assert [each.is_done for each in produces] == [True, False]
        stage.replica.follow(state(leader=2, leader_epoch=2, replicas=(1, 2), isr=(1, 2)))
        assert [code_of(each) for each in produces] == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]

    on_stage(story)


def test_who_is_gathered_when_the_partition_is_deleted_is_told_so() -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        produce = stage.gather("b")
        stage.replica.close(PartitionGone("t-0 is deleted"))
        await asyncio.sleep(0)
        assert code_of(produce) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    on_stage(story)


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_refusal_that_cannot_be_sent_keeps_nobody_else_waiting(operation: Operation) -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        stage.disk.fail(operation, error=errno.ENOSPC)
        odd, even = (stage.gather(value) for value in "bc")
        odd.head.index = 2**40  # somebody's mistake
        await asyncio.sleep(0)
        stage.syncs.let_go()
        with pytest.raises(ProtocolError):
            odd.result()
        assert code_of(even) == ErrorCode.KAFKA_STORAGE_ERROR

    on_stage(story)


def test_whatever_goes_wrong_is_told_to_who_waits(caplog: pytest.LogCaptureFixture) -> None:
    async def story(stage: Stage) -> None:
        stage.append("a")
        produce = stage.gather("b")
        produce.batch.header = cast("BatchHeader", None)  # somebody's mistake
        await asyncio.sleep(0)
        assert code_of(produce) == ErrorCode.KAFKA_STORAGE_ERROR
        assert "appending to t-0 failed" in caplog.text

    on_stage(story)


def answer_to(produce: GatheredProduce) -> PartitionProduceResponse:
    assert produce.is_done
    data = b"".join(produce.result())[4:]
    _, position = decode_response_header(data, PRODUCE, VERSION)
    response: ProduceResponse = decode_answer(data, PRODUCE, VERSION, position)
    return response.responses[0].partition_responses[0]


def code_of(produce: GatheredProduce) -> ErrorCode:
    return ErrorCode(answer_to(produce).error_code)
