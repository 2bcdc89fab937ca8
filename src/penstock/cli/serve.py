"""Running a broker in the foreground, once it is known what was asked for.

Knows nothing of typer, which costs a third of the start-up time and of an idle broker's memory: `quick_options` reads
a command line that is in order, and leaves every other one to the full parser in `up.py`, for its help and complaints.
"""

import asyncio
import importlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, get_args

import msgspec

from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.stop_signals import Impatience
from penstock.observability.allocator import collect_seldom, keep_freed_memory
from penstock.observability.logs import LogFormat, LogLevel, configure_logging

if TYPE_CHECKING:
    from penstock.config.broker import BrokerConfig
    from penstock.gateway.http.server import AdminServer
    from penstock.server.broker import Broker

log = logging.getLogger(__name__)

LISTEN_DEFAULT = "127.0.0.1:9092"
DATA_DEFAULT = "./penstock-data"
STOPS_WITH_INPUT = "PENSTOCK_STOPS_WITH_INPUT"
"""In the environment of a broker that another process of Penstock has started, and is not to outlive."""
_PORT_MAX = 65535


class UpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `penstock up` was asked for; None is for the file, or the default, to say."""

    listen: str | None = None
    data: str | None = None
    node_id: int | None = None
    config: str | None = None
    settings: tuple[str, ...] = ()
    join: tuple[str, ...] = ()
    token: str | None = None
    token_file: str | None = None
    add_scram: tuple[str, ...] = ()
    brokers: int | None = None
    log_level: LogLevel = "info"
    log_format: LogFormat = "text"


def quick_options(arguments: Sequence[str]) -> UpOptions | None:
    """The options of a command line that is in order; None when it asks for help, or something is odd."""
    given: dict[str, object] = {}
    settings: list[str] = []
    join: list[str] = []
    add_scram: list[str] = []
    words = iter(arguments)
    for word in words:
        option, equals, value = word.partition("=")
        if not option.startswith("--"):
            return None
        if not equals:
            value = next(words, "-")
            if value.startswith("-"):  # an option's name where its value belongs
                return None
        if option == "--set":
            settings.append(value)
        elif option == "--join":
            join.append(value)
        elif option == "--add-scram":
            add_scram.append(value)
        elif option in ("--listen", "--data", "--config", "--token", "--token-file"):
            given[option[2:].replace("-", "_")] = value
        elif option in ("--node-id", "--brokers") and value.isascii() and value.isdecimal():
            if option == "--brokers" and int(value) == 0:
                return None
            given[option[2:].replace("-", "_")] = int(value)
        elif option == "--log-level" and value in get_args(LogLevel):
            given["log_level"] = value
        elif option == "--log-format" and value in get_args(LogFormat):
            given["log_format"] = value
        else:
            return None
    return msgspec.convert({**given, "settings": settings, "join": join, "add_scram": add_scram}, UpOptions)


def serve(options: UpOptions) -> None:
    """Run a broker until a signal; raises `CommandError` when it cannot start."""
    if options.brokers is not None:
        from penstock.cli.many import serve_many

        serve_many(options)
        return
    configure_logging(options.log_level, options.log_format)
    settings = load_settings(options)
    members = [member_of(each) for text in options.join for each in text.split(",")]
    from penstock.cli.cluster_token import given_token

    secret = given_token(options.token, options.token_file)
    keep_freed_memory()
    collect_seldom()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, members, options.add_scram, secret))


def load_settings(options: UpOptions) -> "BrokerConfig":
    """Join the command's own options, `--set`, the file and the command's defaults; the first that speaks wins."""
    from penstock.config import broker
    from penstock.config.property import ConfigError

    text = None
    if options.config is not None:
        text = _read_properties(options.config)
        for name in broker.unknown_names(text):
            log.warning("%s: %s is passed over: there is no such setting here", options.config, name)
    own = []
    if options.listen is not None:
        own.append(f"listeners={listeners_of(options.listen)}")
    if options.data is not None:
        own.append(f"log.dirs={options.data}")
    if options.node_id is not None:
        own.append(f"node.id={options.node_id}")
    try:
        given = broker.load(text, [*options.settings, *own]).static_settings()
        if "listeners" not in given:
            own.append(f"listeners={listeners_of(LISTEN_DEFAULT)}")
        if "log.dirs" not in given and "log.dir" not in given:
            own.append(f"log.dirs={DATA_DEFAULT}")
        settings = broker.load(text, [*options.settings, *own])
    except ConfigError as error:
        raise CommandError(f"{error}. `penstock config list` shows every property", EXIT_USAGE) from None
    for name in broker.settings_without_effect(settings):
        log.warning("The setting %s has no effect here", name)
    return settings


def listeners_of(listen: str) -> str:
    """The property `listeners` that `--listen` stands for."""
    if "://" in listen:
        return listen
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _PORT_MAX:
        raise CommandError(
            f"--listen {listen} is not an address: write HOST:PORT, like {LISTEN_DEFAULT}", EXIT_USAGE
        )
    return f"PLAINTEXT://{host}:{port}"


def member_of(address: str) -> tuple[str, int]:
    """The host and port of a member of the cluster to join."""
    host, colon, port = address.strip().rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) <= _PORT_MAX:
        raise CommandError(f"--join {address} is not an address: write HOST:PORT of any member", EXIT_USAGE)
    return host.strip("[]"), int(port)


def _read_properties(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandError(f"cannot read the properties file {path}: {reason}", EXIT_USAGE) from None


async def _serve(
    settings: "BrokerConfig",
    members: list[tuple[str, int]],
    users: Sequence[str] = (),
    secret: bytes | None = None,
) -> None:
    from penstock.cli.cluster_token import find_of_user, leave_for_user
    from penstock.cli.first_users import first_user
    from penstock.gateway.dialects import dialects
    from penstock.gateway.http.port import AdminPort, AdminPortUnusable
    from penstock.server.broker import Broker, StartFailed
    from penstock.server.ports import real_ports

    stop = asyncio.Event()
    impatience = Impatience()

    def on_signal(number: int) -> None:
        if impatience.is_shown():
            print("penstock: stopped without waiting; the next start recovers", file=sys.stderr, flush=True)
            os._exit(128 + number)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    if STOPS_WITH_INPUT in os.environ:
        _watch_input(stop)
    broker = Broker(
        settings,
        real_ports(),
        dialects=dialects,
        join=members,
        users=[first_user(each) for each in users],
        secret=secret,
        find_secret=find_of_user,
    )
    try:
        admin = AdminPort.bind(settings)
        await broker.start()
    except (AdminPortUnusable, StartFailed) as error:
        raise CommandError(str(error)) from None
    try:
        if broker.secret.value is not None:
            leave_for_user(broker.services.cluster_id, broker.secret.value)
        where = ", ".join(_address(endpoint.host, endpoint.port) for endpoint in broker.endpoints)
        lines = [f"penstock ready on {where} ({_identity(settings)})"]
        if admin is not None:
            admin.start(partial(_serve_admin, broker))
            lines.append(f"penstock console, metrics and gateways on {admin.url}")
        print("\n".join(lines), flush=True)  # at once: who waits for the first line may not read on
        await _until_stopped(stop, broker)
    finally:
        if admin is not None:
            await admin.stop()
        await broker.stop()


def _watch_input(stop: asyncio.Event) -> None:
    """Stop when standard input ends: whoever started this process is gone."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def read() -> None:
        if not os.read(descriptor, 1):
            loop.remove_reader(descriptor)
            stop.set()

    loop.add_reader(descriptor, read)


async def _serve_admin(broker: "Broker", listening: socket.socket) -> "AdminServer":
    """What answers on the admin port is loaded on a thread: the broker serves its clients meanwhile."""
    assemble = await asyncio.to_thread(importlib.import_module, "penstock.gateway.http.assemble")
    server: AdminServer = await assemble.serve(broker, listening)
    return server


async def _until_stopped(stop: asyncio.Event, broker: "Broker") -> None:
    """Raises `CommandError` when it is the cluster that wants no more of this broker."""
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
    except ImportError:  # an extra speed, not a need
        return None
    loop: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return loop
