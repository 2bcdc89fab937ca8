"""The way of first records into a partition, with a coordinator that answers when the test lets it."""

import asyncio
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotLeader
from penstock.protocol.errors import ErrorCode
from penstock.storage.producers.transaction_permit import TransactionPermit
from penstock.transactions.admission import Admission, Admissions, CoordinatorRequest, produce_error
from penstock.transactions.guards import Guards
from penstock.transactions.markers import LocalMarkers, Marker
from penstock.transactions.state import Producer, TopicPartition
from tests.server.live import Live, batch, begin_epoch, running_broker
from tests.storage.logs import AnyTransaction

ME = Producer(1000, 0)
NOW_MS = 1_700_000_000_000


class SlowCoordinator:
    """Answers a verification when the test provides the answer."""

    def __init__(self) -> None:
        self.answers: list[asyncio.Future[ErrorCode]] = []

    async def _ask(self) -> ErrorCode:
        answer: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        return await answer

    async def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        return dict.fromkeys(partitions, await self._ask())

    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> ErrorCode:
        return await self._ask()


class Desk:
    """One partition and requests for it."""

    def __init__(self, live: Live, leader: Replica) -> None:
        self.leader = leader
        self.target = TopicPartition(leader.topic, leader.partition)
        self.guards = Guards()
        services = live.services
        self.markers = LocalMarkers(services.replicas, services.clock, self.guards, services.groups.shards)
        self.coordinator = SlowCoordinator()
        self.admissions = Admissions(self.guards, self.coordinator)

    async def ask(self, sequence: int, *, adds: bool = False) -> "asyncio.Task[ErrorCode]":
        """A request whose records begin at this sequence; it appends as soon as it may."""
        admission = self.admissions.enter(ME, [(self.leader, sequence)])
        task = asyncio.ensure_future(self._go(admission, sequence, adds))
        await asyncio.sleep(0)
        return task

    async def _go(self, admission: Admission, sequence: int, adds: bool) -> ErrorCode:
        try:
            question = CoordinatorRequest.ADD if adds else CoordinatorRequest.VERIFY
            verdict = (await admission.outcome(self.coordinator, "app", question))[self.leader]
            if isinstance(verdict, ErrorCode):
                return verdict
            self.append(sequence, verdict)
        finally:
            admission.close()
        return ErrorCode.NONE

    def append(self, sequence: int, permit: TransactionPermit) -> None:
        records = batch(
            b"%d" % sequence,
            timestamp=NOW_MS,
            producer_id=ME.producer_id,
            epoch=ME.epoch,
            sequence=sequence,
            is_transactional=True,
        )
        epoch = self.leader.leader_epoch
        commit = self.leader.append(bytearray(records), NOW_MS, leader_epoch=epoch, permit=permit)
        self.leader.write_queued()
        commit.raise_if_refused()


def at_a_desk(tmp_path: Path, scenario: "Any") -> None:
    async def go() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            topic = await client.create_topic()
            await client.close()
            leader = live.services.replicas.leader_of(topic.name, 0)
            assert isinstance(leader, Replica)
            work: Coroutine[Any, Any, None] = scenario(Desk(live, leader))
            await work

    asyncio.run(go())


