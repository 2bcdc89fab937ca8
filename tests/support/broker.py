"""A real broker process for tests: started, awaited, killed and restarted.

The broker is the installed command in a process of its own, so that SIGKILL means what it means to a user. Only
processes started here are ended, each by its own id.
"""

import contextlib
import fcntl
import functools
import os
import queue
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 20.0

# Below the range that the kernel hands to outgoing connections, so that no client takes a dead broker's port.
_PORTS = range(15_000, 31_000)
_reserved_ports: set[int] = set()
_ADDRESS = re.compile(r"(\d+\.\d+\.\d+\.\d+|localhost|\[::1\]):(\d+)")


class BrokerFailed(Exception):
    """The broker did not become ready; the message has its output."""


class BrokerProcess:
    """One broker on a data directory of its own; restarted on the same port, as clients expect."""

    def __init__(
        self,
        directory: Path,
        *,
        settings: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        port: int = 0,
        host: str = "127.0.0.1",
        environment: Mapping[str, str] | None = None,
        within: Sequence[
            str
        ] = (),  # a command that runs the broker somewhere, such as in a network namespace
        config: Path | None = None,
    ) -> None:
        """With `config`, a properties file says what to listen on and where the data is; `port` is its first."""
        self.data_dir = directory / "data"
        self.log_path = directory / "broker.log"
        self.start_durations_s: list[float] = []
        self.start_cpu_s: list[float] = []  # the part of them that a busy machine does not lengthen
        self._directory = directory
        # Many brokers run at once, and one admin port of the default number is not theirs to share.
        self._settings = {"penstock.admin.listener": "", **(settings or {})}
        self.arguments = list(arguments)
        self._host = host
        self._environment = dict(environment or {})
        self._within = list(within)
        self._config = config
        self._port = port or free_port()
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    # -- what tests ask

    @property
    def bootstrap(self) -> str:
        return f"{self._host}:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker was not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log_tail(self, characters_max: int = 6000) -> str:
        if not self.log_path.exists():
            return ""
        return self.log_path.read_text(errors="replace")[-characters_max:]

    # -- life

    def start(self) -> "BrokerProcess":
        """Start and wait until the broker reports that it is ready."""
        began = time.monotonic()
        self.launch()
        self.await_ready()
        self.start_durations_s.append(time.monotonic() - began)
        self.start_cpu_s.append(_cpu_seconds(self.pid))
        return self

    def launch(self) -> None:
        """Start and do not wait, to kill a broker that is still starting."""
        assert not self.is_running, "the broker runs already"
        self._directory.mkdir(parents=True, exist_ok=True)
        command = [*self._within, sys.executable, "-m", "penstock.cli.main", "up"]
        if self._config is None:
            command += ["--listen", self.bootstrap, "--data", str(self.data_dir)]
        else:
            command += ["--config", str(self._config)]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        command += self.arguments
        with self.log_path.open("a") as errors:
            errors.write(f"--- {' '.join(command)}\n")
            errors.flush()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    "COLUMNS": "200",
                    "NO_COLOR": "1",
                    **self._environment,
                },
            )
        assert self._process.stdout is not None
        self._lines = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self._process.stdout, self._lines), daemon=True).start()

    def await_ready(self) -> None:
        """Wait until a launched broker reports that it is ready."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.kill()
                raise BrokerFailed(f"not ready after {READY_TIMEOUT_S} s:\n{self.log_tail()}") from None
            if line is None:
                code = self._process.wait(STOP_TIMEOUT_S) if self._process else None
                raise BrokerFailed(f"ended with code {code} before it was ready:\n{self.log_tail()}")
            address = _ADDRESS.search(line)
            if "ready" in line and address is not None:
                assert int(address[2]) == self._port, f"asked for {self.bootstrap}, got {line!r}"
                return

    def kill(self) -> None:
        """SIGKILL: a crash."""
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        """SIGTERM, the graceful stop; returns the exit code."""
        return self._end(signal.SIGTERM)

    def stop(self) -> None:
        """Stop however it can be stopped; for teardown."""
        if not self.is_running:
            return
        try:
            self.terminate()
        except subprocess.TimeoutExpired:
            self.kill()

    def restart(self) -> "BrokerProcess":
        self.stop()
        return self.start()

    def _end(self, how: signal.Signals) -> int:
        process = self._process
        assert process is not None, "the broker was not started"
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(how)
        return process.wait(STOP_TIMEOUT_S)

    def _read(self, stdout: IO[str], lines: "queue.SimpleQueue[str | None]") -> None:
        with stdout, self.log_path.open("a") as log:
            for line in stdout:
                log.write(line)
                log.flush()
                lines.put(line)
        lines.put(None)


def _cpu_seconds(pid: int) -> float:
    """The CPU time of a process so far, on all its threads; 0 where the system does not report it."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def free_port() -> int:
    """A free port outside the kernel's range for outgoing connections, given to no other process of tests.

    The port stays this process's own: a broker that a test has stopped finds it free again, and no broker of
    a test that runs beside it answers there meanwhile.
    """
    for _ in range(1000):
        port = random.SystemRandom().choice(_PORTS)
        if port in _reserved_ports or not _reserve(port):
            continue
        _reserved_ports.add(port)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"no free port in {_PORTS}")


def _reserve(port: int) -> bool:
    """Lock the byte of the port in a file that all processes of tests share; the lock ends with the process."""
    try:
        fcntl.lockf(_port_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@functools.cache
def _port_locks() -> int:
    """Opened once: closing any descriptor of the file would end all locks of the process."""
    path = Path(tempfile.gettempdir()) / f"penstock-tests-{os.getuid()}.ports"
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
