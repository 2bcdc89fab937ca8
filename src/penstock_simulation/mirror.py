"""A mirror between two simulated clusters: one broker with producers, and three that mirror it, with faults.

Brokers of both clusters are killed, lose power and are stopped; links between the clusters, and within the second one,
are cut. When the faults end, every replica of the mirror must have the batches of the source, byte for byte. Then the
mirror is promoted, in some runs while the source still writes, and must hold whole transactions.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from penstock.client.aio import ANY, Client, ClientError, ClientSettings, Disconnected, LeaderOf
from penstock.client.core.destinations import CoordinatorKind, CoordinatorOf
from penstock.client.mirrors import FACTOR, RESOURCE_TYPE, SERVERS, STATE, TOPICS
from penstock.cluster.metadata.mirrors import MirrorState
from penstock.cluster.replica import Replica
from penstock.protocol.messages import (
    add_partitions_to_txn,
    end_txn,
    incremental_alter_configs,
    init_producer_id,
    produce,
)
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_simulation.broker import SimulatedClock, run_simulated
from penstock_simulation.cluster import plan
from penstock_simulation.cluster.checkers.replicas import batches_of
from penstock_simulation.cluster.final_checks import compare_logs
from penstock_simulation.cluster.machine import PORT, Ending, Machine
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.seeds import randomness
from penstock_simulation.violation import Violation

TOPIC: Final = "orders"
PARTITIONS: Final = 2
_MIRROR: Final = "m"
_SOURCE_ID, _TARGET_IDS = 11, (1, 2, 3)
_ALONE: Final = ("default.replication.factor=1", "min.insync.replicas=1")
_FAULTS: Final = 6
_FORMING_S_MAX, _RECOVERY_S_MAX = 60.0, 120.0
_ADD_ALONE_LAST, _PRODUCE_ADDED_LAST = 3, 11  # of AddPartitionsToTxn and Produce: as before KIP-890


class SimulatedMirror:
    def __init__(self, loop: SimulatedLoop, seed: int) -> None:
        self._loop = loop
        self._random = randomness(seed, "mirror")
        self.is_forced = seed % 2 == 1
        settings = plan.settings_of(seed)
        self.source = Machine(loop, seed, _SOURCE_ID, (*settings, *_ALONE))
        self.targets = [Machine(loop, seed, number, settings) for number in _TARGET_IDS]
        self.there = self._client_of(self.source)
        self.here = self._client_of(*self.targets)
        self.counts: Counter[str] = Counter()
        self._is_writing = True

    def _client_of(self, *machines: Machine) -> Client:
        servers = ",".join(f"{each.name}:{PORT}" for each in machines)
        settings = ClientSettings.from_properties(
            {"bootstrap.servers": servers, "request.timeout.ms": "3000", "default.api.timeout.ms": "20000"}
        )
        return Client(settings, clock=SimulatedClock(self._loop))

    async def run(self) -> None:
        """Raises `Violation`."""
        await self._form()
        writing = [asyncio.ensure_future(self._write_transactions()), asyncio.ensure_future(self._write())]
        for _ in range(_FAULTS):
            await asyncio.sleep(self._random.uniform(0.2, 3))
            await self._inject()
        self._loop.network.clear_faults()
        await self._until(lambda: all(each.is_serving for each in self._machines), "every node serves")
        if self.is_forced:
            await self._promote("forcing")
            await self._until(self._agree, "the replicas of the mirror agree")
            self._check_promoted()
        self._is_writing = False
        await asyncio.gather(*writing)
        if not self.is_forced:
            await self._until(self._is_level, "the mirror is level")
            self._check_same()
            await self._promote("promoting")
        await self._write_here()
        await self.there.close()
        await self.here.close()

    @property
    def _machines(self) -> list[Machine]:
        return [self.source, *self.targets]

    # -- set-up and traffic -----------------------------------------------------------------------------

    async def _form(self) -> None:
        first, *others = self.targets
        async with asyncio.timeout(_FORMING_S_MAX):
            await self.source.start()
            await first.start()
            for each in others:
                await each.start(((first.name, PORT),))
            await self.there.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=1)
            await self._change(
                {SERVERS: f"{self.source.name}:{PORT}", TOPICS: TOPIC, FACTOR: str(len(self.targets))}
            )
            await self._until(lambda: self._state() is MirrorState.RUNNING, "the mirror runs")

    async def _change(self, settings: dict[str, str]) -> None:
        m = incremental_alter_configs
        configs = [m.AlterableConfig(name=key, value=value) for key, value in settings.items()]
        resource = m.AlterConfigsResource(resource_type=RESOURCE_TYPE, resource_name=_MIRROR, configs=configs)
        request = m.IncrementalAlterConfigsRequest(resources=[resource])
        await self._insist(
            lambda: self.here.request(ANY, request, error_of=lambda r: r.responses[0].error_code)
        )

    async def _insist(self, attempt: Callable[[], Awaitable[object]]) -> object:
        while True:
            try:
                return await attempt()
            except (ClientError, Disconnected):
                await asyncio.sleep(0.1)

    async def _write(self) -> None:
        while self._is_writing:
            partition = self._random.randrange(PARTITIONS)
            values = [b"p%d" % self.counts["plain"]] * self._random.randint(1, 4)
            try:
                await self.there.produce(TOPIC, partition, [NewRecord(value=each) for each in values])
            except (ClientError, Disconnected):
                self.counts["failed"] += 1
            self.counts["plain"] += 1
            await asyncio.sleep(self._random.expovariate(10))

    async def _write_transactions(self) -> None:
        """A failed transaction is abandoned; the next one ends it. The last one is ended."""
        while self._is_writing:
            try:
                await self._transact()
            except (ClientError, Disconnected):
                self.counts["abandoned"] += 1
            await asyncio.sleep(self._random.expovariate(4))
        await self._insist(self._begin)

    async def _begin(self) -> init_producer_id.InitProducerIdResponse:
        request = init_producer_id.InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=8000)
        begun: init_producer_id.InitProducerIdResponse = await self.there.request(_COORDINATOR, request)
        return begun

    async def _transact(self) -> None:
        begun = await self._begin()
        m = add_partitions_to_txn
        add = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="t",
            v3_and_below_producer_id=begun.producer_id,
            v3_and_below_producer_epoch=begun.producer_epoch,
            v3_and_below_topics=[m.AddPartitionsToTxnTopic(name=TOPIC, partitions=list(range(PARTITIONS)))],
        )
        await self.there.request(
            _COORDINATOR,
            add,
            error_of=lambda r: (
                r.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
            version_max=_ADD_ALONE_LAST,
        )
        for partition in range(PARTITIONS):
            records = build_batch(
                [NewRecord(value=b"t%d" % self.counts["transactions"])],
                producer_id=begun.producer_id,
                producer_epoch=begun.producer_epoch,
                base_sequence=0,
                is_transactional=True,
            )
            data = produce.PartitionProduceData(index=partition, records=records)
            request = produce.ProduceRequest(
                transactional_id="t",
                acks=-1,
                timeout_ms=3000,
                topic_data=[produce.TopicProduceData(name=TOPIC, partition_data=[data])],
            )
            await self.there.request(
                LeaderOf(TOPIC, partition),
                request,
                error_of=lambda r: r.responses[0].partition_responses[0].error_code,
                version_max=_PRODUCE_ADDED_LAST,
            )
        end = end_txn.EndTxnRequest(
            transactional_id="t",
            producer_id=begun.producer_id,
            producer_epoch=begun.producer_epoch,
            committed=self._random.random() < 0.6,
        )
        await self.there.request(_COORDINATOR, end, version_max=3)
        self.counts["transactions"] += 1

    # -- faults -------------------------------------------------------------------------------------------

    async def _inject(self) -> None:
        network, drawn = self._loop.network, self._random
        fault = drawn.choice(("end target", "end target", "end source", "cut source", "cut target"))
        self.counts[fault] += 1
        if fault == "cut source":
            cut = drawn.sample(self.targets, drawn.randint(1, 3))
            network.isolate([self.source.name], [each.name for each in cut])
        elif fault == "cut target":
            network.clear_faults()
            one = drawn.choice(self.targets)
            network.isolate([one.name], [each.name for each in self.targets if each is not one])
        else:
            machine = self.source if fault == "end source" else drawn.choice(self.targets)
            if machine.broker is not None and machine.is_serving:
                await machine.end(drawn.choice(list(Ending)))
                machine.start_later(drawn.uniform(0, 2))

    # -- checks -------------------------------------------------------------------------------------------

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        deadline_s = self._loop.time() + _RECOVERY_S_MAX
        while not is_so():
            if self._loop.time() > deadline_s:
                raise Violation("liveness", f"not within {_RECOVERY_S_MAX} s: {what}; {self._describe()}")
            await asyncio.sleep(0.1)

    def _describe(self) -> str:
        return "; ".join(
            f"{machine.name} {number}: {replica.high_watermark} of {replica.log.log_end_offset}"
            for machine in self._machines
            for number in range(PARTITIONS)
            if (replica := machine.replica((TOPIC, number))) is not None
        )

    def _state(self) -> MirrorState | None:
        images = [each.image for each in self.targets if each.image is not None]
        oldest = min(images, key=lambda each: each.offset, default=None)  # the last node to apply it
        mirror = None if oldest is None else oldest.mirror(_MIRROR)
        return None if mirror is None else mirror.state

    def _replicas(self, number: int) -> dict[str, Replica]:
        found = {each.name: each.replica((TOPIC, number)) for each in self._machines}
        return {name: replica for name, replica in found.items() if replica is not None}

    def _is_level(self) -> bool:
        """Whether all four replicas of each partition end at the same offset, and all of it is committed."""
        for number in range(PARTITIONS):
            replicas = self._replicas(number).values()
            ends = {each.log.log_end_offset for each in replicas} | {each.high_watermark for each in replicas}
            if len(replicas) != len(self._machines) or len(ends) != 1:
                return False
        return True

    def _check_same(self) -> None:
        for number in range(PARTITIONS):
            found = {name: list(batches_of(each, 0)) for name, each in self._replicas(number).items()}
            compare_logs((TOPIC, number), found)
            self.counts["batches"] += len(found[self.source.name])

    async def _promote(self, state: str) -> None:
        await self._change({STATE: state})
        await self._until(lambda: self._state() is MirrorState.PROMOTED, "the mirror is promoted")

    def _check_promoted(self) -> None:
        """What the mirror holds is the beginning of the source's log, without an open transaction."""
        for number in range(PARTITIONS):
            replicas = self._replicas(number)
            source = {each.base_offset: each for each in batches_of(replicas.pop(self.source.name), 0)}
            for name, replica in replicas.items():
                for batch in batches_of(replica, 0):
                    theirs = source.get(batch.base_offset)
                    if theirs is not None and theirs != batch:
                        raise Violation(
                            "same batches", f"{TOPIC}-{number} on {name}: {batch.difference(theirs)}"
                        )
                    self.counts["batches"] += 1
                if replica.is_leader and replica.last_stable_offset != replica.log.log_end_offset:
                    raise Violation(
                        "whole transactions", f"{TOPIC}-{number} on {name} has an open transaction"
                    )

    async def _write_here(self) -> None:
        """The promoted topic takes records, of producers with the ids of the source's too."""
        for number in range(PARTITIONS):
            outcome = await self.here.produce(TOPIC, number, [NewRecord(value=b"here")])
            if outcome[0].offset < 0:
                refusal = f"{outcome[0].error.name} {outcome[0].message or ''}"
                raise Violation(
                    "liveness", f"{TOPIC}-{number} takes no records after the promotion: {refusal}"
                )
        await self._until(self._agree, "the replicas of the mirror agree")

    def _agree(self) -> bool:
        for number in range(PARTITIONS):
            replicas = self._replicas(number)
            del replicas[self.source.name]
            ends = {each.log.log_end_offset for each in replicas.values()}
            ends |= {each.high_watermark for each in replicas.values()}
            if len(replicas) != len(self.targets) or len(ends) != 1:
                return False
            compare_logs(
                (TOPIC, number), {name: list(batches_of(each, 0)) for name, each in replicas.items()}
            )
        return True


_COORDINATOR: Final = CoordinatorOf(CoordinatorKind.TRANSACTION, "t")


def run_mirror(seed: int) -> SimulatedMirror:
    """Run one seed. Raises `Violation`, or any other exception of the run."""

    async def run(loop: SimulatedLoop) -> SimulatedMirror:
        mirror = SimulatedMirror(loop, seed)
        await mirror.run()
        return mirror

    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    random.seed(seed)  # the back-off of clients draws from the module's own
    try:
        mirror, _ = run_simulated(seed, run, plan.conditions_of(seed))
    finally:
        logging.disable(before)
    return mirror
