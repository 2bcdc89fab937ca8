"""Queries that are kept running, without Spark: what they do is scripted."""

import threading
from collections.abc import Callable, Sequence

from penstock.spark.pipeline.core.model import Restart
from penstock.spark.pipeline.core.queries import PlannedQuery, QueryGroup, Round
from penstock.spark.pipeline.progress.batch import Progress
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.progress.status import DONE, FAILED, RUNNING, STOPPED
from penstock.spark.pipeline.run.supervisor import CannotStart, OnOutputFailure, RunningQuery, Supervisor

STOP = "[USER_RAISED_EXCEPTION] penstock stopped: orders broke the expectation `positive`"


class FakeQuery:
    """Runs until it is stopped, unless it ends by itself: with a failure, or well after reading `rows`."""

    def __init__(self, name: str, *, failure: str | None = None, rows: int | None = None) -> None:
        self.name = name
        self.is_stopped = False
        self.looks_until_batch_ends = 0
        self.looks_until_started = 0
        self._failure = failure
        self._rows = rows

    def is_active(self) -> bool:
        return self._failure is None and self._rows is None and not self.is_stopped

    def is_starting(self) -> bool:
        self.looks_until_started -= 1
        return self.looks_until_started >= 0

    def failure(self) -> str | None:
        return self._failure

    def progress(self) -> Sequence[Progress]:
        if self._rows is None:
            return []
        FakeQuery.clock_ms += 1
        return [
            Progress(
                query=self.name,
                batch_id=0,
                at_ms=FakeQuery.clock_ms,
                input_rows=self._rows,
                input_rows_per_second=0,
                processed_rows_per_second=0,
                batch_ms=0,
            )
        ]

    def is_between_batches(self) -> bool:
        self.looks_until_batch_ends -= 1
        return self.looks_until_batch_ends < 0

    def last_batch(self) -> int:
        return 0

    def stop(self) -> None:
        self.is_stopped = True

    clock_ms = 0


class Scene:
    """A supervisor whose queries come from a script, whose time moves with each pause."""

    def __init__(
        self, script: dict[str, list[FakeQuery | Exception]], *, restart: Restart | None = None
    ) -> None:
        self.script = script
        self.started: list[tuple[int, str]] = []
        self.messages: list[str] = []
        self.now_ms = 0
        self.stopping = threading.Event()
        self.on_pause: Callable[[], None] = lambda: None
        self.monitor = Monitor(script)
        self.supervisor = Supervisor(
            start=self.start,
            restart=restart or Restart(attempts=2, within_ms=60_000, backoff_ms=1_000),
            monitor=self.monitor,
            report=self.messages.append,
            stopping=self.stopping,
            now_ms=lambda: self.now_ms,
            pause=self.pause,
        )

    def start(self, group: QueryGroup, _: OnOutputFailure) -> RunningQuery:
        self.started.append((self.now_ms, group.name))
        result = self.script[group.name].pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def pause(self) -> None:
        self.now_ms += 100
        assert self.now_ms < 1_000_000, "this run would never end"
        self.on_pause()

    def states(self) -> dict[str, str]:
        return {query.name: query.state for query in self.monitor.statuses(self.now_ms)}


def group(*names: str) -> QueryGroup:
    """A query that writes outputs of these names, and has the name of the first one."""
    members = tuple(PlannedQuery(key=name, name=name, reads=(), input=name) for name in names)
    return QueryGroup(key=names[0], name=names[0], members=members)


def planned(*names: str) -> tuple[QueryGroup, ...]:
    return tuple(group(name) for name in names)


def stop_after(scene: Scene, now_ms: int) -> None:
    def look() -> None:
        if scene.now_ms >= now_ms:
            scene.stopping.set()

    scene.on_pause = look


def test_queries_run_until_a_stop_is_asked_for() -> None:
    queries = FakeQuery("a"), FakeQuery("b")
    scene = Scene({"a": [queries[0]], "b": [queries[1]]})
    stop_after(scene, 500)
    scene.supervisor.run(planned("a", "b"))
    assert all(query.is_stopped for query in queries)
    assert scene.supervisor.given_up == {}
    assert scene.states() == {"a": STOPPED, "b": STOPPED}


