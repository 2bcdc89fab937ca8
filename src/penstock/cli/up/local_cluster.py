"""`penstock up --brokers N`: run a cluster of N processes on this host, started in order, stopped together.

The first is node 1 (or `--node-id`) at the address of `--listen`; each further one has the next id, the next port,
and a directory of its own beside the first one's. A broker that dies is reported and not restarted: the others go on.
None outlives the process that started them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import IO

import msgspec

from penstock.cli.errors import CommandError, UsageError
from penstock.cli.stop_signals import stop_on_signals
from penstock.cli.up.options import DATA_DEFAULT, LISTEN_DEFAULT, UpOptions
from penstock.cli.up.serve import STOPS_WITH_INPUT, load_settings
from penstock.cli.up.token import VARIABLE, given_token, stored_token
from penstock.config.settings.admin import ADMIN_LISTENER, admin_address

_READY = "ready on "
_STOP_TIMEOUT_S = 30.0


def serve_local_cluster(options: UpOptions) -> None:
    """Run the brokers until a signal; raises `CommandError` when one of them does not start."""
    assert options.brokers is not None
    running: list[subprocess.Popen[str]] = []
    addresses: list[str] = []
    token = given_token(options.token, options.token_file)
    with stop_on_signals(on_later=lambda _number: None) as stopping:
        try:
            for index in range(options.brokers):
                own = broker_options(options, index, addresses)
                running.append(_start(own, token))
                addresses.append(_wait_until_ready(running[-1]))
                token = token or stored_token(own.data or DATA_DEFAULT)
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


def broker_options(options: UpOptions, index: int, addresses: list[str]) -> UpOptions:
    """Derive the options of one broker of the cluster; `addresses` are those of the brokers before it."""
    host, colon, port = (options.listen or LISTEN_DEFAULT).rpartition(":")
    if not colon or not port.isdecimal() or "," in host:
        raise UsageError("--brokers needs --listen HOST:PORT with one address")
    node_id = (options.node_id or 1) + index
    return msgspec.structs.replace(
        options,
        listen=f"{host}:{int(port) + index if int(port) else 0}",
        data=os.path.join(options.data or DATA_DEFAULT, f"node-{node_id}"),
        node_id=node_id,
        settings=(*options.settings, *_admin_listener(options, index)),
        join=(*options.join, *addresses[:1]),
        token=None,  # passed in the environment, where other users cannot see it
        token_file=None,
        add_scram=options.add_scram if index == 0 else (),
        brokers=None,
    )


def _admin_listener(options: UpOptions, index: int) -> list[str]:
    """The first broker has the admin port of the settings, each further one the next, or a free one."""
    config = load_settings(options)
    address = admin_address(config[ADMIN_LISTENER])
    if index == 0 or address is None:
        return []
    host, port = address
    is_set = ADMIN_LISTENER.name in config.static
    return [f"{ADMIN_LISTENER.name}={host}:{port + index if is_set and port else 0}"]


def _start(options: UpOptions, token: bytes | None) -> "subprocess.Popen[str]":
    # In a session of its own: Ctrl-C reaches the parent only, which stops them in order. However the parent ends, the
    # pipe ends with it.
    return subprocess.Popen(  # noqa: S603  this very program
        [sys.executable, "-m", "penstock.cli.main", "up", *options.arguments()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {STOPS_WITH_INPUT: "1"} | ({} if token is None else {VARIABLE: token.hex()}),
    )


def _wait_until_ready(process: "subprocess.Popen[str]") -> str:
    """Give the address that a broker prints; its further lines (the admin port) are printed as they come."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if _READY not in line:
        process.wait()
        raise CommandError("one of the brokers did not start; its error is above")
    threading.Thread(target=_print_lines, args=(process.stdout,), daemon=True).start()
    return line.split(_READY, 1)[1].split(" ", 1)[0].rstrip(",")


def _print_lines(lines: IO[str]) -> None:
    with contextlib.suppress(ValueError, OSError):  # closed when the broker has ended
        for line in lines:
            print(line, end="", flush=True)


def _watch(running: list["subprocess.Popen[str]"], stopping: threading.Event) -> None:
    """Report brokers that end, until a signal, or until none is left."""
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
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
