"""Writes what an output of a group misses, in a thread, until it is in step with its group again.

It reads the topic again by the offsets of the batches. After a failure it waits as the supervisor says; an output that
is given up stays behind until the pipeline is started again.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from penstock.events import now_ms
from penstock.spark.pipeline.compile.frames import compile_frames
from penstock.spark.pipeline.compile.sources import read_ranges
from penstock.spark.pipeline.progress.batch import Progress, with_counts
from penstock.spark.pipeline.run.outputs import frame_of, part_of
from penstock.spark.pipeline.run.positions import OwnBatch, with_next_batch, written
from penstock.spark.pipeline.run.shared import Member, SharedBatches

_WAIT_S = 1.0

OnFailure = Callable[[str, str], int | None]
"""Called with the output's name and the error; returns the pause before the next attempt, None to give it up."""


@dataclass(kw_only=True)
class CatchUp:
    """The threads of a group: one for each output that is behind."""

    batches: SharedBatches
    spark: SparkSession
    on_failure: OnFailure
    on_success: Callable[[Progress], None]
    is_stopped: threading.Event = field(default_factory=threading.Event, init=False)
    _is_last: bool = field(default=False, init=False)
    _threads: list[threading.Thread] = field(default_factory=list, init=False)

    def start_behind(self) -> None:
        """Start the outputs that are behind from an earlier run."""
        for member in self.batches.members:
            if self.batches.position(member).is_behind:
                self._start(member, 0)

    def on_refusal(self, member: Member, failure: Exception) -> None:
        self._start_after(member, failure)

    def finish(self) -> None:
        """The group writes no more batches: the threads end when they are where it is."""
        with self.batches.changed:
            self._is_last = True
            self.batches.changed.notify_all()

    def stop(self) -> None:
        """Let each thread finish its batch."""
        self.is_stopped.set()
        with self.batches.changed:
            self.batches.changed.notify_all()

    def is_alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def is_writing(self) -> bool:
        return any(member.is_working for member in self.batches.members)

    def _start_after(self, member: Member, failure: Exception) -> None:
        pause_ms = self.on_failure(member.planned.name, str(failure))
        if pause_ms is not None:
            self._start(member, pause_ms)

    def _start(self, member: Member, pause_ms: int) -> None:
        name = f"catch-up {member.planned.name}"
        thread = threading.Thread(target=self._work, args=(member, pause_ms), name=name, daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        member.worker = thread  # one that has just put the output in step may not have ended yet
        thread.start()

    def _work(self, member: Member, pause_ms: int) -> None:
        while not self.is_stopped.wait(pause_ms / 1000):
            try:
                batch = self._await_batch(member)
                if batch is None:
                    return
                self._write(member, batch)
            except Exception as failure:  # noqa: BLE001 - the group continues
                with self.batches.changed:
                    member.is_working = False
                    self.batches.changed.notify_all()
                if self.is_stopped.is_set():
                    return
                pause = self.on_failure(member.planned.name, str(failure))
                if pause is None:
                    return
                pause_ms = pause
            else:
                pause_ms = 0

    def _await_batch(self, member: Member) -> OwnBatch | None:
        """Return the next batch when there is one; None if the output is in step, or nothing comes any more."""
        batches = self.batches
        with batches.changed:
            while not self.is_stopped.is_set() and batches.position(member).is_behind:
                if member.worker is not threading.current_thread():
                    return None
                position = with_next_batch(batches.position(member), batches.end)
                if position.pending is not None:
                    if position != batches.position(member):
                        batches.state.save(member.planned.key, position)
                    member.is_working = True
                    return position.pending
                if self._is_last:
                    return None
                batches.changed.wait(_WAIT_S)
        return None

    def _write(self, member: Member, batch: OwnBatch) -> None:
        batches, planned = self.batches, member.planned
        # Spark finds Python sources through the active session of this thread; creating a frame activates it.
        self.spark.createDataFrame([], "nothing INT")
        pipeline, source = part_of(batches.pipeline, [planned]), batches.group.shared_source
        read = read_ranges(self.spark, pipeline, {source: batch.start}, {source: batch.end})
        compiled = compile_frames(self.spark, pipeline, read)
        compiled.raise_problems(pipeline)
        began_ms = now_ms()
        writer = batches.writer(planned, batch.query_id)
        counts = writer.write(frame_of(pipeline, compiled, planned), batch.batch_id)
        with batches.changed:
            batches.state.save(planned.key, written(batches.position(member)))
            member.is_working = False
            batches.changed.notify_all()
        progress = Progress(
            query=planned.name,
            batch_id=batch.batch_id,
            at_ms=began_ms,
            input_rows=batch.rows_max,
            input_rows_per_second=0.0,
            processed_rows_per_second=batch.rows_max / max(1e-3, (now_ms() - began_ms) / 1000),
            batch_ms=now_ms() - began_ms,
            consumed=batch.end,
            latest=batches.end,
        )
        self.on_success(with_counts(progress, counts))
