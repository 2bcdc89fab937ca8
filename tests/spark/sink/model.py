"""Brokers, tasks and drivers without processes: every step may be the last, and anything may happen between two.

`ModelBrokers` keeps transactions as Kafka does. Before each change it calls `between`, which a test uses to crash the
driver there, to let a task that was given up go on, or to start a second driver meanwhile.
"""

import enum
import itertools
from collections.abc import Callable, Generator, Iterable, Sequence

from penstock.spark.sink import exactly_once
from penstock.spark.sink.decision import (
    APPLIED_PARTITION,
    Decision,
    Member,
    Producer,
    decode_offsets,
    encode_pieces,
)
from penstock.spark.sink.errors import Fenced, TransactionLost
from penstock.spark.sink.exactly_once import BatchDecider, WrittenBatch
from penstock.spark.sink.identity import Run, Task, driver_id, is_task_of_query

QUERY = "q"


class Crash(BaseException):
    """The driver's process is gone: nothing of it runs any more."""


class State(enum.Enum):
    EMPTY = 0
    OPEN = 1
    COMMITTED = 2
    ABORTED = 3


class _Id:
    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = 0
        self.state = State.EMPTY
        self.rows: list[int] = []
        self.decision: Decision | None = None


class ModelBrokers:
    def __init__(self) -> None:
        self.between: Callable[[], None] = lambda: None
        self.visible: list[int] = []
        self._ids: dict[str, _Id] = {}
        self._decision_request: dict[int, tuple[int, str]] = {}
        self._producer_ids = itertools.count()

    # -- what the sink asks

    def begin(self, transactional_id: str) -> Producer:
        self.between()
        known = self._ids.get(transactional_id)
        if known is None:
            known = self._ids[transactional_id] = _Id(next(self._producer_ids))
        else:
            known.epoch += 1
        known.state, known.rows, known.decision = State.EMPTY, [], None
        return Producer(known.producer_id, known.epoch)

    def last_decision(self, query_id: str, *, is_stable: bool) -> Decision | None:
        self.between()
        return decode_offsets(self._decision_request)

    def record(self, query_id: str, producer: Producer, decision: Decision) -> None:
        self.between()
        driver = self._driver(query_id, producer)
        driver.state, driver.decision = State.OPEN, decision
        self.between()
        self._driver(query_id, producer)
        driver.state = State.COMMITTED
        for piece, text in enumerate(encode_pieces(decision)):
            self._decision_request[piece] = decision.batch_id, text

    def mark_applied(self, query_id: str, decision: Decision) -> None:
        self.between()
        self._decision_request[APPLIED_PARTITION] = decision.batch_id, decision.run_id

    def _driver(self, query_id: str, producer: Producer) -> _Id:
        driver = self._ids[driver_id(query_id)]
        if (driver.producer_id, driver.epoch) != producer:
            raise Fenced("there is a newer driver")
        return driver

    def end(self, run: Run, members: Sequence[Member], *, commit: bool) -> list[Member]:
        return [member for member in members if not self._end_request(run, member, commit)]

    def _end_request(self, run: Run, member: Member, commit: bool) -> bool:
        self.between()
        known = self._ids[run.transactional_id(member.number)]
        if (known.producer_id, known.epoch) != (member.producer_id, member.epoch):
            return False
        if known.state is State.OPEN:
            known.state = State.COMMITTED if commit else State.ABORTED
            if commit:
                self.visible += known.rows
            known.rows = []
        return known.state is (State.COMMITTED if commit else State.ABORTED)

    def find_lost(self, run: Run, members: Sequence[Member]) -> list[Member]:
        self.between()
        return [member for member in members if not self._is_open(run, member)]

    def _is_open(self, run: Run, member: Member) -> bool:
        known = self._ids[run.transactional_id(member.number)]
        is_same = (known.producer_id, known.epoch) == (member.producer_id, member.epoch)
        return is_same and known.state is State.OPEN

    def open_transactional_ids(self, query_id: str) -> list[str]:
        self.between()
        return [
            name
            for name, known in self._ids.items()
            if known.state is State.OPEN and is_task_of_query(name, query_id)
        ]

    # -- what tasks do, and time

    def write(self, transactional_id: str, producer: Producer, rows: Iterable[int]) -> bool:
        """Whether the producer may still write."""
        self.between()
        known = self._ids[transactional_id]
        if (known.producer_id, known.epoch) != producer or known.state not in (State.EMPTY, State.OPEN):
            return False
        known.state = State.OPEN
        known.rows += rows
        return True

    def time_out(self) -> None:
        """Every open transaction of a task took too long."""
        for known in self._ids.values():
            if known.state is State.OPEN:
                known.epoch += 1
                known.state, known.rows = State.ABORTED, []

    @property
    def is_decided(self) -> bool:
        return bool(self._decision_request)

    @property
    def id_count(self) -> int:
        return len(self._ids)