def test_no_more_than_two_queries_open_their_sources_at_a_time() -> None:
    queries = {name: FakeQuery(name) for name in "abc"}
    for query in queries.values():
        query.looks_until_started = 5
    scene = Scene({name: [query] for name, query in queries.items()})
    stop_after(scene, 3_000)
    scene.supervisor.run(planned("a", "b", "c"))
    (_, first), (at_b, second), (at_c, third) = scene.started
    assert (first, second, third) == ("a", "b", "c")
    assert at_b == 0
    assert at_c > 0


def test_a_batch_is_finished_before_its_query_is_stopped() -> None:
    query = FakeQuery("a")
    query.looks_until_batch_ends = 3
    scene = Scene({"a": [query]})
    stop_after(scene, 100)
    scene.supervisor.run(planned("a"))
    assert scene.now_ms == 400
    assert query.is_stopped


def test_a_failed_query_is_started_again_after_a_pause_that_doubles() -> None:
    scene = Scene({"a": [FakeQuery("a", failure="boom"), FakeQuery("a", failure="boom"), FakeQuery("a")]})
    stop_after(scene, 10_000)
    scene.supervisor.run(planned("a"))
    assert [at_ms for at_ms, _ in scene.started] == [0, 1_000, 3_000]
    assert scene.messages[0] == "a failed: boom; restart 1 of 2 in 1 s"


def test_no_pause_is_longer_than_a_minute() -> None:
    patient = Restart(attempts=9, within_ms=10**9, backoff_ms=40_000)
    failing = [FakeQuery("a", failure="boom") for _ in range(3)]
    scene = Scene({"a": [*failing, FakeQuery("a")]}, restart=patient)
    stop_after(scene, 200_000)
    scene.supervisor.run(planned("a"))
    assert [at_ms for at_ms, _ in scene.started] == [0, 40_000, 100_000, 160_000]


def test_failures_of_long_ago_are_forgotten() -> None:
    forgetful = Restart(attempts=1, within_ms=500, backoff_ms=1_000)
    failing = [FakeQuery("a", failure="boom") for _ in range(3)]
    scene = Scene({"a": [*failing, FakeQuery("a")]}, restart=forgetful)
    stop_after(scene, 5_000)
    scene.supervisor.run(planned("a"))
    assert [at_ms for at_ms, _ in scene.started] == [0, 1_000, 2_000, 3_000]


def test_a_query_that_is_given_up_does_not_take_the_others_down() -> None:
    fine = FakeQuery("b")
    scene = Scene({"a": [FakeQuery("a", failure="boom") for _ in range(3)], "b": [fine]})

    def look() -> None:
        if scene.now_ms == 20_000:
            assert scene.states() == {"a": FAILED, "b": RUNNING}
            scene.stopping.set()

    scene.on_pause = look
    scene.supervisor.run(planned("a", "b"))
    assert scene.supervisor.given_up == {"a": "boom (it failed 3 times in 1 minute)"}
    assert fine.is_stopped


def test_the_run_ends_when_every_query_is_given_up() -> None:
    scene = Scene({"a": [FakeQuery("a", failure=STOP)]})
    scene.supervisor.run(planned("a"))
    assert scene.supervisor.given_up == {"a": "orders broke the expectation `positive`"}


def test_a_stop_expectation_is_not_tried_again() -> None:
    scene = Scene({"a": [FakeQuery("a", failure=STOP)], "b": [FakeQuery("b")]})
    stop_after(scene, 10_000)
    scene.supervisor.run(planned("a", "b"))
    assert [name for _, name in scene.started] == ["a", "b"]


def test_a_query_that_spark_refuses_is_not_tried_again() -> None:
    scene = Scene({"a": [CannotStart("append needs a watermark")]})
    scene.supervisor.run(planned("a"))
    assert scene.supervisor.given_up == {"a": "append needs a watermark"}


