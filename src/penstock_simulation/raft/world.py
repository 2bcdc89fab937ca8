"""A quorum under one seed: hosts, a network, a client, faults, and the checks at the end."""

from itertools import product

import msgspec

from penstock.cluster.raft.effects import Send
from penstock.cluster.raft.events import (
    AppendRequested,
    RequestArrived,
    RequestFailed,
    ResignRequested,
    ResponseArrived,
)
from penstock.cluster.raft.messages import AddVoterRequest, RemoveVoterRequest, Request, Response
from penstock.cluster.raft.values import Address, Election, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import Voter, VoterSet
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_simulation.network import RELIABLE, Conditions, SimulatedNetwork
from penstock_simulation.raft.checker import RaftChecker
from penstock_simulation.raft.host import RaftHost, ReplyTo, address_of
from penstock_simulation.raft.hostile import HostileNode
from penstock_simulation.raft.timeline import Timeline
from penstock_simulation.seeds import randomness
from penstock_simulation.violation import Violation

_RECOVERY_MS_MAX = 20_000


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a run; `plan_of` draws them from a seed."""

    voter_count: int = 3
    observer_count: int = 1
    duration_ms: float = 10_000
    conditions: Conditions = RELIABLE
    fault_interval_ms: float = 700
    append_interval_ms: float = 25
    auto_join: bool = False
    snapshot_after_bytes: int = 4_000
    snapshot_chunk_bytes: int = 40
    fetch_bytes_max: int = 200
    clock_skew: float = 0.05
    hostile_interval_ms: float = 0
    """The mean time between forged requests of a hostile node; 0 for no such node."""
    # fmt: off
    faults: tuple[str, ...] = (
        "crash", "block", "block one way", "slow", "slow disk", "failing sync", "transfer", "add voter", "remove voter",
        "wipe", "stop leader",
    )
    # fmt: on


def plan_of(seed: int) -> Plan:
    draw = randomness(seed, "plan")
    roughness = draw.random()
    return Plan(
        voter_count=draw.choice((1, 2, 3, 3, 3, 4, 5, 5)),
        observer_count=draw.choice((0, 1, 1, 2)),
        conditions=Conditions(
            slow_chance=0.05 * roughness,
            slow_ms_max=draw.choice((50.0, 500.0, 2500.0)),
            loss_chance=draw.choice((0.0, 0.01, 0.1)) * roughness,
            duplicate_chance=0.05 * roughness,
        ),
        fault_interval_ms=draw.choice((100, 200, 500, 1500)),
        append_interval_ms=draw.choice((10, 30, 100)),
        auto_join=draw.random() < 0.5,
        snapshot_after_bytes=draw.choice((1_500, 6_000, 1 << 20)),
        snapshot_chunk_bytes=draw.choice((40, 1000)),
        fetch_bytes_max=draw.choice((1, 200, 2000, 1 << 20)),
        clock_skew=draw.choice((0.0, 0.05, 0.2)),
        hostile_interval_ms=draw.choice((0, 0, 20, 300)),
    )


class RaftWorld:
    cluster_id = "simulated"

    def __init__(self, seed: int, plan: Plan | None = None) -> None:
        self.plan = plan or plan_of(seed)
        self.random = randomness(seed, "world")
        self.timeline = Timeline()
        self.network = SimulatedNetwork(randomness(seed, "network"), self.plan.conditions)
        self.checker = RaftChecker()
        self.acked: dict[bytes, int] = {}
        self.fault_counts: dict[str, int] = {}
        self._appended_count = 0
        self._failing_syncs: set[str] = set()
        self._has_faults = True
        self.hostile = HostileNode(self, seed)
        self._directory_count = 0
        settings = RaftSettings(
            auto_join=self.plan.auto_join,
            snapshot_after_bytes=self.plan.snapshot_after_bytes,
            snapshot_chunk_bytes=self.plan.snapshot_chunk_bytes,
            fetch_bytes_max=self.plan.fetch_bytes_max,
        )
        keys = [
            self._new_key(number + 1) for number in range(self.plan.voter_count + self.plan.observer_count)
        ]
        voters = VoterSet(
            Voter(key=key, endpoints=(address_of(key.node_id),)) for key in keys[: self.plan.voter_count]
        )
        self.hosts = [
            RaftHost(self, key, settings, voters if number < self.plan.voter_count else VoterSet())
            for number, key in enumerate(keys)
        ]
        for host in self.hosts:
            host.clock_rate = 1 + self.random.uniform(-self.plan.clock_skew, self.plan.clock_skew)

    def _new_key(self, node_id: int) -> ReplicaKey:
        self._directory_count += 1
        return ReplicaKey(node_id, self._directory_count.to_bytes(16))

    def bootstrap_for(self, host: RaftHost) -> tuple[Address, ...]:
        return tuple(address_of(each.key.node_id) for each in self.hosts if each is not host)

    # -- called by hosts ------------------------------------------------------------------------------

    def persist(self, host: RaftHost, election: Election) -> None:
        """Store an election, synced. Tests replace this by a disk that does not sync."""
        host.log.election = election

    def send(self, source: RaftHost, effect: Send) -> None:
        node_id = effect.to if effect.to >= 0 else effect.addresses[0].port
        target = next((host for host in self.hosts if host.key.node_id == node_id), None)
        if target is None:
            return
        incarnation = source.incarnation

        def reply(response: Response) -> None:
            for delay_ms in self.network.delays_ms(target.name, source.name):
                self.timeline.after(delay_ms, lambda: deliver(response))

        def deliver(response: Response) -> None:
            if source.incarnation == incarnation:
                source.handle(ResponseArrived(effect.request_id, response))

        def refuse() -> None:
            if source.incarnation == incarnation:
                source.handle(RequestFailed(effect.request_id, is_refused=True))

        def arrive() -> None:
            if target.node is None:
                self.timeline.after(self.network.delay_ms(target.name, source.name), refuse)
            else:
                target.handle(RequestArrived(ReplyTo(reply), effect.request))

        for delay_ms in self.network.delays_ms(source.name, target.name):
            self.timeline.after(delay_ms, arrive)

    def sync_fails(self, host: RaftHost) -> bool:
        if host.name in self._failing_syncs:
            self._failing_syncs.discard(host.name)
            return True
        return False

    def acknowledged(self, token: object, offset: int) -> None:
        assert isinstance(token, bytes)
        self.acked[token] = offset

    # -- the run --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the plan. Raises `Violation`, or `AssertionError` for a bug."""
        for host in self.hosts:
            host.start()
        self.timeline.after(self.plan.append_interval_ms, self._append)
        self.timeline.after(self.plan.fault_interval_ms, self._fault)
        if self.plan.hostile_interval_ms:
            self.timeline.after(self.plan.hostile_interval_ms, self._attack)
        self.timeline.run_until(self.plan.duration_ms)
        self._has_faults = False
        self._clear_faults()
        self.network.conditions = RELIABLE
        self._check_liveness()
        self._check_acknowledged()

    def leader(self) -> RaftHost | None:
        """Return the leader of the latest epoch that has one."""
        leading = [host for host in self.hosts if host.node is not None and host.node.is_leader]
        return max(leading, key=lambda host: host.node.epoch if host.node else 0, default=None)

    def _append(self) -> None:
        """Append to every node that believes to lead, even if another one leads by now."""
        for host in self.hosts:
            if host.node is not None and host.node.is_leader:
                self._appended_count += 1
                token = b"record %d" % self._appended_count
                host.handle(
                    AppendRequested(
                        token, host.node.epoch, build_batch([NewRecord(value=token, timestamp=0)])
                    )
                )
        self.timeline.after(self.plan.append_interval_ms * self.random.uniform(0.2, 2), self._append)

    def _check_liveness(self) -> None:
        """Wait until a leader is elected, a new record is committed, and every node applies it."""
        before = self.checker.committed_end_offset
        deadline_ms = self.timeline.now_ms + _RECOVERY_MS_MAX
        while min(host.applied_offset for host in self.hosts) <= before:
            if self.timeline.now_ms >= deadline_ms:
                raise Violation(
                    "liveness", f"{self._describe_behind(before)} {_RECOVERY_MS_MAX} ms after the last fault"
                )
            self.timeline.run_until(self.timeline.now_ms + 200)

    def _describe_behind(self, offset: int) -> str:
        leader = self.leader()
        if leader is None:
            return "no leader"
        late = [host.name for host in self.hosts if host.applied_offset <= offset]
        return f"{', '.join(late)} have not applied offset {offset} of leader {leader.name}"

    def _check_acknowledged(self) -> None:
        """Check that acknowledged records are committed at their offsets."""
        for token, offset in self.acked.items():
            _, data = self.checker.committed.get(offset, (0, b""))
            if token not in data:
                raise Violation("committed never lost", f"{token!r} was acknowledged at offset {offset}")

    # -- faults ---------------------------------------------------------------------------------------

    def _fault(self) -> None:
        if not self._has_faults:
            return
        kind = self.random.choice(self.plan.faults)
        self.fault_counts[kind] = self.fault_counts.get(kind, 0) + 1
        self._inject(kind, self.random.choice(self.hosts))
        self.timeline.after(self.plan.fault_interval_ms * self.random.uniform(0.2, 2), self._fault)

    def _inject(self, kind: str, host: RaftHost) -> None:
        match kind:
            case "crash":
                self.crash(host)
            case "stop leader":
                self.crash(self.leader() or host)
            case "block" | "block one way":
                self._block(is_one_way=kind == "block one way")
                self.timeline.after(self.random.choice((200.0, 1500.0, 5000.0)), self.network.clear_faults)
            case "slow":
                self.network.slow_down(host.name, self.random.choice((10.0, 200.0)))
                self.timeline.after(self.random.choice((500.0, 3000.0)), self.network.clear_faults)
            case "slow disk":
                host.sync_ms_max = self.random.choice((2.0, 2.0, 50.0, 800.0))
            case "failing sync":
                self._failing_syncs.add(host.name)
            case "transfer":
                host.handle(ResignRequested())
            case "wipe":
                self._wipe(host)
            case "add voter" | "remove voter":
                self._change_voters(is_addition=kind == "add voter")
            case _:
                raise ValueError(f"unknown fault: {kind}")

    def _attack(self) -> None:
        if self._has_faults:
            self.hostile.attack()
            self.timeline.after(self.plan.hostile_interval_ms * self.random.uniform(0.2, 2), self._attack)

    def crash(self, host: RaftHost) -> None:
        if host.node is not None:
            host.stop()
            self.timeline.after(self.random.choice((5.0, 300.0, 4000.0)), lambda: self._restart(host))

    def _restart(self, host: RaftHost) -> None:
        if host.node is None:
            host.start()

    def _block(self, *, is_one_way: bool) -> None:
        names = [host.name for host in self.hosts]
        self.random.shuffle(names)
        count = self.random.randint(1, len(names))
        group, others = names[:count], names[count:]
        if is_one_way:
            for one, other in product(group, others):
                self.network.block(one, other)
        else:
            self.network.isolate(group, others)

    def _wipe(self, host: RaftHost) -> None:
        """Lose one disk if the quorum can bear it: all voters have theirs, and agree on the voters."""
        leader = self.leader()
        if leader is None or leader.node is None or leader.node.is_changing_voters:
            return
        voters = leader.node.voters
        keys = {each.key for each in self.hosts}
        voting = [each for each in self.hosts if voters.has(each.key)]
        is_whole = len(voters) >= 3 and all(voter.key in keys for voter in voters)
        if is_whole and all(each.latest_voters() == voters for each in voting):
            if host.node is not None:
                host.stop()
            host.wipe(self._new_key(host.key.node_id))
            self.timeline.after(100, lambda: self._restart(host))

    def _change_voters(self, *, is_addition: bool) -> None:
        leader = self.leader()
        if leader is None or leader.node is None:
            return
        voters = leader.node.voters
        request: Request
        if is_addition:
            candidates = [host for host in self.hosts if voters.get(host.key.node_id) is None]
            if not candidates:
                return
            key = self.random.choice(candidates).key
            voter = Voter(key=key, endpoints=(address_of(key.node_id),))
            request = AddVoterRequest(cluster_id=self.cluster_id, voter=voter, timeout_ms=3000)
        else:
            leaving = self.random.choice(list(voters)).key
            keys = {host.key for host in self.hosts}
            if any(voter.key not in keys for voter in voters.without(leaving.node_id)):
                return  # another voter has lost its disk: no operator would remove one more now
            request = RemoveVoterRequest(cluster_id=self.cluster_id, voter=leaving)
        leader.handle(RequestArrived(ReplyTo(lambda _: None), request))

    def _clear_faults(self) -> None:
        self.network.clear_faults()
        self._failing_syncs.clear()
        for host in self.hosts:
            host.sync_ms_max = 2.0
            self._restart(host)
