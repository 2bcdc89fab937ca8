"""A failed query is one notification."""

from penstock.spark.pipeline.delivery.failures import FailureNotifier
from penstock.spark.pipeline.delivery.outbox import Message
from penstock.spark.pipeline.progress.status import FAILED, PAUSED, RUNNING, QueryStatus, RunStatus


def status(state: str, failures: int) -> RunStatus:
    query = QueryStatus(name="shop.table", state=state, failures=failures, last_error="disk full")
    return RunStatus(pipeline="shop", file="shop.yaml", pid=1, started_ms=0, updated_ms=0, queries=(query,))


STATES = [(RUNNING, 0), (PAUSED, 1), (PAUSED, 1), (RUNNING, 1), (FAILED, 2), (FAILED, 2)]


def notified(*, restarts: bool) -> list[Message]:
    found: list[Message] = []
    notify = FailureNotifier(found.append, restarts=restarts)
    for state, failures in STATES:
        notify(status(state, failures))
    return found


def test_a_permanent_failure_is_notified_once() -> None:
    (message,) = notified(restarts=False)
    assert message.body["query"] == "shop.table"
    assert (message.body["isPermanent"], message.body["reason"]) == (True, "disk full")


def test_restarts_are_notified_if_the_file_asks_for_it() -> None:
    assert [each.body["isPermanent"] for each in notified(restarts=True)] == [False, True]
