"""Shows the checkers what nodes do: all nodes, over all their lives, by stepping in between their own methods."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.cluster.append_queue import AppendQueue
from penstock.cluster.commit import Commit
from penstock.cluster.metadata.state import Partition
from penstock.cluster.quorum import Quorum
from penstock.cluster.raft.applying import Applier, Work
from penstock.cluster.raft.effects import InstallSnapshot
from penstock.cluster.raft.quorum_state import QuorumStateFile
from penstock.cluster.raft.values import Election
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.groups.consumer.service import ConsumerGroups
from penstock.groups.vigil import Shard
from penstock.protocol.wire import Buffer
from penstock.storage.log.append import Appender
from penstock.storage.log.log import Log
from penstock.storage.log_store import LogStore
from penstock.testing.simulation.cluster.history import History
from penstock.testing.simulation.nodes import current_node

OnVote = Callable[[str, Election], None]


@contextlib.contextmanager
def watching(history: History, on_vote: OnVote) -> Iterator[None]:
    """`on_vote` is told when a node has written down a vote or an epoch, before it tells anybody."""
    with contextlib.ExitStack() as stack:
        for owner, name, watched in (
            *_of_replicas(history),
            *_of_logs(history),
            *_of_quorum(history),
            (ConsumerGroups, "begin", _coordinating(history)),
            (Applier, "_apply", _applying(history)),
            (QuorumStateFile, "write", _voting(on_vote)),
        ):
            original = getattr(owner, name)
            stack.callback(setattr, owner, name, original)
            setattr(owner, name, watched)
        yield


def _voting(on_vote: OnVote) -> Callable[..., None]:
    write = QuorumStateFile.write

    def watched(state: QuorumStateFile, election: Election) -> None:
        write(state, election)
        on_vote(current_node.get(), election)

    return watched


def _coordinating(history: History) -> Callable[..., None]:
    begin = ConsumerGroups.begin

    def watched(groups: ConsumerGroups, shard: Shard) -> None:
        now_s = asyncio.get_running_loop().time()
        history.group.is_loaded(current_node.get(), shard.leader_epoch, now_s)
        begin(groups, shard)

    return watched


def _applying(history: History) -> Callable[..., Any]:
    apply = Applier._apply  # noqa: SLF001

    async def watched(applier: Applier, work: Work) -> None:
        if isinstance(work, InstallSnapshot) and applier.applied_offset > 0:
            history.metadata.installs(current_node.get())
        await apply(applier, work)

    return watched


def _of_replicas(history: History) -> list[tuple[Any, str, Callable[..., Any]]]:
    checker = history.replicas
    follow, begin, advance = Replica.follow, Replica._begin_epoch, Replica.advance_high_watermark  # noqa: SLF001

    def follows(replica: Replica, state: Partition) -> None:
        follow(replica, state)
        checker.follows(replica)

    def begins(replica: Replica, log: Log) -> None:
        begin(replica, log)
        checker.leads(replica)

    def advances(replica: Replica, high_watermark: int) -> None:
        before = replica.high_watermark
        advance(replica, high_watermark)
        if replica.high_watermark > before:
            checker.commits(replica)

    write = AppendQueue._write  # noqa: SLF001

    def writes(queue: AppendQueue, commits: list[Commit], log: Log) -> None:
        if len(commits) > 1:
            checker.groups.append(len(commits))
        write(queue, commits, log)

    delete = Replicas.delete_records

    async def deletes(replicas: Replicas, replica: Replica, offset: int) -> None:
        checker.deletes(replica, offset)
        await delete(replicas, replica, offset)

    return [
        (Replicas, "delete_records", deletes),
        (Replica, "follow", follows),
        (Replica, "_begin_epoch", begins),
        (Replica, "advance_high_watermark", advances),
        (AppendQueue, "_write", writes),
    ]


def _of_logs(history: History) -> list[tuple[Any, str, Callable[..., Any]]]:
    """What is appended to the logs of replicas and dropped from them, whoever decided that."""
    checker = history.replicas
    truncate, restart, advance = Log.truncate_to, Log.truncate_fully_and_start_at, Log.advance_log_start
    append_each = Appender.append_each

    def appends_each(appender: Appender, *args: Any, **options: Any) -> None:
        if (replica := _replica_of(appender.log)) is not None:
            checker.appends(replica, options["leader_epoch"])
        append_each(appender, *args, **options)

    begin_truncation = LogStore.allow_truncation

    async def begins_truncation(store: LogStore, log: Log, offset: int) -> None:
        if (replica := _replica_of(log)) is not None:
            checker.truncates(replica)
        await begin_truncation(store, log, offset)

    def truncates(log: Log, offset: int, *, now_ms: int) -> int:
        if (replica := _replica_of(log)) is not None:
            checker.cuts(replica, offset)
        return truncate(log, offset, now_ms=now_ms)

    def restarts(log: Log, offset: int) -> None:
        replica, is_empty = _replica_of(log), log.log_start_offset == log.log_end_offset
        if replica is not None and not is_empty:
            checker.cuts(replica, offset)
        restart(log, offset)

    def advances(log: Log, offset: int) -> None:
        before, replica = log.log_start_offset, _replica_of(log)
        advance(log, offset)
        if replica is not None:
            checker.starts(replica, before)

    return [
        (Appender, "append_each", appends_each),
        (LogStore, "allow_truncation", begins_truncation),
        (Log, "truncate_to", truncates),
        (Log, "truncate_fully_and_start_at", restarts),
        (Log, "advance_log_start", advances),
    ]


def _replica_of(log: Log) -> Replica | None:
    """None for the log of the metadata."""
    owner = getattr(log.on_durable, "__self__", None)
    return owner if isinstance(owner, Replica) else None


def _of_quorum(history: History) -> list[tuple[Any, str, Callable[..., Any]]]:
    checker = history.metadata
    apply, load, snapshot, changed = Quorum.apply, Quorum.load, Quorum.snapshot, Quorum.leader_changed

    async def applies(quorum: Quorum, batches: Buffer) -> None:
        checker.applies(current_node.get(), batches)
        await apply(quorum, batches)

    async def loads(quorum: Quorum, content: Iterable[bytes], end_offset: int) -> None:
        await load(quorum, content, end_offset)
        checker.has_image(current_node.get(), quorum._metadata.image)  # noqa: SLF001

    def takes_snapshot(quorum: Quorum) -> Iterable[bytes]:
        checker.has_image(current_node.get(), quorum._metadata.image)  # noqa: SLF001
        return snapshot(quorum)

    def changes(quorum: Quorum, leader_id: int | None, epoch: int) -> None:
        checker.is_led_by(leader_id, epoch)
        changed(quorum, leader_id, epoch)

    return [
        (Quorum, "apply", applies),
        (Quorum, "load", loads),
        (Quorum, "snapshot", takes_snapshot),
        (Quorum, "leader_changed", changes),
    ]
