"""`penstock up`: run one broker in the foreground, until a signal."""

import inspect
from typing import Any, get_origin

import msgspec
import typer

from penstock.cli.up.options import UpOptions, declared_options
from penstock.cli.up.serve import serve


def up(**given: Any) -> None:
    r"""Run a broker until Ctrl-C or SIGTERM.

    Prints a `ready` line once it accepts connections, and the address of the console, metrics and HTTP gateways
    (penstock.admin.listener). A second signal, more than a second later, stops it immediately.

    For example:

      penstock up
      penstock up --listen 0.0.0.0:9092 --data /var/lib/penstock --node-id 3
      penstock up --node-id 2 --listen 127.0.0.1:9093 --data ./data-2 \
        --join 127.0.0.1:9092
      penstock up --brokers 3
      penstock up --config server.properties --set num.partitions=3
    """
    serve(msgspec.convert(given, UpOptions))


def _parameters() -> list[inspect.Parameter]:
    """Declare the options to typer, which reads them from the signature."""
    found = []
    for name, flag, kind, default, option in declared_options():
        is_repeatable = get_origin(kind) is tuple
        declared = typer.Option(
            [] if is_repeatable else default,
            flag,
            metavar=option.metavar,
            show_default=option.show_default or True,
            min=option.minimum,
            help=option.help,
        )
        annotation = list[str] if is_repeatable else kind
        found.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=declared, annotation=annotation)
        )
    return found


up.__signature__ = inspect.Signature(_parameters())  # type: ignore[attr-defined]
