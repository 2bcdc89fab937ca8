"""A quorum with the product's I/O: `RaftDriver`, a log of the storage engine, Kafka's wire format, a `FaultyDisk`.

It has fewer faults and runs fewer seeds than `world`, which has the state machines alone. It covers everything between
them and the disk: syncs, renames, recovery and torn writes.
"""

import asyncio
from collections.abc import Iterable

from penstock.cluster.quorum import wire
from penstock.cluster.quorum.driver import RaftDriver
from penstock.cluster.quorum.quorum_state import QuorumStateFile
from penstock.cluster.quorum.stored_log import StoredRaftLog
from penstock.cluster.raft.errors import RaftError
from penstock.cluster.raft.messages import Request, Response
from penstock.cluster.raft.values import Address, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import Voter, VoterSet
from penstock.protocol import apis
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import iter_records
from penstock.protocol.wire import Buffer
from penstock.storage.flusher import Flusher
from penstock.storage.store.log_store import LogStore
from penstock_simulation.broker import SimulatedClock, SimulatedOffload
from penstock_simulation.disk import FaultyDisk, Keep
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.network import CLIENT
from penstock_simulation.raft.checker import RaftChecker
from penstock_simulation.seeds import randomness
from penstock_simulation.violation import Violation

_RECOVERY_S_MAX = 30.0
_SETTINGS = RaftSettings(snapshot_after_bytes=2_000, snapshot_chunk_bytes=300, fetch_bytes_max=500)


class Values:
    """A state machine that is the list of all appended values."""

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine
        self.values: list[bytes] = []

    async def apply(self, batches: Buffer) -> None:
        for pos, header in iter_batches_strict(batches):
            self._machine.quorum.checker.on_commit(
                self._machine.name,
                epoch=header.leader_epoch,
                base_offset=header.base_offset,
                next_offset=header.next_offset,
                data=bytes(memoryview(batches)[pos : pos + header.size_bytes]),
            )
        self._add(batches)

    async def load(self, content: Iterable[bytes], end_offset: int) -> None:  # noqa: ARG002
        self.values = []
        for batches in content:
            self._add(batches)

    def _add(self, batches: Buffer) -> None:
        for pos, header in iter_batches_strict(batches):
            if not header.is_control:
                self.values += [record.value or b"" for record in iter_records(batches, pos=pos)]

    def snapshot(self) -> Iterable[bytes]:
        return [build_batch([NewRecord(value=value, timestamp=0)]) for value in self.values]

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        machine = self._machine
        if leader_id == machine.key.node_id:
            machine.quorum.checker.on_leader(machine.name, machine.key, epoch)


class Machine:
    """One node with its disk."""

    def __init__(self, quorum: "SimulatedQuorum", key: ReplicaKey) -> None:
        self.quorum = quorum
        self.key = key
        self.name = f"node {key.node_id}"
        self.disk = FaultyDisk(randomness(quorum.seed, f"disk {key.node_id}"))
        self.driver: RaftDriver | None = None
        self.state = Values(self)

    async def start(self) -> None:
        loop = self.quorum.loop
        clock, offload = SimulatedClock(loop), SimulatedOffload(loop)
        store = LogStore.open(
            "/data",
            files=self.disk,
            node_id=self.key.node_id,
            new_cluster_id=lambda: self.quorum.cluster_id,
            new_directory_id=lambda: self.key.directory_id,
            clock=clock,
            offload=offload,
        )
        log = StoredRaftLog(store, Flusher(offload, clock), files=self.disk, clock=clock, offload=offload)
        self.state = Values(self)
        driver = RaftDriver(
            log,
            QuorumStateFile(self.disk, log.directory, self.quorum.cluster_id),
            self.state,
            self,
            clock=clock,
            offload=offload,
            on_failure=self._on_failure,
        )
        await driver.start(
            self.key,
            self.quorum.cluster_id,
            self.quorum.voters,
            settings=_SETTINGS,
            randomness=randomness(self.quorum.random.getrandbits(64), self.name),
        )
        self.driver = driver

    def _on_failure(self, error: Exception) -> None:
        raise Violation("disk", f"{self.name} has failed: {error}")

    def crash(self) -> None:
        """Cut the power; unsynced writes are lost, torn or kept as the seed draws."""
        self.driver = None
        self.disk = self.disk.crash(self.quorum.random.choice(list(Keep)))
        self.quorum.loop.power_off(self.name)

    async def ask(self, to: int, addresses: tuple[Address, ...], request: Request) -> Response:  # noqa: ARG002
        """Send a request, and get its answer, as bytes through the network; see `Peers`."""
        network = self.quorum.loop.network
        target = self.quorum.machines[to - 1]
        api = wire.APIS[type(request)]
        codec = apis.codec(api.key)
        sent = bytearray()
        codec.encode_request_into(sent, wire.encode_request(request, api.version), api.version)
        await self._travel(self.name, target.name)
        if target.driver is None:
            raise ConnectionRefusedError(111, f"{target.name} is down")
        received = wire.decode_request(codec.decode_request(bytes(sent), api.version))
        response = asyncio.create_task(target.driver.request(received))
        done, _ = await asyncio.wait([response], timeout=_SETTINGS.request_timeout_ms / 1000)
        if not done or response.cancelled():
            response.cancel()
            raise TimeoutError(f"{target.name} did not answer")
        encoded = codec.encode_response(wire.encode_response(request, response.result()), api.version)
        if network.is_blocked(target.name, self.name):
            raise ConnectionResetError(104, "cut")
        await self._travel(target.name, self.name)
        data = encoded if isinstance(encoded, bytes) else b"".join(bytes(each) for each in encoded)
        return wire.decode_response(request, codec.decode_response(data, api.version), "PLAINTEXT")

    async def _travel(self, source: str, target: str) -> None:
        network = self.quorum.loop.network
        if network.is_blocked(source, target):
            await asyncio.sleep(_SETTINGS.request_timeout_ms / 1000)
            raise TimeoutError(f"{source} cannot reach {target}")
        await asyncio.sleep(network.delay_ms(source, target) / 1000)


