"""`penstock console`: the web console for a running cluster, in a process of its own."""

from typing import TYPE_CHECKING

import typer

from penstock.cli.connection import BootstrapServer, split_address
from penstock.cli.errors import EXIT_USAGE, CommandError

if TYPE_CHECKING:
    from penstock.console.app import ConsoleSettings

LISTEN_DEFAULT = "127.0.0.1:9080"


def console(
    *,
    server: str = BootstrapServer,
    listen: str = typer.Option(
        LISTEN_DEFAULT, metavar="HOST:PORT", help="Where browsers connect; port 0 takes a free one."
    ),
    command_config: str | None = typer.Option(
        None,
        "--command-config",
        metavar="FILE",
        help="A .properties file of a Kafka client: security.protocol, ssl.truststore.location, …",
    ),
    allow_host: list[str] = typer.Option(
        [],
        "--allow-host",
        metavar="NAME",
        help="A host name under which browsers reach the console, besides its address. May be given again.",
    ),
    pipelines: list[str] = typer.Option(
        [],
        "--pipelines",
        metavar="DIR",
        help="The checkpoints of a pipeline on this machine, to show its status. May be given again.",
    ),
) -> None:
    """Serve the web console until Ctrl-C.

    Where the cluster wants SASL, users of the console log in with their own user and password. A user in the file is
    taken for everyone only while the console listens on this machine alone (127.0.0.1, ::1 or localhost).

    For example:

      penstock console
      penstock console --bootstrap-server broker-1:9092 --listen 127.0.0.1:9080
      penstock console -b broker-1:9094 --command-config client.properties --listen 0.0.0.0:9080 --allow-host ops
    """
    import asyncio

    from penstock.client.cluster import ClientSettings, SettingsError
    from penstock.client.cluster.security import of_settings
    from penstock.console.app import ConsoleSettings

    host, port = split_address(listen)
    properties = {**_properties(command_config), "bootstrap.servers": server}
    is_login_needed = needs_login(properties, host)
    if is_login_needed:  # the user comes with the login
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
        raise CommandError(str(error), EXIT_USAGE) from None
    asyncio.run(_serve(settings, host, port))


async def _serve(settings: "ConsoleSettings", host: str, port: int) -> None:
    import asyncio
    import signal

    from aiohttp import web

    from penstock.console.app import PATH, routes

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app = web.Application()
    routes(app, settings)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise CommandError(
                f"cannot listen on {host}:{port} ({error.strerror or error}): choose another with --listen"
            ) from None
        bound = runner.addresses[0]
        name = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        print(f"penstock console ready on http://{name}:{bound[1]}{PATH}/", flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


def needs_login(properties: dict[str, str], host: str) -> bool:
    """Whether users log in themselves: with SASL, unless the file has a user and only this machine is served."""
    if not properties.get("security.protocol", "PLAINTEXT").upper().startswith("SASL"):
        return False
    has_user = any(
        properties.get(name) for name in ("sasl.username", "sasl.jaas.config", "sasl.oauthbearer.token")
    )
    return not has_user or host not in ("127.0.0.1", "::1", "localhost")


def _properties(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    from penstock.config import java_properties
    from penstock.config.property import ConfigError

    try:
        with open(path, encoding="utf-8") as file:
            return java_properties.parse(file.read())
    except ConfigError as error:
        raise CommandError(f"cannot read {path}: {error}", EXIT_USAGE) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandError(f"cannot read {path}: {reason}", EXIT_USAGE) from None