def test_a_query_that_could_not_be_started_this_time_is_tried_again() -> None:
    scene = Scene({"a": [OSError("no broker"), FakeQuery("a")]})
    stop_after(scene, 5_000)
    scene.supervisor.run(planned("a"))
    assert [at_ms for at_ms, _ in scene.started] == [0, 1_000]


def test_a_query_that_waits_for_its_restart_is_stopped_when_the_run_ends() -> None:
    scene = Scene({"a": [FakeQuery("a", failure="boom")]})
    stop_after(scene, 300)
    scene.supervisor.run(planned("a"))
    assert scene.states() == {"a": STOPPED}


def test_once_means_that_each_round_ends_before_the_next_begins() -> None:
    scene = Scene({"a": [FakeQuery("a", rows=5)], "b": [FakeQuery("b", rows=2)]})
    scene.supervisor.run_once([Round(groups=planned("a")), Round(groups=planned("b"))])
    assert [name for _, name in scene.started] == ["a", "b"]
    assert scene.states() == {"a": DONE, "b": DONE}


def test_queries_that_feed_each_other_go_on_until_nothing_is_new() -> None:
    scene = Scene(
        {
            "a": [FakeQuery("a", rows=rows) for rows in (5, 2, 0)],
            "b": [FakeQuery("b", rows=rows) for rows in (0, 3, 0)],
        }
    )
    scene.supervisor.run_once([Round(groups=planned("a", "b"), repeats=True)])
    assert [name for _, name in scene.started] == ["a", "b"] * 3


def test_once_goes_on_with_the_others_when_a_query_is_given_up() -> None:
    scene = Scene({"a": [FakeQuery("a", failure=STOP)], "b": [FakeQuery("b", rows=2)]})
    scene.supervisor.run_once([Round(groups=planned("a")), Round(groups=planned("b"))])
    assert list(scene.supervisor.given_up) == ["a"]
    assert scene.states() == {"a": FAILED, "b": DONE}


def test_once_restarts_a_failed_query_too() -> None:
    scene = Scene({"a": [FakeQuery("a", failure="boom"), FakeQuery("a", rows=1)]})
    scene.supervisor.run_once([Round(groups=planned("a"))])
    assert scene.supervisor.given_up == {}
    assert scene.states() == {"a": DONE}


def test_a_stop_ends_a_run_of_once_between_batches() -> None:
    query = FakeQuery("a")
    scene = Scene({"a": [query], "b": []})
    stop_after(scene, 300)
    scene.supervisor.run_once([Round(groups=planned("a")), Round(groups=planned("b"))])
    assert query.is_stopped
    assert [name for _, name in scene.started] == ["a"]


def test_a_query_that_fails_fails_for_all_its_outputs() -> None:
    failing = [FakeQuery("a", failure="no broker") for _ in range(3)]
    scene = Scene({"a": [*failing], "b": []})
    scene.supervisor.run([group("a", "b")])
    assert scene.states() == {"a": FAILED, "b": FAILED}
    assert [*scene.supervisor.given_up] == ["a", "b"]
    assert scene.messages[0] == "a, b failed: no broker; restart 1 of 2 in 1 s"


def test_an_output_that_fails_is_tried_again_and_given_up_while_its_query_runs() -> None:
    query = FakeQuery("a")
    scene = Scene({"a": [query], "b": []})
    pauses: list[int | None] = []

    def fail() -> None:
        if len(pauses) < 3:
            pauses.append(scene.supervisor.on_output_failure("b", "the disk is full"))
        else:
            scene.stopping.set()

    scene.on_pause = fail
    scene.supervisor.run([group("a", "b")])
    assert pauses == [1_000, 2_000, None]
    assert scene.supervisor.given_up == {"b": "the disk is full (it failed 3 times in 1 minute)"}
    assert scene.states() == {"a": STOPPED, "b": FAILED}


def test_an_output_that_broke_a_stop_is_given_up_at_once() -> None:
    scene = Scene({"a": [FakeQuery("a")]})
    stop_after(scene, 100)
    assert scene.supervisor.on_output_failure("a", STOP) is None
    assert scene.states() == {"a": FAILED}
