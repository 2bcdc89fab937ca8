"""Run a broker in the foreground, with the options of `penstock up`. Imports no typer: see `options.py`."""

import asyncio
import importlib
import logging
import os
import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from penstock.cli.errors import CommandError, UsageError
from penstock.cli.stop_signals import STOP_SIGNALS, ForcedStop
from penstock.cli.up.options import DATA_DEFAULT, LISTEN_DEFAULT, UpOptions
from penstock.observability.logs import configure_logging
from penstock.runtime.allocator import collect_less_often, imports_uncollected, keep_freed_memory

if TYPE_CHECKING:
    from penstock.config.broker import BrokerConfig
    from penstock.gateway.http.server import AdminServer
    from penstock.server.broker import Broker

log = logging.getLogger(__name__)

STOPS_WITH_INPUT = "PENSTOCK_STOPS_WITH_INPUT"
"""In the environment of a broker that another Penstock process has started, and that must not outlive it."""
_PORT_MAX = 65535


def serve(options: UpOptions) -> None:
    """Run a broker until a signal; raises `CommandError` when it cannot start."""
    if options.brokers is not None:
        from penstock.cli.up.local_cluster import serve_local_cluster

        serve_local_cluster(options)
        return
    configure_logging(options.log_level, options.log_format)
    settings = load_settings(options)
    members = [parse_member(each) for text in options.join for each in text.split(",")]
    from penstock.cli.up.token import given_token

    secret = given_token(options.token, options.token_file)
    keep_freed_memory()
    collect_less_often()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, members, options.add_scram, secret))


def load_settings(options: UpOptions) -> "BrokerConfig":
    """Merge the command's own options, `--set`, the file and the command's defaults, in this order of precedence."""
    from penstock.config import broker
    from penstock.config.property import ConfigError

    text = None
    if options.config is not None:
        text = _read_properties(options.config)
        for name in broker.unknown_names(text):
            log.warning("Ignored an unknown setting. file=%s name=%s", options.config, name)
    own = []
    if options.listen is not None:
        own.append(f"listeners={parse_listeners(options.listen)}")
    if options.data is not None:
        own.append(f"log.dirs={options.data}")
    if options.node_id is not None:
        own.append(f"node.id={options.node_id}")
    try:
        given = broker.load(text, [*options.settings, *own]).static
        if "listeners" not in given:
            own.append(f"listeners={parse_listeners(LISTEN_DEFAULT)}")
        if "log.dirs" not in given and "log.dir" not in given:
            own.append(f"log.dirs={DATA_DEFAULT}")
        settings = broker.load(text, [*options.settings, *own])
    except ConfigError as error:
        raise UsageError(f"{error}. `penstock config list` shows every property") from None
    for name in broker.settings_without_effect(settings):
        log.warning(
            "Ignored a setting: it is accepted for compatibility with Kafka, and has no effect. name=%s", name
        )
    return settings


def parse_listeners(listen: str) -> str:
    """Translate `--listen` to the property `listeners`."""
    if "://" in listen:
        return listen
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _PORT_MAX:
        raise UsageError(f"--listen {listen} is not an address: write HOST:PORT, like {LISTEN_DEFAULT}")
    return f"PLAINTEXT://{host}:{port}"


def parse_member(address: str) -> tuple[str, int]:
    """Parse the address of a member of the cluster to join."""
    host, colon, port = address.strip().rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) <= _PORT_MAX:
        raise UsageError(f"--join {address} is not an address: write HOST:PORT of any member")
    return host.strip("[]"), int(port)


def _read_properties(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read the properties file {path}: {reason}") from None


async def _serve(
    settings: "BrokerConfig", members: list[tuple[str, int]], users: Sequence[str], secret: bytes | None
) -> None:
    with imports_uncollected():
        from penstock.cli.up.scram_users import parse_user
        from penstock.cli.up.token import find_for_user, share_with_user
        from penstock.gateway.dialects import dialects
        from penstock.gateway.http.port import AdminPort, AdminPortUnusable
        from penstock.server.broker import Broker, StartFailed
        from penstock.server.ports import real_ports

    stop = _stop_event()
    broker = Broker(
        settings,
        real_ports(),
        dialects=dialects,
        join=members,
        users=[parse_user(each) for each in users],
        secret=secret,
        find_secret=find_for_user,
    )
    try:
        admin = AdminPort.bind(settings)
        await broker.start()
    except (AdminPortUnusable, StartFailed) as error:
        raise CommandError(str(error)) from None
    try:
        if broker.secret.value is not None:
            share_with_user(broker.services.cluster_id, broker.secret.value)
        where = ", ".join(_address(endpoint.host, endpoint.port) for endpoint in broker.endpoints)
        lines = [f"penstock ready on {where} ({_identity(settings)})"]
        if admin is not None:
            admin.start(partial(_serve_admin, broker))
            lines.append(f"penstock console, metrics and gateways on {admin.url}")
        print("\n".join(lines), flush=True)  # in one write: a parent that waits for the first may not read on
        await _until_stopped(stop, broker)
    finally:
        if admin is not None:
            await admin.stop()
        await broker.stop()


def _stop_event() -> asyncio.Event:
    """Make an event that a signal sets. A second signal ends the process at once."""
    stop, forced, loop = asyncio.Event(), ForcedStop(), asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if forced.is_requested():
            print("penstock: stopped without waiting; the next start recovers", file=sys.stderr, flush=True)
            os._exit(128 + number)
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    if STOPS_WITH_INPUT in os.environ:
        _stop_with_input(stop)
    return stop


def _stop_with_input(stop: asyncio.Event) -> None:
    """Stop when standard input ends: the process that started this one is gone."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def on_readable() -> None:
        if not os.read(descriptor, 1):
            loop.remove_reader(descriptor)
            stop.set()

    loop.add_reader(descriptor, on_readable)


async def _serve_admin(broker: "Broker", listening: socket.socket) -> "AdminServer":
    """Import the admin port's server on a thread, while the broker serves its clients."""
    assemble = await asyncio.to_thread(importlib.import_module, "penstock.gateway.http.assemble")
    server: AdminServer = await assemble.serve(broker, listening)
    return server


async def _until_stopped(stop: asyncio.Event, broker: "Broker") -> None:
    """Wait for a signal; raises `CommandError` when the cluster has removed this broker."""
    stopped, evicted = asyncio.ensure_future(stop.wait()), asyncio.ensure_future(broker.evicted())
    try:
        await asyncio.wait((stopped, evicted), return_when=asyncio.FIRST_COMPLETED)
        if evicted.done():
            raise CommandError(evicted.result())
    finally:
        stopped.cancel()
        evicted.cancel()


def _identity(settings: "BrokerConfig") -> str:
    data = ", ".join(os.path.abspath(path) for path in settings.log_dirs)
    return f"node {settings.node_id}, data in {data}"


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ImportError:  # faster, but optional
        return None
    loop: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return loop
