"""Runs a broker in a separate process, on a free port, with its data in a temporary directory."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping

import msgspec

_READY = re.compile(r"ready on .*?((?:\d{1,3}\.){3}\d{1,3}:\d+)")
_READY_TIMEOUT_SECONDS = 60.0
_STOP_TIMEOUT_SECONDS = 20.0
# Kafka's default makes a new group wait three seconds for more members.
_SETTINGS: Mapping[str, str] = {"group.initial.rebalance.delay.ms": "0"}


class BrokerDidNotStart(Exception):
    """The message is the end of the broker's log."""


class TestBroker(msgspec.Struct, frozen=True, kw_only=True):
    __test__ = False  # not a test class, despite its name

    bootstrap: str


@contextlib.contextmanager
def running_broker(directory: str, settings: Mapping[str, str] = _SETTINGS) -> Iterator[TestBroker]:
    """Start a broker with its data below `directory`, and stop it at the end."""
    command = [sys.executable, "-m", "penstock.cli.main", "up", "--listen", "127.0.0.1:0"]
    command += ["--data", os.path.join(directory, "data")]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    os.makedirs(directory, exist_ok=True)
    log_path = os.path.join(directory, "broker.log")
    with open(log_path, "wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        )
    try:
        yield TestBroker(bootstrap=_await_ready(process, log_path))
    finally:
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _await_ready(process: "subprocess.Popen[bytes]", log_path: str) -> str:
    assert process.stdout is not None
    # A broker that does not become ready is stopped, which ends its output.
    watchdog = threading.Timer(_READY_TIMEOUT_SECONDS, process.terminate)
    watchdog.start()
    try:
        for line in process.stdout:
            if (ready := _READY.search(line.decode(errors="replace"))) is not None:
                return ready[1]
    finally:
        watchdog.cancel()
    with open(log_path, errors="replace") as log:
        raise BrokerDidNotStart(f"the broker ended before it was ready: {log.read()[-2000:]}")
