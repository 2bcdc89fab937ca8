"""Random histories of a log on a failing disk against a model: every acknowledged record is there, once, in order.

A failure names its seed; `run(seed)` replays it.
"""

from collections.abc import Callable
from random import Random

import pytest

from penstock.storage.errors import StorageError, StorageFailure
from penstock_simulation.disk import Keep, PowerCut
from tests.storage.machine import Machine

IN_FLIGHT_MAX = 5  # as many batches as a broker remembers of a producer


class Client:
    """An idempotent producer: retries unacknowledged batches with the same sequence."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.sequence = 0
        self.unacknowledged: list[tuple[int, list[str]]] = []
        self.refused: list[str] | None = None
        """What the broker had no room for: sent again, with the same sequence, before anything else."""


class History:
    """A history of one log, and the checks of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.context = f"seed {seed}"
        self.machine = Machine(
            seed,
            segment_records=self.random.choice([2, 3, 7, 1000]),
            index_interval_bytes=self.random.choice([0, 200]),
        )
        self.clients = [Client(number) for number in range(100, 103)]
        self.values: list[str] = []
        self.maybe: list[str] = []
        """Of the append during which the power went: stored or not."""
        self.refused: list[tuple[int, list[str]]] = []
        """Refused appends, and the offsets that they would have had. Their clients got an error, but after a crash one
        may be there, even in place of a later append that was not acknowledged.
        """
        self.acknowledged = 0
        self.start_durable = 0
        self.value_count = 0
        self.room_is_short = False

    # -- steps ----------------------------------------------------------------------------------------

    def new_values(self) -> list[str]:
        count = self.random.choice([1, 1, 2, 4])
        self.value_count += count
        filler = "." * self.random.choice([0, 10, 600, 5000])
        return [f"{number}{filler}" for number in range(self.value_count - count, self.value_count)]

    def append_plain(self) -> None:
        values = self.new_values()
        self.store(values, lambda: self.machine.append(*values).base_offset)

    def append_idempotent(self) -> None:
        client = self.random.choice(self.clients)
        if len(client.unacknowledged) == IN_FLIGHT_MAX:
            self.sync()
            return
        values = client.refused or self.new_values()
        sequence = client.sequence
        client.unacknowledged.append((sequence, values))
        client.sequence += len(values)
        client.refused = None

        def send() -> int:
            return self.machine.append_idempotent(client.producer_id, sequence, *values).base_offset

        if not self.store(values, send):
            client.unacknowledged.pop()
            client.sequence = sequence
            client.refused = values

    def store(self, values: list[str], send: Callable[[], int]) -> bool:
        self.maybe = values
        try:
            offset = send()
        except StorageError:
            assert self.room_is_short, self.context
            self.maybe = []
            self.refused.append((len(self.values), values))
            return False
        assert offset == len(self.values), self.context
        self.values += values
        self.maybe = []
        return True

    def sync(self) -> None:
        if not self.machine.sync():
            self.restart()
            return
        self.acknowledge()

    def acknowledge(self) -> None:
        self.acknowledged = self.machine.log.durable_offset
        self.refused = [(offset, values) for offset, values in self.refused if offset >= self.acknowledged]
        for client in self.clients:
            client.unacknowledged = [
                (sequence, values)
                for sequence, values in client.unacknowledged
                if self.values.index(values[0]) >= self.acknowledged
            ]

    def checkpoint(self) -> None:
        self.machine.checkpoint()
        if self.machine.log.failure is not None:
            self.restart()
            return
        self.start_durable = self.machine.checkpointed.log_start_offset
        self.acknowledge()

    def fail_next_sync(self) -> None:
        self.machine.disk.fail("sync", self.random.choice(["", ".log", ".index", ".snapshot"]), times=1)

    def change_room(self) -> None:
        self.room_is_short = not self.room_is_short
        room = self.random.choice([0, 100, 3000])
        self.machine.disk.set_capacity(
            self.machine.disk.used_bytes + room if self.room_is_short else None,
            writes_in_part=self.random.random() < 0.5,
        )

    def roll(self) -> None:
        try:
            self.machine.log.roll(now_ms=self.machine.now_ms)
        except StorageError:
            assert self.room_is_short, self.context

    def advance_log_start(self) -> None:
        log = self.machine.log
        log.advance_log_start(self.random.randint(log.log_start_offset, self.acknowledged))

    def go_idle(self) -> None:
        self.machine.log.release()

    def announce_power_cut(self) -> None:
        self.machine.disk.cut_power_at(self.random.randrange(12))

    # -- crashes --------------------------------------------------------------------------------------

    def restart(self) -> None:
        """A crash of some kind, possibly others during recovery, and then the check."""
        machine = self.machine
        while True:
            if self.random.random() < 0.2:
                machine.disk = machine.disk.kill()
            else:
                page_bytes = self.random.choice([512, 4096])
                machine.disk = machine.disk.crash(self.random.choice(list(Keep)), page_bytes=page_bytes)
            machine.disk.set_capacity(None)
            self.room_is_short = False
            if self.random.random() < 0.3:
                machine.disk.cut_power_at(self.random.randrange(8))
            try:
                machine.open()
            except PowerCut:
                continue
            machine.disk.cut_power_at(1 << 60)
            break
        self.check_recovered()
        self.retry()

    def check_recovered(self) -> None:
        log = self.machine.log
        assert self.acknowledged <= log.log_end_offset, self.context
        assert self.start_durable <= log.log_start_offset, self.context
        assert not log.damage, self.context
        self.values = self.explanation(log.log_end_offset)
        self.maybe = []
        self.refused = []
        self.check()
        self.acknowledged = log.durable_offset
        assert self.acknowledged == log.log_end_offset, self.context

    def explanation(self, end_offset: int) -> list[str]:
        """What a log that ends there may hold: stored records, then perhaps one append with an unknown outcome."""
        count = end_offset - self.acknowledged
        tail = self.machine.values(self.acknowledged)[-count:] if count else []
        possible = [[*self.values, *self.maybe]]
        possible += [[*self.values[:offset], *values] for offset, values in self.refused]
        for values in possible:
            if len(values) >= end_offset and values[self.acknowledged : end_offset] == tail:
                return values[:end_offset]
        raise AssertionError(f"{self.context}: the records at the end were never sent")

    def retry(self) -> None:
        """Every client retries its unacknowledged batches: each is stored once, also if it survived the crash."""
        for client in self.clients:
            for sequence, values in client.unacknowledged:
                known = values[0] in self.values
                appended = self.machine.append_idempotent(client.producer_id, sequence, *values)
                assert appended.duplicate == known, f"{self.context}: {values[0][:9]} retried"
                if not known:
                    assert appended.base_offset == len(self.values), self.context
                    self.values += values
            if client.refused is not None and client.refused[0] in self.values:
                client.sequence += len(client.refused)
                client.refused = None
        if not self.machine.sync():
            raise AssertionError(self.context)
        self.acknowledge()

    def check(self) -> None:
        log = self.machine.log
        records = self.machine.records()
        offsets = [record.offset for record in records]
        visible_start = records[0].offset if records else log.log_start_offset
        assert visible_start <= log.log_start_offset, self.context
        assert offsets == list(range(visible_start, visible_start + len(offsets))), self.context
        found = [(record.value or b"").decode() for record in records]
        assert found == self.values[visible_start:], self.context
        assert log.log_end_offset == len(self.values), self.context


def run(seed: int, step_count: int = 60) -> None:
    history = History(seed)
    steps: list[tuple[int, Callable[[], None]]] = [
        (10, history.append_plain),
        (12, history.append_idempotent),
        (7, history.sync),
        (3, history.checkpoint),
        (2, history.roll),
        (2, history.advance_log_start),
        (2, history.go_idle),
        (1, history.fail_next_sync),
        (2, history.change_room),
        (2, history.announce_power_cut),
        (2, history.restart),
    ]
    weights = [weight for weight, _ in steps]
    for _ in range(step_count):
        step = history.random.choices(steps, weights)[0][1]
        try:
            step()
            if history.machine.log.failure is None:
                history.check()
        except (PowerCut, StorageFailure):
            history.restart()
    history.restart()


@pytest.mark.parametrize("seed", range(80))
def test_a_log_keeps_every_acknowledged_record_once_and_in_order(seed: int) -> None:
    run(seed)


@pytest.mark.soak
@pytest.mark.parametrize("first_seed", range(1000, 21_000, 1000))
@pytest.mark.timeout(1800)
def test_a_log_keeps_its_records_over_thousands_of_histories(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + 1000):
        run(seed)
