"""Producer state against a model that searches the whole history of the log."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import BatchHeader
from penstock.protocol.records.control import EndTxnMarker
from penstock.storage.producers.snapshot import decode_snapshot, encode_snapshot
from penstock.storage.producers.state import (
    BATCHES_KEPT,
    Duplicate,
    ProducerStates,
)
from penstock.storage.segment.transaction_index import CompletedTransaction
from tests.storage.producer_batches import SEQUENCE_MAX, batch, code_of


class Producers(RuleBasedStateMachine):
    """Producers that lose answers, retry, skip, are fenced and restarted, against a plain history of the log.

    The model keeps the whole log as a list and derives every verdict from it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.states = ProducerStates()
        self.log: list[tuple[BatchHeader, EndTxnMarker | None]] = []
        self.high_watermark = 0
        self.restarted_at = 0  # retries of what lies below are known by the last batch only

    @initialize(start=st.sampled_from([0, SEQUENCE_MAX - 3]))
    def start(self, start: int) -> None:
        self.first_sequence = start

    @property
    def end_offset(self) -> int:
        return self.log[-1][0].next_offset if self.log else 0

    def history(self, producer_id: int) -> list[tuple[BatchHeader, EndTxnMarker | None]]:
        return [(header, marker) for header, marker in self.log if header.producer_id == producer_id]

    def epoch_of(self, producer_id: int) -> int | None:
        history = self.history(producer_id)
        return history[-1][0].producer_epoch if history else None

    def data_in_epoch(self, producer_id: int) -> list[BatchHeader]:
        """The data batches since the producer entered its present epoch."""
        history = self.history(producer_id)
        present: list[BatchHeader] = []
        for header, marker in history:
            if header.producer_epoch != history[-1][0].producer_epoch:
                present.clear()
            elif marker is None:
                present.append(header)
        return present

    def open_since(self, producer_id: int) -> int | None:
        opened: int | None = None
        for header, marker in self.history(producer_id):
            if marker is not None:
                opened = None
            elif opened is None and header.is_transactional:
                opened = header.base_offset
        return opened

    def expected_sequence(self, producer_id: int, epoch: int) -> int | None:
        """The next valid sequence; None if any is valid."""
        if self.epoch_of(producer_id) is None:
            return None
        data = self.data_in_epoch(producer_id) if epoch == self.epoch_of(producer_id) else []
        return (data[-1].last_sequence + 1) % 2**31 if data else 0

    @rule(
        producer_id=st.integers(1, 3),
        bump=st.sampled_from([0, 0, 0, 0, 1, -1]),
        shift=st.sampled_from([0, 0, 0, 0, 1, -1]),
        count=st.integers(1, 4),
        is_transactional=st.booleans(),
    )
    def produce(self, producer_id: int, bump: int, shift: int, count: int, is_transactional: bool) -> None:
        present = self.epoch_of(producer_id)
        epoch = max(0, (0 if present is None else present) + bump)
        expected = self.expected_sequence(producer_id, epoch)
        sequence = ((self.first_sequence if expected is None else expected) + shift) % 2**31
        header = batch(
            sequence,
            count,
            epoch=epoch,
            producer_id=producer_id,
            base_offset=self.end_offset,
            is_transactional=is_transactional,
        )
        verdict = self.states.check(header)
        original = next(
            (
                stored
                for stored in self.data_in_epoch(producer_id)[-BATCHES_KEPT:]
                if (stored.base_sequence, stored.last_sequence) == (sequence, header.last_sequence)
                and epoch == present
            ),
            None,
        )
        if isinstance(verdict, Duplicate):
            assert original is not None
            assert (verdict.first_offset, verdict.last_offset) == (original.base_offset, original.last_offset)
        elif present is not None and epoch < present:
            assert code_of(verdict) is ErrorCode.INVALID_PRODUCER_EPOCH
        elif expected is not None and sequence != expected:
            assert original is None or original.base_offset < self.restarted_at
            assert code_of(verdict) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        elif self.open_since(producer_id) is not None and not is_transactional:
            assert code_of(verdict) is ErrorCode.INVALID_TXN_STATE
        else:
            assert verdict is None
            self.states.update(header, self.end_offset, header.max_timestamp)
            self.log.append((header, None))

    @precondition(lambda self: any(marker is None for _, marker in self.log))
    @rule(back=st.integers(1, 8))
    def retry(self, back: int) -> None:
        producer_id = next(h.producer_id for h, marker in reversed(self.log) if marker is None)
        data = self.data_in_epoch(producer_id)
        if not data:
            return
        original = data[-min(back, len(data))]
        verdict = self.states.check(original)
        if original in data[-BATCHES_KEPT:]:
            assert verdict == Duplicate(original.base_offset, original.last_offset, original.max_timestamp)
        else:
            assert verdict is not None  # a retry is never stored twice

    @rule(producer_id=st.integers(1, 3), bump=st.sampled_from([0, 1]), is_commit=st.booleans())
    def end(self, producer_id: int, bump: int, is_commit: bool) -> None:
        epoch = (self.epoch_of(producer_id) or 0) + bump
        marker = EndTxnMarker(is_commit=is_commit, coordinator_epoch=0)
        header = batch(
            -1,
            epoch=epoch,
            producer_id=producer_id,
            base_offset=self.end_offset,
            is_transactional=True,
            is_control=True,
        )
        assert self.states.check_marker(producer_id, epoch, 0) is None
        opened = self.open_since(producer_id)
        completed = self.states.end_transaction(
            producer_id, epoch, marker, offset=self.end_offset, timestamp=1000
        )
        self.log.append((header, marker))
        assert (completed is None) == (opened is None)
        if completed is not None:
            still_open = [since for p in (1, 2, 3) if (since := self.open_since(p)) is not None]
            assert completed == CompletedTransaction(
                producer_id=producer_id,
                first_offset=opened or 0,
                last_offset=header.base_offset,
                is_aborted=not is_commit,
                last_stable_offset=min(still_open, default=self.end_offset),
            )

    @rule(share=st.floats(0, 1))
    def replicate(self, share: float) -> None:
        self.high_watermark += round((self.end_offset - self.high_watermark) * share)
        self.states.advance_high_watermark(self.high_watermark)

    @rule(keep=st.floats(0, 1))
    def restart_from_a_snapshot(self, keep: float) -> None:
        """A snapshot taken somewhere in the log, through its file format, and the rest of the log replayed."""
        cut = round(len(self.log) * keep)
        earlier = ProducerStates()
        for header, marker in self.log[:cut]:
            earlier.replay(header, marker)
        restored = ProducerStates()
        content = encode_snapshot(earlier.snapshot())
        restored.restore(decode_snapshot(content), end_offset=earlier.end_offset, now_ms=1000)
        for header, marker in self.log[cut:]:
            restored.replay(header, marker)
        restored.advance_high_watermark(self.high_watermark)
        self.states = restored
        self.restarted_at = earlier.end_offset

    @invariant()
    def the_first_unstable_offset_is_that_of_the_oldest_uncommitted_transaction(self) -> None:
        unsettled: list[int] = []
        for producer_id in (1, 2, 3):
            opened: int | None = None
            for header, marker in self.history(producer_id):
                if marker is not None:
                    was_snapshotted = header.base_offset < self.restarted_at
                    if (
                        opened is not None
                        and header.base_offset >= self.high_watermark
                        and not was_snapshotted
                    ):
                        unsettled.append(opened)
                    opened = None
                elif opened is None and header.is_transactional:
                    opened = header.base_offset
            if opened is not None:
                unsettled.append(opened)
        assert self.states.first_unstable_offset == min(unsettled, default=None)

    @invariant()
    def the_end_is_that_of_the_log(self) -> None:
        assert self.states.end_offset == self.end_offset

    @invariant()
    def no_more_than_five_batches_are_kept(self) -> None:
        assert all(len(entry.batches) <= BATCHES_KEPT for entry in self.states)


TestProducers = Producers.TestCase
TestProducers.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
