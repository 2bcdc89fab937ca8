"""Our share partition gives the same answers as Kafka's."""

from collections.abc import Callable, Iterator

import pytest

from penstock.share.partition.change import Change
from penstock.share.partition.share_partition import SharePartition
from penstock.share.partition.values import (
    Acknowledgement,
    AcquireMode,
    OffsetRange,
    PartitionSettings,
    Refusal,
)
from penstock.share.state.values import RecordState, ShareState, StateBatch
from tests.share.partition.kafka.record import HISTORIES

DONE = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


def histories() -> Iterator[list[tuple[str, str]]]:
    for history in HISTORIES.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.partition(" =>") for line in history.strip().splitlines()]
        yield [(command, answer.strip()) for command, _, answer in lines]


def numbers(word: str) -> list[int]:
    return [int(number) for number in word.split("-")]


def by_offset(words: list[str]) -> dict[int, tuple[int, int]]:
    return {
        offset: (state, count)
        for first, last, state, count in map(numbers, words)
        for offset in range(first, last + 1)
    }


class Replay:
    """Ours, by the commands for Kafka's."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.writes: dict[str, Change] = {}

    def run(self, command: str, answer: str) -> None:
        name, *words = command.split()
        perform: Callable[[list[str], str], None] = getattr(self, name)
        perform(words, answer)

    def new(self, words: list[str], _: str) -> None:
        start, limit, locks_max, lock_ms = map(int, words[:4])
        self.settings = PartitionSettings(
            lock_duration_ms=lock_ms, delivery_count_limit=limit, record_locks_max=locks_max
        )
        kept = [
            StateBatch(first, last, RecordState(state), count)
            for first, last, state, count in map(numbers, words[4:])
        ]
        self.partition = SharePartition(
            ShareState(0, start, kept), start_offset_if_new=0, settings=self.settings
        )

    def acquire(self, words: list[str], answer: str) -> None:
        mode, batch_size, records_max, offset = map(int, words[1:5])
        read = {OffsetRange(*numbers(word.rstrip("a"))): word.endswith("a") for word in words[5:]}
        acquired = self.partition.acquire(
            words[0],
            fetch_offset=offset,
            batches=list(read),
            records_max=records_max,
            batch_size=batch_size,
            now_ms=self.now_ms,
            mode=AcquireMode(mode),
            aborted=[batch for batch, is_aborted in read.items() if is_aborted],
        )
        assert [list(each) for each in acquired] == [numbers(word) for word in answer.split()]

    def acknowledge(self, words: list[str], answer: str) -> None:
        said = []
        for word in words[1:]:
            first, last, types = word.split("-")
            said.append(Acknowledgement(int(first), int(last), [int(type_) for type_ in types.split(",")]))
        self.compare(self.partition.acknowledge(words[0], said, self.now_ms), answer)

    def release(self, words: list[str], answer: str) -> None:
        self.compare(self.partition.release(words[0]), answer)

    def compare(self, change: Change | Refusal, answer: str) -> None:
        if isinstance(change, Refusal):
            assert answer == f"error {int(change.code)}"
            return
        word, *rest = answer.split() or [""]
        assert (word == "write") is bool(change.batches)
        if word == "write":
            self.writes[rest[0]] = change
            assert [list(batch) for batch in change.batches] == [numbers(batch) for batch in rest[1:]]

    def settle(self, words: list[str], _: str) -> None:
        change = self.writes.pop(words[0])
        if words[1] == "1":
            change.commit()
        else:
            change.roll_back()

    def time(self, words: list[str], answer: str) -> None:
        self.now_ms = int(words[0])
        change = self.partition.expire(self.now_ms)
        assert [list(batch) for batch in change.batches] == [numbers(word) for word in answer.split()]
        change.commit()

    def log_start(self, words: list[str], _: str) -> None:
        self.partition.log_start_moved(int(words[0]))

    def state(self, _: list[str], answer: str) -> None:
        """The same, except that our start offset may already have passed complete records where Kafka's waits."""
        start, end, done_count, next_offset, can_acquire = map(int, answer.split()[:5])
        theirs = by_offset(answer.split()[5:])
        ours = by_offset(
            ["-".join(str(int(number)) for number in batch) for batch in self.partition.records()]
        )
        passed = [offset for offset in range(start, self.partition.start_offset) if offset in theirs]
        assert all(theirs[offset][0] in DONE for offset in passed)
        begin = self.partition.start_offset
        assert {k: v for k, v in ours.items() if k >= begin} == {
            k: v for k, v in theirs.items() if k >= begin
        }
        assert self.partition.delivery_complete_count == done_count - len(passed)
        assert (self.partition.next_fetch_offset, self.partition.can_acquire) == (
            next_offset,
            bool(can_acquire),
        )
        assert self.partition.end_offset == max(end, begin)


@pytest.mark.parametrize("history", list(histories()))
def test_a_history_of_kafka_is_repeated(history: list[tuple[str, str]]) -> None:
    replay = Replay()
    for command, answer in history:
        replay.run(command, answer)
