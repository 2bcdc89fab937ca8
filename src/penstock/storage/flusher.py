"""Group commit for many logs: one sync in flight per log, which serves all callers waiting for it.

An append asks for a sync. When none is running for that log it begins at once; records appended meanwhile wait for the
next sync, which begins when the first ends. Syncs of different logs run concurrently; those that begin in one turn of
the loop share the hand-over, and their number is limited so that their open files do not exhaust the process's
descriptors. If the kernel can run syncs (`ring`), it is given all those that sync a single file; the others,
which make names durable or wait for a checkpoint, run on threads.

Topics that waive the wait (`flush.messages` above 1) are synced once that many records have accumulated, or `flush.ms`
after the first of them; no producer waits for that.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial

import msgspec

from penstock.config.topic import LONG_MAX
from penstock.observability.exposition import Histogram
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.storage.errors import StorageFailure
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.records import JournalRecords
from penstock.storage.log.log import Log
from penstock.storage.ring import Ended, SyncRing
from penstock.storage.sync import SyncJob, run_all

_LANES = 8
"""The maximum number of threads that share the syncs of one turn: the kernel joins syncs that run at the same time."""
_JOURNALED_BYTES = 8 << 10
"""A log may write this much to a round for each log in it: the syncs saved must be worth writing records twice."""
IN_FLIGHT_MAX_DEFAULT = 256
_BOUNDS_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)


class _Round(msgspec.Struct, eq=False):
    """The syncs of one log: the sync in flight, whether another is to follow, and the waiters of each."""

    job: SyncJob | JournalRecords | None = None
    began_ms: float = 0.0
    is_wanted_again: bool = False
    current: "Sequence[asyncio.Future[None]]" = ()
    following: "Sequence[asyncio.Future[None]]" = ()


class Flusher:
    """Only the event loop calls it."""

    def __init__(
        self,
        offload: Offload,
        clock: Clock,
        in_flight_max: int = IN_FLIGHT_MAX_DEFAULT,
        ring: SyncRing | None = None,
        journal: Journal | None = None,
    ) -> None:
        """`in_flight_max` is how many logs are synced at once: each holds its files open meanwhile.

        Without a `ring`, which is not used after `drain`, all syncs run where `offload` runs them.
        """
        self._offload = offload
        self._clock = clock
        self._ring = ring
        self._journal = journal
        self._for_journal: list[tuple[Log, _Round]] = []
        """Not begun: they go into the next journal round."""
        self._in_flight_max = in_flight_max
        self._in_flight_count = 0
        self._rounds: dict[Log, _Round] = {}
        self._held: deque[tuple[Log, _Round]] = deque()
        """Not begun, because too many are in flight."""
        self._ready: list[tuple[Log, _Round]] = []
        """Begun in this turn, and not handed over yet."""
        self._advanced: list[Log] = []
        """The log is durable further: its waiters are notified when the ready ones have been handed over."""
        self._timers: dict[Log, asyncio.Task[None]] = {}
        self.seconds = Histogram(_BOUNDS_SECONDS)
        """Duration of syncs, from their hand-over until the loop is notified of their end."""

    def request(self, log: Log) -> None:
        """Sync the log's records as its topic's settings say. `Log.on_durable` is called when they are durable."""
        config = log.config
        if config.flush_messages == 1 or log.log_end_offset - log.durable_offset >= config.flush_messages:
            self._sync(log, ())
        elif config.flush_ms != LONG_MAX and log not in self._timers:
            self._timers[log] = asyncio.get_running_loop().create_task(self._sync_later(log, config.flush_ms))

    def sync(self, log: Log) -> "asyncio.Future[None]":
        """Sync regardless of the topic's settings; the future is done when all current records are durable.

        It fails with the log's `StorageFailure`, and may be dropped: then a failure raises no warning.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sync(log, (waiter,))
        return waiter

    def _sync(self, log: Log, waiters: "tuple[asyncio.Future[None], ...]") -> None:
        syncs = self._rounds.get(log)
        if log.failure is not None or (syncs is None and not log.has_unsynced):
            _resolve(waiters, log.failure)
        elif syncs is None:
            syncs = self._rounds[log] = _Round(current=waiters)
            self._begin(log, syncs)
        elif syncs.job is None:  # not begun yet: it will cover everything appended by then
            syncs.current = (*syncs.current, *waiters)
        else:
            syncs.is_wanted_again = True
            syncs.following = (*syncs.following, *waiters)

    def forget(self, log: Log) -> None:
        """The log is gone: no timer may bring it back."""
        timer = self._timers.pop(log, None)
        if timer is not None:
            timer.cancel()

    async def drain(self) -> None:
        """Wait until no sync is in flight, and stop the timers; later syncs run on threads."""
        for log in list(self._timers):
            self.forget(log)
        while self._rounds:
            ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            syncs = next(iter(self._rounds.values()))
            syncs.current = (*syncs.current, ended)
            await asyncio.wait((ended,))
        self._ring = None

    async def _sync_later(self, log: Log, delay_ms: int) -> None:
        await self._clock.sleep(delay_ms)
        self._timers.pop(log, None)
        self._sync(log, ())

    # -- rounds of the journal ------------------------------------------------------------------------

    def _write_round(self) -> None:
        """Begin a round with everything that waits for one."""
        journal = self._journal
        assert journal is not None
        if not self._for_journal:
            return
        if journal.is_busy:
            journal.when_free(self._write_round)
            return
        waiting, self._for_journal = self._for_journal, []
        items: list[tuple[Log, _Round]] = []
        records: list[JournalRecords] = []
        size_bytes_max = len(waiting) * _JOURNALED_BYTES
        for log, syncs in waiting:
            is_possible = log.failure is None and journal.failure is None
            job = log.begin_journal(size_bytes_max) if is_possible else None
            if job is None:
                self._begin_direct(log, syncs)
                continue
            syncs.job = job
            items.append((log, syncs))
            records.append(job)
        if not records:
            return
        taken = list(items)
        count = journal.begin_round(records, partial(self._round_ended, taken, self._clock.monotonic_ms()))
        del taken[count:]
        for log, syncs in items[count:]:
            log.is_journaling = False
            self._begin_direct(log, syncs)

    def _round_ended(self, items: list[tuple[Log, _Round]], began_ms: float) -> None:
        self.seconds.observe((self._clock.monotonic_ms() - began_ms) / 1000)
        self._end_each(items, None)

    # -- syncs of segments ----------------------------------------------------------------------------

    def _begin(self, log: Log, syncs: _Round) -> None:
        journal = self._journal
        if journal is None or not log.may_journal:
            self._begin_direct(log, syncs)
            return
        self._for_journal.append((log, syncs))
        if len(self._for_journal) > 1:
            return  # a round is coming
        if journal.is_busy:
            journal.when_free(self._write_round)
        elif len(self._rounds) == 1:
            self._write_round()  # no other round to share with: a lone producer does not wait for the end of the turn
        else:
            asyncio.get_running_loop().call_soon(self._write_round)

    def _begin_direct(self, log: Log, syncs: _Round) -> None:
        if self._in_flight_count >= self._in_flight_max:
            self._held.append((log, syncs))
            return
        if self._journal is not None and self._journal.failure is not None:
            log.fail(self._journal.failure)  # the disk can no longer be trusted
        if log.failure is not None:  # it failed, or was deleted, while it was held
            self._end(log, syncs)
            return
        try:
            job = log.begin_direct_sync()
        except OSError as error:
            log.fail(
                StorageFailure(
                    f"the files of {log.directory} cannot be opened to sync them: {error.strerror}"
                )
            )
            self._end(log, syncs)
            return
        syncs.job = job
        syncs.began_ms = self._clock.monotonic_ms()
        self._in_flight_count += 1
        self._ready.append((log, syncs))
        if len(self._rounds) == 1:
            self._hand_over()  # no other sync to share with: a lone producer does not wait for the end of the turn
        elif len(self._ready) == 1:
            asyncio.get_running_loop().call_soon(self._hand_over)

    def _hand_over(self) -> None:
        ready, self._ready = self._ready, []
        if self._ring is not None:
            ready = self._leave_to_kernel(self._ring, ready)
        lanes = min(len(ready), _LANES)
        for lane in range(lanes):
            part = ready[lane::lanes]
            jobs = [syncs.job for _, syncs in part if isinstance(syncs.job, SyncJob)]
            self._offload.call(partial(run_all, jobs), partial(self._ended, part))

    def _leave_to_kernel(self, ring: SyncRing, ready: list[tuple[Log, _Round]]) -> list[tuple[Log, _Round]]:
        """Begin the syncs that the kernel can do alone. Returns the others, for the threads."""
        ring.watch()
        left: list[tuple[Log, _Round]] = []
        taken: list[tuple[Log, _Round]] = []
        syncs: list[tuple[int, Ended]] = []
        for item in ready:
            job = item[1].job
            descriptor = job.sole_descriptor if isinstance(job, SyncJob) else None
            if descriptor is None:
                left.append(item)
            else:
                taken.append(item)
                syncs.append((descriptor, partial(self._ended_in_kernel, item)))
        return left + taken[ring.begin(syncs) :]

    def _ended_in_kernel(self, item: tuple[Log, _Round], failure: OSError | None) -> None:
        job = item[1].job
        assert isinstance(job, SyncJob)
        job.end(failure)
        self._ended((item,), None, None)

    def _ended(self, part: Sequence[tuple[Log, _Round]], _: object, error: BaseException | None) -> None:
        now_ms = self._clock.monotonic_ms()
        for _, syncs in part:
            self.seconds.observe((now_ms - syncs.began_ms) / 1000)
        self._end_each(part, error)
        if error is not None:
            raise error

    def _end_each(self, part: Sequence[tuple[Log, _Round]], error: BaseException | None) -> None:
        for log, syncs in part:
            job = syncs.job
            if isinstance(job, JournalRecords):
                assert self._journal is not None
                is_further = log.finish_journal(job, self._journal.failure)
            else:
                assert job is not None
                is_further = self._finish_direct(log, job, error)
            if is_further:
                self._advanced.append(log)
            if job.generation != log.generation and log.failure is None:
                # The log was truncated meanwhile, so this sync proves nothing about the remaining records.
                syncs.job = None
                self._begin(log, syncs)
            elif syncs.is_wanted_again or syncs.current or syncs.following:
                self._end(log, syncs)
            else:
                del self._rounds[log]
        while self._held and self._in_flight_count < self._in_flight_max:
            self._begin_direct(*self._held.popleft())
        # Responding to many producers takes as much time as a sync: the next sync runs meanwhile.
        if not self._ready and not self._for_journal:
            self._notify()
        elif self._advanced:
            asyncio.get_running_loop().call_soon(self._notify)

    def _finish_direct(self, log: Log, job: SyncJob, error: BaseException | None) -> bool:
        """Returns True if more of the log is durable now."""
        self._in_flight_count -= 1
        failure = job.failure
        if failure is None and error is not None:
            failure = OSError(str(error))
        return log.finish_sync(job, failure)

    def _notify(self) -> None:
        advanced, self._advanced = self._advanced, []
        for log in advanced:
            log.notify_durable()

    def _end(self, log: Log, syncs: _Round) -> None:
        """Notify the waiters, and begin the next sync if one is wanted."""
        _resolve(syncs.current, log.failure)
        if syncs.is_wanted_again and log.failure is None:
            syncs.current, syncs.following, syncs.job = syncs.following, (), None
            syncs.is_wanted_again = False
            self._begin(log, syncs)
        else:
            _resolve(syncs.following, log.failure)
            del self._rounds[log]


def _resolve(waiters: "Sequence[asyncio.Future[None]]", failure: StorageFailure | None) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if failure is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(failure)
            waiter.exception()  # the caller may not wait: asyncio must not report the failure as unretrieved
