import os
import signal

import pytest

from penstock.cli.stop_signals import ForcedStop, stop_on_signals


def test_signals_within_a_second_are_one_request_and_a_later_one_forces_the_stop() -> None:
    times_s = iter([10.0, 10.0, 10.9, 11.1])
    forced = ForcedStop(lambda: next(times_s))
    assert [forced.is_requested() for _ in range(3)] == [False, False, True]


def test_a_doubled_signal_sets_the_event_and_interrupts_nothing() -> None:
    with stop_on_signals() as stopping:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert stopping.is_set()


def test_a_later_signal_calls_the_handler_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.stop_signals._SAME_REQUEST_S", -1.0)  # every signal is a later one
    with pytest.raises(KeyboardInterrupt), stop_on_signals():
        os.kill(os.getpid(), signal.SIGINT)
