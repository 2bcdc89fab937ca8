"""The reason of a failed query."""

import pytest

from penstock.spark.pipeline.run.failures import is_permanent, reason_of

STOPPED = (
    "[STREAM_FAILED] Query [id = 61938b67-7e12-4a9a-adbe-4452759c1c3a, runId = 2293e5f0] terminated with exception: "
    "[USER_RAISED_EXCEPTION] penstock stopped: orders broke the expectation `positive` (line 7): amount > 0; by the "
    "record at offset 15 of orders-0 SQLSTATE: P0001 SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: q138"
)
IN_PYTHON = """[STREAM_FAILED] Query [id = 6, runId = 2] terminated with exception: Job aborted due to stage failure: \
Task 0 in stage 2.0 failed 1 times, most recent failure: org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "worker.py", line 10, in main
    process()
  File "sink.py", line 3, in write
    raise SinkError("x")
penstock.spark.sink.errors.SinkError: topic payments has no leader: is a broker down?

\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:600)
=== Streaming Query ===
Identifier: q138
"""


def test_the_reason_of_a_stop_is_its_own_message() -> None:
    assert is_permanent(STOPPED)
    assert reason_of(STOPPED) == (
        "orders broke the expectation `positive` (line 7): amount > 0; by the record at offset 15 of orders-0"
    )


def test_the_reason_of_a_python_traceback_is_its_message() -> None:
    assert not is_permanent(IN_PYTHON)
    assert reason_of(IN_PYTHON) == "topic payments has no leader: is a broker down?"


def test_an_exception_without_a_message_is_reported_by_its_name() -> None:
    text = "Traceback (most recent call last):\n  File 'a.py', line 1\n    f()\nZeroDivisionError\n"
    assert reason_of(text) == "ZeroDivisionError"


def test_the_reason_of_sparks_own_error_is_its_message() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 6, runId = 2] terminated with exception: [FAILED_READ_FILE] Cannot read it. "
        "Try again. SQLSTATE: 22012\n== DataFrame ==\nsomething\n=== Streaming Query ===\n"
    )
    assert reason_of(text) == "[FAILED_READ_FILE] Cannot read it. Try again"


def test_the_class_prefix_of_spark_connect_is_removed() -> None:
    assert (
        reason_of("(STREAM_FAILED) Python worker failed to connect back")
        == "Python worker failed to connect back"
    )


def test_the_words_of_an_expectation_in_the_plan_are_no_stop() -> None:
    text = "Job aborted.\n=== Streaming Query ===\nFilter raise_error(penstock stopped: orders broke)"
    assert not is_permanent(text)
    assert reason_of(text) == "Job aborted"


def test_no_reason_is_longer_than_a_few_lines() -> None:
    assert len(reason_of("x" * 10_000)) == 600


FAILED = "[STREAM_FAILED] Query [id = 6, runId = 2] terminated with exception: "


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match", "pipeline plan FILE"),
        ("[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Missing", "pipeline reset FILE"),
        ("assertion failed: There are [2] sources in the checkpoint offsets and now there are [1]", "reset"),
        ("[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `a` cannot be resolved", "pipeline check"),
        ("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`. SQLSTATE: 22012", "expectation on the source"),
        ("Partition a-0's offset was changed from 5 to 2, some data may have been missed", "failOnDataLoss"),
        (
            "Traceback (most recent call last):\npenstock.client.errors.BrokerError: TOPIC_AUTHORIZATION_FAILED\n",
            "penstock acl add",
        ),
        ("org.apache.kafka.common.errors.TopicAuthorizationException: not authorized", "penstock acl add"),
        (
            "Traceback (most recent call last):\npenstock.spark.lake.errors.SchemaMismatch: t has no column b\n",
            "compares the file with its tables",
        ),
    ],
)
def test_what_a_restart_cannot_help_is_permanent_and_comes_with_advice(text: str, advice: str) -> None:
    assert is_permanent(FAILED + text)
    assert advice in reason_of(FAILED + text)


@pytest.mark.parametrize(
    "text",
    [
        "Python worker failed to connect back",
        "Traceback (most recent call last):\npenstock.spark.lake.errors.CommitConflict: try again\n",
        "Traceback (most recent call last):\npenstock.client.errors.TimedOut: reading orders-0 took too long\n",
        "Job aborted.\n=== Streaming Query ===\nProject [DIVIDE_BY_ZERO]",
    ],
)
def test_what_may_go_away_is_retried(text: str) -> None:
    assert not is_permanent(FAILED + text)


def test_the_message_of_a_permanent_failure_is_whole() -> None:
    columns = ", ".join(f"column_{number} INT" for number in range(100))
    assert columns in reason_of(f"{FAILED}[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] {columns}")
