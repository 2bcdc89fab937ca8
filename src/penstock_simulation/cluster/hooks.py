"""Hooks into the broker's own methods, for all nodes of a run.

The checkers observe the acts of nodes. Sizes are reduced to the scale of a simulation. Waits that depend on the clock
become draws of the seed: while a broker applies a change of the metadata it yields to the event loop every few
milliseconds, but on a simulated loop no time passes, so nothing would ever run in between.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.cluster import replicas
from penstock.cluster.append_queue import AppendQueue
from penstock.cluster.commit import Commit
from penstock.cluster.metadata.state import Partition
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.cluster.quorum.applying import Applier, Work
from penstock.cluster.quorum.quorum import Quorum
from penstock.cluster.quorum.quorum_state import QuorumStateFile
from penstock.cluster.raft.effects import InstallSnapshot
from penstock.cluster.raft.values import Election
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.groups.services.base import Shard
from penstock.groups.services.consumer import ConsumerGroups
from penstock.storage.log.append import Appender
from penstock.storage.log.log import Log
from penstock.storage.segment import chain as segment_chain
from penstock.storage.store.log_store import LogStore
from penstock_simulation.cluster.history import History
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.network import current_node

_GROW_BYTES = (
    8192  # a broker extends segments by a megabyte of zeros, which a disk in memory would have to hold
)
_YIELD_CHANCE = 0.5
_YIELD_S_MAX = 0.1

OnVote = Callable[[str, Election], None]
Patch = tuple[Any, str, Any]


@contextlib.contextmanager
def hooks(loop: SimulatedLoop, history: History, on_vote: OnVote) -> Iterator[None]:
    """Install all hooks. `on_vote` is called when a node has stored a vote or an epoch, before it answers."""
    patches = (
        (segment_chain, "GROW_BYTES", _GROW_BYTES),
        (replicas._Pacer, "yield_if_due", _yield_at_random(loop)),  # noqa: SLF001 - no other code may replace it
        _after(QuorumStateFile, "write", lambda _file, election: on_vote(current_node.get(), election)),
        *_replica_patches(loop, history),
        *_log_patches(loop, history),
        *_quorum_patches(history),
    )
    with contextlib.ExitStack() as stack:
        for owner, name, replacement in patches:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, replacement)
        yield


def _before(owner: Any, name: str, observe: Callable[..., None]) -> Patch:
    original = getattr(owner, name)

    def hooked(*args: Any, **options: Any) -> Any:
        observe(*args, **options)
        return original(*args, **options)

    return owner, name, hooked


def _after(owner: Any, name: str, observe: Callable[..., None]) -> Patch:
    original = getattr(owner, name)

    def hooked(*args: Any, **options: Any) -> Any:
        result = original(*args, **options)
        observe(*args, **options)
        return result

    return owner, name, hooked


def _yield_at_random(loop: SimulatedLoop) -> Any:
    async def pause(_pace: object) -> None:
        if loop.random.random() < _YIELD_CHANCE:
            await asyncio.sleep(loop.random.uniform(0, _YIELD_S_MAX))

    return pause


def _replica_patches(loop: SimulatedLoop, history: History) -> Iterable[Patch]:
    checker = history.replicas
    advance = Replica.advance_high_watermark

    def on_coordinator_loaded(_groups: ConsumerGroups, shard: Shard) -> None:
        history.coordinators.on_loaded(current_node.get(), shard.leader_epoch, loop.time())

    def on_follow(replica: Replica, state: Partition) -> None:
        checker.on_follow(replica)
        if replica.topic == CONSUMER_OFFSETS:
            history.coordinators.on_epoch(current_node.get(), state.leader_epoch, loop.time())

    def advance_high_watermark(replica: Replica, high_watermark: int) -> None:
        before = replica.high_watermark
        advance(replica, high_watermark)
        if replica.high_watermark > before:
            checker.on_high_watermark(replica)

    def on_write(_queue: AppendQueue, commits: list[Commit], _log: Log) -> None:
        if len(commits) > 1:
            checker.group_commit_sizes.append(len(commits))

    def on_delete_records(_replicas: Replicas, replica: Replica, offset: int) -> None:
        checker.on_delete_records(replica, offset)

    yield _before(ConsumerGroups, "begin", on_coordinator_loaded)
    yield _after(Replica, "follow", on_follow)
    yield _after(Replica, "_begin_epoch", lambda replica, _log: checker.on_lead(replica))
    yield Replica, "advance_high_watermark", advance_high_watermark
    yield _before(AppendQueue, "_write", on_write)
    yield _before(Replicas, "delete_records", on_delete_records)


def _log_patches(loop: SimulatedLoop, history: History) -> Iterable[Patch]:
    """Observe appends, truncations and deletions in the logs of replicas."""
    checker = history.replicas
    advance, allow_truncation = Log.advance_log_start, LogStore.allow_truncation

    def on_append(appender: Appender, *_: Any, **options: Any) -> None:
        if (replica := _replica_of(appender.log)) is not None:
            checker.on_append(replica, options["leader_epoch"])

    async def allow_truncation_slowly(store: LogStore, log: Log, offset: int) -> None:
        """A checkpoint that a truncation waits for takes the time that a fault sets."""
        began_s = loop.time()
        if (replica := _replica_of(log)) is not None:
            checker.on_divergence(replica)
        await allow_truncation(store, log, offset)
        slow = loop.slow_checkpoints.get(current_node.get())
        if slow is not None and loop.time() > began_s:  # it waited for the disk
            await slow.wait()

    def on_truncate(log: Log, offset: int, **_: Any) -> None:
        if (replica := _replica_of(log)) is not None:
            checker.on_truncate(replica, offset)

    def on_restart(log: Log, offset: int) -> None:
        if log.log_start_offset != log.log_end_offset:
            on_truncate(log, offset)

    def advance_log_start(log: Log, offset: int) -> None:
        before, replica = log.log_start_offset, _replica_of(log)
        advance(log, offset)
        if replica is not None:
            checker.on_log_start(replica, before)

    yield _before(Appender, "append_each", on_append)
    yield LogStore, "allow_truncation", allow_truncation_slowly
    yield _before(Log, "truncate_to", on_truncate)
    yield _before(Log, "truncate_fully_and_start_at", on_restart)
    yield Log, "advance_log_start", advance_log_start


def _replica_of(log: Log) -> Replica | None:
    """Return the replica of a log; None for the metadata log."""
    owner = getattr(log.on_durable, "__self__", None)
    return owner if isinstance(owner, Replica) else None


def _quorum_patches(history: History) -> Iterable[Patch]:
    checker = history.metadata
    load = Quorum.load

    def on_image(quorum: Quorum) -> None:
        checker.on_image(current_node.get(), quorum._metadata.image)  # noqa: SLF001

    async def load_snapshot(quorum: Quorum, content: Iterable[bytes], end_offset: int) -> None:
        await load(quorum, content, end_offset)
        on_image(quorum)

    def on_work(applier: Applier, work: Work) -> None:
        if isinstance(work, InstallSnapshot) and applier.applied_offset > 0:
            checker.on_snapshot_installed(current_node.get())

    yield _before(Quorum, "apply", lambda _, batches: checker.on_applied(current_node.get(), batches))
    yield Quorum, "load", load_snapshot
    yield _before(Quorum, "snapshot", on_image)
    yield _before(Quorum, "leader_changed", lambda _, leader_id, epoch: checker.on_leader(leader_id, epoch))
    yield _before(Applier, "_apply", on_work)
