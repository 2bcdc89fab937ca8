"""`penstock up`: one broker in the foreground, until a signal."""

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import typer

from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.observability.logs import LogFormat, LogLevel, configure_logging

if TYPE_CHECKING:
    from penstock.config.broker import BrokerConfig

_LISTEN_DEFAULT = "127.0.0.1:9092"
_DATA_DEFAULT = "./penstock-data"
_PORT_MAX = 65535


def up(
    *,
    listen: str | None = typer.Option(
        None,
        metavar="HOST:PORT",
        show_default=_LISTEN_DEFAULT,
        help="Where clients connect; port 0 takes a free one. NAME://HOST:PORT,… names several listeners.",
    ),
    data: str | None = typer.Option(
        None,
        metavar="DIR",
        show_default=_DATA_DEFAULT,
        help="Where everything is kept; made if it does not exist.",
    ),
    node_id: int | None = typer.Option(
        None, min=0, metavar="N", show_default="1", help="This broker's number."
    ),
    config: str | None = typer.Option(
        None, metavar="FILE", help="A .properties file with Kafka's names; `penstock config list` shows them."
    ),
    set_: list[str] = typer.Option(
        [], "--set", metavar="KEY=VALUE", help="One property; wins over the file. May be given again."
    ),
    log_level: LogLevel = typer.Option("info", help="Which log lines are written."),
    log_format: LogFormat = typer.Option("text", help="How log lines look, on standard error."),
    join: str | None = typer.Option(None, hidden=True),
    brokers: int | None = typer.Option(None, hidden=True),
) -> None:
    """Run a broker until Ctrl-C or SIGTERM.

    One line on standard output says `ready` when it serves. A second signal stops it without waiting.

    For example:

      penstock up
      penstock up --listen 0.0.0.0:9092 --data /var/lib/penstock --node-id 3
      penstock up --config server.properties --set num.partitions=3
    """
    for option, value in (("--join", join), ("--brokers", brokers)):
        if value is not None:
            raise CommandError(
                f"{option} is not there yet: clusters come in a later version, run one broker without it",
                EXIT_USAGE,
            )
    configure_logging(log_level, log_format)
    settings = load_settings(listen=listen, data=data, node_id=node_id, file=config, settings=set_)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings))


def load_settings(
    *, listen: str | None, data: str | None, node_id: int | None, file: str | None, settings: list[str]
) -> "BrokerConfig":
    """Join the command's own options, `--set`, the file and the command's defaults; the first that speaks wins."""
    from penstock.config import broker
    from penstock.config.property import ConfigError

    text = None if file is None else _read_properties(file)
    own = []
    if listen is not None:
        own.append(f"listeners={listeners_of(listen)}")
    if data is not None:
        own.append(f"log.dirs={data}")
    if node_id is not None:
        own.append(f"node.id={node_id}")
    try:
        given = broker.load(text, [*settings, *own]).static_settings()
        if "listeners" not in given:
            own.append(f"listeners={listeners_of(_LISTEN_DEFAULT)}")
        if "log.dirs" not in given and "log.dir" not in given:
            own.append(f"log.dirs={_DATA_DEFAULT}")
        return broker.load(text, [*settings, *own])
    except ConfigError as error:
        raise CommandError(f"{error}. `penstock config list` shows every property", EXIT_USAGE) from None


def listeners_of(listen: str) -> str:
    """The property `listeners` that `--listen` stands for."""
    if "://" in listen:
        return listen
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _PORT_MAX:
        raise CommandError(
            f"--listen {listen} is not an address: write HOST:PORT, like {_LISTEN_DEFAULT}", EXIT_USAGE
        )
    return f"PLAINTEXT://{host}:{port}"


def _read_properties(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandError(f"cannot read the properties file {path}: {reason}", EXIT_USAGE) from None


async def _serve(settings: "BrokerConfig") -> None:
    from penstock.server.broker import Broker, StartFailed

    stop = asyncio.Event()

    def on_signal(number: int) -> None:
        if stop.is_set():
            print("penstock: stopped without waiting; the next start recovers", file=sys.stderr, flush=True)
            os._exit(128 + number)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    broker = Broker(settings)
    try:
        await broker.start()
    except StartFailed as error:
        raise CommandError(str(error)) from None
    try:
        where = ", ".join(_address(endpoint.host, endpoint.port) for endpoint in broker.endpoints)
        print(f"penstock ready on {where} ({_identity(settings)})", flush=True)
        await stop.wait()
    finally:
        await broker.stop()


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
