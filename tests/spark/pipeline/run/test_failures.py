"""The reason of a failed query."""

from penstock.spark.pipeline.run.failures import is_expectation_stop, reason_of

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
    assert is_expectation_stop(STOPPED)
    assert reason_of(STOPPED) == (
        "orders broke the expectation `positive` (line 7): amount > 0; by the record at offset 15 of orders-0"
    )


def test_the_reason_of_a_python_traceback_is_its_message() -> None:
    assert not is_expectation_stop(IN_PYTHON)
    assert reason_of(IN_PYTHON) == "topic payments has no leader: is a broker down?"


def test_an_exception_without_a_message_is_reported_by_its_name() -> None:
    text = "Traceback (most recent call last):\n  File 'a.py', line 1\n    f()\nZeroDivisionError\n"
    assert reason_of(text) == "ZeroDivisionError"


def test_the_reason_of_sparks_own_error_is_its_message() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 6, runId = 2] terminated with exception: [DIVIDE_BY_ZERO] Division by zero. "
        "Use `try_divide`. SQLSTATE: 22012\n== DataFrame ==\nsomething\n=== Streaming Query ===\n"
    )
    assert reason_of(text) == "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`"


def test_the_class_prefix_of_spark_connect_is_removed() -> None:
    assert (
        reason_of("(STREAM_FAILED) Python worker failed to connect back")
        == "Python worker failed to connect back"
    )


def test_the_words_of_an_expectation_in_the_plan_are_no_stop() -> None:
    text = "Job aborted.\n=== Streaming Query ===\nFilter raise_error(penstock stopped: orders broke)"
    assert not is_expectation_stop(text)
    assert reason_of(text) == "Job aborted"


def test_no_reason_is_longer_than_a_few_lines() -> None:
    assert len(reason_of("x" * 10_000)) == 600
