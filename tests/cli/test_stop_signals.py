import os
import signal

import pytest

from penstock.cli.stop_signals import Impatience, StopSignals


def test_signals_within_a_moment_are_one_and_a_later_one_shows_impatience() -> None:
    times_s = iter([10.0, 10.0, 10.9, 11.1])
    impatience = Impatience(lambda: next(times_s))
    assert [impatience.is_shown() for _ in range(3)] == [False, False, True]


def test_a_doubled_signal_is_noted_and_interrupts_nothing() -> None:
    with StopSignals() as signals:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert signals.is_stopped


def test_a_later_signal_does_what_it_does_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.stop_signals._MOMENT_S", -1.0)  # every signal is a later one
    with pytest.raises(KeyboardInterrupt), StopSignals():
        os.kill(os.getpid(), signal.SIGINT)