class SimulatedQuorum:
    cluster_id = "simulated"

    def __init__(self, loop: SimulatedLoop, seed: int, voter_count: int = 3) -> None:
        self.loop = loop
        self.seed = seed
        self.random = randomness(seed, "quorum")
        self.checker = RaftChecker()
        self.acked: list[bytes] = []
        keys = [ReplicaKey(number + 1, bytes([number + 1]) * 16) for number in range(voter_count)]
        self.voters = VoterSet(Voter(key=key) for key in keys)
        self.machines = [Machine(self, key) for key in keys]

    async def run(self, *, crash_count: int = 6) -> None:
        """Append all the time and crash at random. Raises `Violation`."""
        for machine in self.machines:
            await self.loop.run_on(machine.name, machine.start())
        client = self.loop.run_on(CLIENT, self._append_forever())
        for _ in range(crash_count):
            await asyncio.sleep(self.random.uniform(0.2, 4))
            await self._inject_fault()
        await self._check_final()
        client.cancel()

    async def _inject_fault(self) -> None:
        machine = self.random.choice(self.machines)
        if self.random.random() < 0.3:
            self.loop.network.isolate([machine.name], [each.name for each in self.machines])
            await asyncio.sleep(self.random.uniform(0.2, 4))
            self.loop.network.clear_faults()
        elif machine.driver is not None:
            machine.crash()
            await asyncio.sleep(self.random.uniform(0.01, 3))
            await self.loop.run_on(machine.name, machine.start())

    def leader(self) -> Machine | None:
        leading = [each for each in self.machines if each.driver is not None and each.driver.node.is_leader]
        return max(leading, key=lambda each: each.driver.node.epoch if each.driver else 0, default=None)

    async def _append_forever(self) -> None:
        number = 0
        while True:
            await asyncio.sleep(self.random.uniform(0.005, 0.1))
            leader = self.leader()
            if leader is not None and leader.driver is not None:
                number += 1
                await self.append_one(leader.driver, b"value %d" % number)

    async def append_one(self, driver: RaftDriver, value: bytes) -> None:
        batch = build_batch([NewRecord(value=value, timestamp=0)])
        try:
            await asyncio.wait_for(driver.append(batch, driver.node.epoch), 3)
        except (RaftError, TimeoutError):
            return  # not acknowledged
        self.acked.append(value)

    async def _check_final(self) -> None:
        """Wait until all nodes have all records, and check the acknowledged ones."""
        aim = self.checker.committed_end_offset
        deadline_s = self.loop.time() + _RECOVERY_S_MAX
        while not all(
            each.driver is not None and each.driver.node.high_watermark > aim for each in self.machines
        ):
            if self.loop.time() > deadline_s:
                raise Violation("liveness", f"some node is not past offset {aim} after {_RECOVERY_S_MAX} s")
            await asyncio.sleep(0.2)
        await asyncio.sleep(2)
        for machine in self.machines:
            known = set(self.acked)
            found = [value for value in machine.state.values if value in known]
            if found[: len(self.acked)] != self.acked[: len(found)] or len(found) + 50 < len(self.acked):
                raise Violation("committed never lost", f"{machine.name} lacks acknowledged records")