def test_records_are_admitted_once_verified_and_the_next_need_no_verification(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        assert desk.admissions.permit(desk.leader, ME) is None
        first = await desk.ask(0)
        assert not first.done()
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        assert await first is ErrorCode.NONE
        assert desk.admissions.permit(desk.leader, ME) is not None
        assert len(desk.guards) == 0

    at_a_desk(tmp_path, scenario)


def test_requests_are_admitted_in_order_whichever_is_verified_first(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        first, second = await desk.ask(0), await desk.ask(1)
        desk.coordinator.answers[1].set_result(ErrorCode.NONE)
        await asyncio.sleep(0)
        assert not second.done()
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        assert [await first, await second] == [ErrorCode.NONE, ErrorCode.NONE]
        assert desk.leader.log.log_end_offset == 2

    at_a_desk(tmp_path, scenario)


def test_no_request_overtakes_waiting_ones_when_the_first_is_admitted(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        first, second = await desk.ask(0), await desk.ask(1)
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        assert await first is ErrorCode.NONE
        assert desk.admissions.permit(desk.leader, ME) is None
        third = await desk.ask(2)
        desk.coordinator.answers[2].set_result(ErrorCode.NONE)
        desk.coordinator.answers[1].set_result(ErrorCode.NONE)
        assert [await second, await third] == [ErrorCode.NONE, ErrorCode.NONE]
        assert desk.admissions.permit(desk.leader, ME) is not None
        assert len(desk.guards) == 0

    at_a_desk(tmp_path, scenario)


def test_no_request_overtakes_an_earlier_one_that_waits(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        first = await desk.ask(0)
        desk.append(
            0, AnyTransaction(desk.leader.leader_epoch)
        )  # its transaction is open meanwhile, say by a retry
        assert desk.admissions.permit(desk.leader, ME) is None
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        await first
        assert desk.admissions.permit(desk.leader, ME) is not None

    at_a_desk(tmp_path, scenario)


def test_records_are_refused_if_the_transaction_ends_during_the_verification(
    tmp_path: Path,
) -> None:
    async def scenario(desk: Desk) -> None:
        late = await desk.ask(0)
        desk.guards.revoke_ended(desk.target, ME.producer_id, ME.epoch)  # as the marker does
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        assert await late is ErrorCode.INVALID_TXN_STATE
        assert desk.leader.log.log_end_offset == 0

    at_a_desk(tmp_path, scenario)


@pytest.mark.parametrize(("transaction_version", "code"), [(2, "NONE"), (1, "INVALID_TXN_STATE")])
def test_a_transaction_may_begin_while_the_previous_one_ends_in_the_partition(
    tmp_path: Path, transaction_version: int, code: str
) -> None:
    """With version 2 the marker's epoch is the one its producer goes on with: Kafka Streams does so at once."""

    async def scenario(desk: Desk) -> None:
        next_one = await desk.ask(0, adds=transaction_version == 2)
        marker = Marker(
            producer_id=ME.producer_id,
            producer_epoch=ME.epoch,
            is_commit=True,
            coordinator_epoch=0,
            transaction_version=transaction_version,
        )
        assert set((await desk.markers.send(marker, [desk.target])).values()) == {ErrorCode.NONE}
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        assert await next_one is ErrorCode[code]

    at_a_desk(tmp_path, scenario)


def test_no_batch_overtakes_one_that_will_be_retried(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        first, second = await desk.ask(0), await desk.ask(1)
        desk.coordinator.answers[0].set_result(ErrorCode.NOT_COORDINATOR)
        desk.coordinator.answers[1].set_result(ErrorCode.NONE)
        assert await first is ErrorCode.NOT_COORDINATOR
        assert await second is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        again = await desk.ask(0)
        desk.coordinator.answers[2].set_result(ErrorCode.NONE)
        assert await again is ErrorCode.NONE
        assert desk.leader.log.log_end_offset == 1

    at_a_desk(tmp_path, scenario)


def test_a_request_of_a_disconnected_client_does_not_block_the_next(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        gone, second = await desk.ask(0), await desk.ask(0)
        gone.cancel()
        desk.coordinator.answers[1].set_result(ErrorCode.NONE)
        assert await second is ErrorCode.NONE

    at_a_desk(tmp_path, scenario)


def test_a_final_refusal_leaves_no_verification_state(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        refused = await desk.ask(0)
        desk.coordinator.answers[0].set_result(ErrorCode.PRODUCER_FENCED)
        assert await refused is ErrorCode.PRODUCER_FENCED
        assert len(desk.guards) == 0

    at_a_desk(tmp_path, scenario)


@pytest.mark.parametrize(
    ("code", "by_version"),
    [
        ("PRODUCER_FENCED", {9: "INVALID_PRODUCER_EPOCH", 13: "INVALID_PRODUCER_EPOCH"}),
        ("TRANSACTION_ABORTABLE", {10: "INVALID_TXN_STATE", 11: "TRANSACTION_ABORTABLE"}),
        ("CONCURRENT_TRANSACTIONS", {11: "NOT_ENOUGH_REPLICAS", 12: "CONCURRENT_TRANSACTIONS"}),
        ("NOT_COORDINATOR", {11: "NOT_ENOUGH_REPLICAS", 13: "NOT_ENOUGH_REPLICAS"}),
        ("COORDINATOR_LOAD_IN_PROGRESS", {3: "NOT_ENOUGH_REPLICAS"}),
        ("INVALID_PRODUCER_ID_MAPPING", {3: "INVALID_PRODUCER_ID_MAPPING"}),
        ("NONE", {3: "NONE"}),
    ],
)
def test_a_producer_gets_errors_that_its_version_knows(code: str, by_version: dict[int, str]) -> None:
    for version, expected in by_version.items():
        assert produce_error(ErrorCode[code], version).name == expected


def test_a_verification_is_valid_only_in_the_leader_epoch_that_requested_it(tmp_path: Path) -> None:
    """The marker may have been written by another leader, which does not know the verification state here."""

    async def scenario(desk: Desk) -> None:
        leader = desk.leader
        late = await desk.ask(0)
        begin_epoch(leader, leader.leader_epoch + 2)
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        with pytest.raises(NotLeader):
            await late
        assert leader.log.log_end_offset == 0
        again = await desk.ask(0)
        desk.coordinator.answers[1].set_result(ErrorCode.NONE)
        assert await again is ErrorCode.NONE

    at_a_desk(tmp_path, scenario)


def test_a_partition_that_a_request_names_twice_does_not_wait_for_itself(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        admission = desk.admissions.enter(ME, [(desk.leader, 0), (desk.leader, 1)])
        asked = asyncio.ensure_future(admission.outcome(desk.coordinator, "app", CoordinatorRequest.VERIFY))
        await asyncio.sleep(0)
        desk.coordinator.answers[0].set_result(ErrorCode.NONE)
        async with asyncio.timeout(20):
            verdicts = await asked
        assert not isinstance(verdicts[desk.leader], ErrorCode)
        admission.close()

    at_a_desk(tmp_path, scenario)
