"""`penstock console`: serve the web console of a running cluster, in a process of its own."""

import os
from typing import TYPE_CHECKING

import typer

from penstock.cli.connect.settings import read_settings
from penstock.cli.connect.target import Target, connects
from penstock.cli.errors import CommandError, UsageError
from penstock.cli.options import listen_address

if TYPE_CHECKING:
    from penstock.console.app import ConsoleSettings

LISTEN_DEFAULT = "127.0.0.1:9080"
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


@connects
def console(
    target: Target,
    *,
    listen: str = typer.Option(
        LISTEN_DEFAULT, metavar="HOST:PORT", help="Listen for browsers here; port 0 picks a free port."
    ),
    allow_host: list[str] = typer.Option(
        [],
        "--allow-host",
        metavar="NAME",
        help="Accept requests to this host name, besides the address (repeatable).",
    ),
    pipelines: list[str] = typer.Option(
        [],
        "--pipelines",
        metavar="DIR",
        help="Show the status of the pipeline with these checkpoints on this machine (repeatable).",
    ),
) -> None:
    r"""Serve the web console until Ctrl-C.

    If the cluster requires SASL, users of the console log in with their own user and password. A user in the settings
    is used for everyone only if the console listens on this machine alone (127.0.0.1, ::1 or localhost).

    For example:

      penstock console
      penstock console --bootstrap-server broker-1:9092 --listen 127.0.0.1:9080
      penstock console -b broker-1:9094 --command-config client.properties \
        --listen 0.0.0.0:9080 --allow-host ops
    """
    import asyncio

    from penstock.client.aio import ClientSettings, SettingsError
    from penstock.client.aio.security import of_settings
    from penstock.console.app import ConsoleSettings

    host, port = listen_address("--listen", listen, LISTEN_DEFAULT)
    properties = {**read_settings(target.settings), "bootstrap.servers": target.server}
    is_login_needed = needs_login(properties, host)
    check_certificate(properties, host)
    if is_login_needed:  # users give theirs when they log in
        protocol = properties["security.protocol"].upper()
        properties["security.protocol"] = protocol.removeprefix("SASL_")
    try:
        connection = ClientSettings.from_properties(properties)
        settings = ConsoleSettings(
            connection=connection,
            security=of_settings(connection),
            needs_login=is_login_needed,
            allowed_hosts=frozenset({host.lower(), *(name.lower() for name in allow_host)}),
            pipeline_directories=tuple(pipelines),
        )
    except SettingsError as error:
        raise UsageError(str(error)) from None
    asyncio.run(_serve(settings, host, port))


async def _serve(settings: "ConsoleSettings", host: str, port: int) -> None:
    import asyncio
    import signal

    from aiohttp import web

    from penstock.console.app import PATH, routes
    from penstock.console.web import BODY_BYTES_MAX

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app = web.Application(client_max_size=BODY_BYTES_MAX)
    routes(app, settings)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0, auto_decompress=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise CommandError(
                f"cannot listen on {host}:{port} ({_reason(error)}): choose another address with --listen"
            ) from None
        bound = runner.addresses[0]
        name = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        print(f"penstock console ready on http://{name}:{bound[1]}{PATH}/", flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


def _reason(error: OSError) -> str:
    """Give the system's own text: asyncio puts more around it."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


def needs_login(properties: dict[str, str], host: str) -> bool:
    """Whether users log in themselves: with SASL, unless the settings have a user and only this machine is served."""
    if not properties.get("security.protocol", "PLAINTEXT").upper().startswith("SASL"):
        return False
    has_user = any(
        properties.get(name) for name in ("sasl.username", "sasl.jaas.config", "sasl.oauthbearer.token")
    )
    return not has_user or host not in _THIS_MACHINE


def check_certificate(properties: dict[str, str], host: str) -> None:
    """Refuse to act as the user of a certificate for everyone who reaches the console."""
    if properties.get("security.protocol", "").upper() != "SSL" or host in _THIS_MACHINE:
        return
    if any(properties.get(name) for name in ("ssl.keystore.location", "ssl.certificate.location")):
        raise UsageError(
            f"anyone who reaches {host} could act as the user of this certificate: listen on 127.0.0.1, or connect to "
            "a SASL listener, where users log in themselves"
        )
