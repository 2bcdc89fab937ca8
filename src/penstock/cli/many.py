"""`penstock up --brokers N`: one cluster of N processes on this host, started one after the other, stopped together.

The first is node 1 (or `--node-id`) at the address of `--listen`; each further one has the next number, the next port,
and a directory of its own beside the first one's. A broker that dies is told about and left dead: the others go on.
None outlives the process that started them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from types import FrameType
from typing import IO

from penstock.cli.cluster_token import VARIABLE, given_token, stored_token
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.serve import DATA_DEFAULT, LISTEN_DEFAULT, STOPS_WITH_INPUT, UpOptions, load_settings
from penstock.config.themes.admin import ADMIN_LISTENER, admin_address

_READY = "ready on "
_STOP_S_MAX = 30.0


def serve_many(options: UpOptions) -> None:
    """Run the brokers until a signal; raises `CommandError` when one of them does not start."""
    assert options.brokers is not None
    running: list[subprocess.Popen[str]] = []
    stopping = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        addresses: list[str] = []
        token = given_token(options.token, options.token_file)
        for number in range(options.brokers):
            process = _start(options, number, addresses, token)
            running.append(process)
            addresses.append(_await_ready(process))
            token = token or stored_token(_data_of(options, number))
            if stopping.is_set():
                return
        data = os.path.abspath(options.data or DATA_DEFAULT)
        print(
            f"penstock ready on {', '.join(addresses)} ({options.brokers} brokers, data in {data})",
            flush=True,
        )
        _watch(running, stopping)
    finally:
        _stop_all(running)
        for each, handler in before.items():
            signal.signal(each, handler)


def _node_id(options: UpOptions, number: int) -> int:
    return (options.node_id or 1) + number


def _data_of(options: UpOptions, number: int) -> str:
    return os.path.join(options.data or DATA_DEFAULT, f"node-{_node_id(options, number)}")


def _start(
    options: UpOptions, number: int, addresses: list[str], token: bytes | None
) -> "subprocess.Popen[str]":
    host, colon, port = (options.listen or LISTEN_DEFAULT).rpartition(":")
    if not colon or not port.isdecimal() or "," in host:
        raise CommandError("--brokers needs --listen HOST:PORT with one address", EXIT_USAGE)
    command = [
        sys.executable, "-m", "penstock.cli.main", "up",
        "--listen", f"{host}:{int(port) + number if int(port) else 0}",
        "--data", _data_of(options, number),
        "--node-id", str(_node_id(options, number)),
        "--log-level", options.log_level,
        "--log-format", options.log_format,
    ]  # fmt: skip
    if options.config is not None:
        command += ["--config", options.config]
    for setting in (*options.settings, *_admin_listener(options, number)):
        command += ["--set", setting]
    for user in options.add_scram if number == 0 else ():
        command += ["--add-scram", user]
    for address in [*options.join, *addresses[:1]]:
        command += ["--join", address]
    # Of its own group: Ctrl-C reaches the parent only, which stops them in order. However the parent ends, the pipe
    # ends with it.
    return subprocess.Popen(  # noqa: S603  this very program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {STOPS_WITH_INPUT: "1"} | ({} if token is None else {VARIABLE: token.hex()}),
    )


def _admin_listener(options: UpOptions, number: int) -> list[str]:
    """The first broker has the admin port of the settings, each further one the next, or any that is free."""
    config = load_settings(options)
    address = admin_address(config[ADMIN_LISTENER])
    if number == 0 or address is None:
        return []
    host, port = address
    is_set = ADMIN_LISTENER.name in config.static_settings()
    return [f"{ADMIN_LISTENER.name}={host}:{port + number if is_set and port else 0}"]


def _pass_on(lines: IO[str]) -> None:
    """Further lines tell where the admin ports are."""
    with contextlib.suppress(ValueError, OSError):  # closed when the broker has ended
        for line in lines:
            print(line, end="", flush=True)


def _await_ready(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if _READY not in line:
        process.wait()
        raise CommandError("one of the brokers did not start; its error is above")
    threading.Thread(target=_pass_on, args=(process.stdout,), daemon=True).start()
    return line.split(_READY, 1)[1].split(" ", 1)[0].rstrip(",")


def _watch(running: list["subprocess.Popen[str]"], stopping: threading.Event) -> None:
    """Until a signal, or until none is left."""
    alive = list(running)
    while alive and not stopping.wait(0.2):
        for process in list(alive):
            if process.poll() is not None:
                alive.remove(process)
                print(f"penstock: the broker with pid {process.pid} has ended", file=sys.stderr, flush=True)


def _stop_all(running: list["subprocess.Popen[str]"]) -> None:
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in running:
        try:
            process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
