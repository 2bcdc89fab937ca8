"""`penstock up`: one broker in the foreground, until a signal."""

import typer

from penstock.cli.serve import DATA_DEFAULT, LISTEN_DEFAULT, UpOptions, serve
from penstock.observability.logs import LogFormat, LogLevel


def up(
    *,
    listen: str | None = typer.Option(
        None,
        metavar="HOST:PORT",
        show_default=LISTEN_DEFAULT,
        help="Where clients connect; port 0 takes a free one. NAME://HOST:PORT,… names several listeners.",
    ),
    data: str | None = typer.Option(
        None,
        metavar="DIR",
        show_default=DATA_DEFAULT,
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
    join: list[str] = typer.Option(
        [],
        metavar="HOST:PORT",
        help="A member of a running cluster, for a node that is new to it. May be given again. A node that returns "
        "needs no flag.",
    ),
    token: str | None = typer.Option(
        None,
        metavar="TOKEN",
        help="The token of the cluster to join, of `penstock cluster token`. Others on this host may see it: prefer "
        "--token-file, or PENSTOCK_TOKEN. A member of the same user on this host makes it needless.",
    ),
    token_file: str | None = typer.Option(None, metavar="FILE", help="A file with that token."),
    add_scram: list[str] = typer.Option(
        [],
        metavar="MECHANISM=[name=…,password=…]",
        help="A user of a new cluster, for SCRAM-SHA-256 or SCRAM-SHA-512; without effect on one that exists.",
    ),
    brokers: int | None = typer.Option(
        None,
        min=1,
        metavar="N",
        help="Run so many brokers on this host as one cluster, on ports that follow each other.",
    ),
) -> None:
    """Run a broker until Ctrl-C or SIGTERM.

    One line on standard output says `ready` when it serves, and one where the console, metrics and HTTP gateways are
    (penstock.admin.listener). A signal that follows after more than a second stops it without waiting.

    For example:

      penstock up
      penstock up --listen 0.0.0.0:9092 --data /var/lib/penstock --node-id 3
      penstock up --node-id 2 --listen 127.0.0.1:9093 --data ./data-2 --join 127.0.0.1:9092
      penstock up --brokers 3
      penstock up --config server.properties --set num.partitions=3
    """
    serve(
        UpOptions(
            listen=listen,
            data=data,
            node_id=node_id,
            config=config,
            settings=tuple(set_),
            join=tuple(join),
            token=token,
            token_file=token_file,
            add_scram=tuple(add_scram),
            brokers=brokers,
            log_level=log_level,
            log_format=log_format,
        )
    )