Message = tuple[int, Member | None]
"""The number that a task claimed, and its transaction if it wrote something."""


def task(
    brokers: ModelBrokers, me: Task, rows: Sequence[int], decider: BatchDecider | None
) -> Generator[None, None, Message | None]:
    """What a task does, with a stop wherever it may be held up. None: it failed."""
    if decider is None:
        number = exactly_once.claim_transactional_id(brokers, me)
    else:
        number = exactly_once.free_transactional_id(me, decider.last_decision())
    yield
    if number is None:
        return me.number, None
    if not rows:
        return number, None
    transactional_id = me.run.transactional_id(number)
    producer = brokers.begin(transactional_id)
    for row in rows:
        yield
        if not brokers.write(transactional_id, producer, [row]):
            return None
    return number, Member(number, *producer)


class Spark:
    """What Spark remembers of a query, and how it runs batches. `choose(n)` decides what is left open: 0 to n-1."""

    def __init__(self, brokers: ModelBrokers, batches: Sequence[Sequence[int]]) -> None:
        self.brokers = brokers
        self.batches = batches
        self.committed = -1  # its commit log
        self.choose: Callable[[int], int] = lambda _: 0
        self.zombies: list[Generator[None, None, Message | None]] = []
        self.keeps_decider = False  # as pipelines do: one for each run
        self._runs = itertools.count()
        self._task_ids: dict[Run, itertools.count[int]] = {}

    def start(self, batches_max: int = 1 << 30) -> None:
        """One run of the query: the batches that are not in its log, as many as there are or are asked for."""
        run = self.new_run()
        decider = BatchDecider(self.brokers, QUERY) if self.keeps_decider else None
        first = self.committed + 1
        for batch_id in range(first, min(len(self.batches), first + batches_max)):
            written = self.run_tasks(run, batch_id, decider)
            try:
                if decider is None:
                    exactly_once.commit(self.brokers, written)
                else:
                    decider.commit(written)
            except TransactionLost:
                exactly_once.abort(self.brokers, written)
                raise
            self.committed = max(self.committed, batch_id)

    def new_run(self) -> Run:
        run = Run(query_id=QUERY, run_id=f"run-{next(self._runs)}")
        self._task_ids[run] = itertools.count()  # a new application counts from 0 again
        return run

    def run_tasks(self, run: Run, batch_id: int, decider: BatchDecider | None = None) -> WrittenBatch:
        rows = self.batches[batch_id]
        count = 1 + self.choose(3)
        if decider is not None:
            decider.last_decision()  # before the tasks, which do not take over
        messages = [self._run_task(run, batch_id, part, rows[part::count], decider) for part in range(count)]
        return WrittenBatch(
            run=run,
            batch_id=batch_id,
            members=tuple(member for _, member in messages if member is not None),
            idle=tuple(number for number, member in messages if member is None),
            task_count=count,
        )

    def _run_task(
        self, run: Run, batch_id: int, partition: int, rows: Sequence[int], decider: BatchDecider | None
    ) -> Message:
        for attempt in itertools.count():
            me = Task(
                run=run,
                batch_id=batch_id,
                partition=partition,
                attempt=attempt,
                number=next(self._task_ids[run]),
            )
            steps = task(self.brokers, me, rows, decider)
            try:
                while attempt > 3 or self.choose(8) != 7:
                    next(steps)
            except StopIteration as ended:
                if ended.value is not None:
                    message: Message = ended.value
                    return message
                continue
            self.zombies.append(steps)  # its executor was lost, or so it seemed
        raise AssertionError

    def wake(self, which: int) -> None:
        """Let a task that was given up do its next step; nobody hears what it says."""
        zombie = self.zombies.pop(which)
        try:
            next(zombie)
        except StopIteration:
            return
        except ValueError:  # it is on the stack already
            return
        self.zombies.append(zombie)
