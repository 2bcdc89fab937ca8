"""`penstock mirror …`: copy topics of another cluster with the same offsets, and promote the copies."""

import typer

from penstock.cli.connect.target import ADDRESS_DEFAULT, Target, connects
from penstock.cli.errors import CommandError, UsageError
from penstock.cli.mirror.reverse import reverse_mirror
from penstock.cli.mirror.source_config import source_properties
from penstock.cli.mirror.state import MirrorClient
from penstock.cli.output import AsJson, print_json, print_result, print_table
from penstock.client.mirrors import CLIENT, FACTOR, SERVERS, STATE, THROTTLE, TOPICS, MirrorReport

app = typer.Typer(
    help="Copy topics of another cluster with the same offsets, and take over from it.", no_args_is_help=True
)

_CHECK_S = 60.0

Name: str = typer.Argument(metavar="NAME", help="Name of the mirror.")
Names: list[str] = typer.Argument(None, metavar="NAME", show_default="all", help="Names of mirrors.")
From: str = typer.Option(
    ..., "--from", metavar="HOST:PORT", help="Brokers of the source, separated by commas."
)
SourceConfig: str = typer.Option(
    None,
    "--command-config",
    metavar="FILE",
    help="Client properties (TLS, SASL) by which the source is reached.",
)
Throttle: int = typer.Option(
    0, "--throttle", metavar="BYTES", min=0, help="Limit of bytes per second of each broker; 0: none."
)
# Not `connects`, whose --command-config is about this cluster.
Server: str = typer.Option(
    ADDRESS_DEFAULT, "--bootstrap-server", "-b", metavar="HOST:PORT", help="Brokers of this cluster."
)
Settings: list[str] = typer.Option(
    [], "-X", metavar="KEY=VALUE|FILE", help="Set a client property for this cluster (repeatable)."
)


@app.command()
def create(
    *,
    name: str = Name,
    source: str = From,
    topics: str = typer.Option(
        ..., "--topics", metavar="PATTERN", help="Regular expressions of topic names, separated by commas."
    ),
    command_config: str = SourceConfig,
    throttle: int = Throttle,
    replication_factor: int = typer.Option(
        -1,
        "--replication-factor",
        metavar="COUNT",
        show_default="the brokers' default",
        help="Replicas here.",
    ),
    server: str = Server,
    settings: list[str] = Settings,
) -> None:
    """Copy topics of another cluster. They have the same offsets here, and are read-only until they are promoted.

    Settings, new partitions, ACLs and committed offsets of groups follow. Nothing is created if a topic exists here.

    For example:

      penstock mirror create kafka --from 10.0.0.5:9092 --topics 'orders.*,payments'
      penstock mirror describe kafka
    """
    if replication_factor == 0 or replication_factor < -1:
        raise UsageError("--replication-factor must be at least 1")
    values = {SERVERS: source, TOPICS: topics, THROTTLE: str(throttle), FACTOR: str(replication_factor)}
    properties = source_properties(command_config, source)
    if properties:
        values[CLIENT] = properties
    with Target(server, settings).requests() as client:
        mirrors = MirrorClient(client)
        if name in mirrors.names():
            raise CommandError(f"there is a mirror {name} already: see `penstock mirror describe {name}`")
        mirrors.change(name, values, f"cannot create mirror {name}")
        started = mirrors.wait(name, _CHECK_S, f"mirror {name} has not started", _checked)
        if started.state == "checking":  # nothing was copied: leave nothing behind
            mirrors.change(name, {STATE: "deleted"}, f"cannot delete mirror {name}")
            raise CommandError(f"mirror {name} is not created: {'; '.join(started.failures[:3])}")
    print(f"mirror {name} copies from cluster {started.source_cluster}")


def _checked(report: MirrorReport) -> MirrorReport | None:
    is_decided = report.state != "checking" or (report.is_followed and report.failures)
    return report if is_decided else None


@app.command("list")
@connects
def list_(target: Target, *, as_json: bool = AsJson) -> None:
    """List mirrors with their state and lag."""
    with target.requests() as client:
        mirrors = MirrorClient(client)
        found = [mirrors.report(name) for name in mirrors.names()]
    print_result(
        [_summary(each) for each in found],
        ("mirror", "state", "source", "topics", "partitions", "lag", "failures"),
        [
            (
                each.name,
                each.state,
                each.servers,
                len({part.topic for part in each.partitions}),
                len(each.partitions),
                each.lag,
                len(each.failures),
            )
            for each in found
        ],
        as_json=as_json,
        empty="no mirrors",
    )


def _summary(report: MirrorReport) -> dict[str, object]:
    return {
        "name": report.name,
        "state": report.state,
        "servers": report.servers,
        "topics": report.topics,
        "sourceCluster": report.source_cluster,
        "throttle": report.throttle,
        "lag": report.lag,
        "copiedBytes": report.copied_bytes,
        "failures": report.failures,
    }


@app.command()
@connects
def describe(target: Target, *, name: str = Name, as_json: bool = AsJson) -> None:
    """Show the partitions of a mirror with their lag, and what cannot be copied."""
    with target.requests() as client:
        report = MirrorClient(client).report(name)
    if as_json:
        partitions = [
            {
                "topic": each.topic,
                "partition": each.partition,
                "leader": each.leader,
                "endOffset": each.end_offset,
                "sourceOffset": None if each.source_offset < 0 else each.source_offset,
                "lag": each.lag,
                "trouble": each.trouble or None,
            }
            for each in report.partitions
        ]
        print_json({**_summary(report), "partitions": partitions, "outcome": report.outcome})
        return
    print(
        f"mirror {name} is {report.state}, from {report.servers} (cluster {report.source_cluster or 'unknown'})"
    )
    rows = [
        (
            each.topic,
            each.partition,
            each.leader,
            each.end_offset,
            None if each.source_offset < 0 else each.source_offset,
            each.lag,
        )
        for each in report.partitions
    ]
    if rows:
        print_table(("topic", "partition", "leader", "end", "source", "lag"), rows)
    _print_outcome(report)
    for failure in report.failures:
        print(failure)


def _print_outcome(report: MirrorReport) -> None:
    for each in report.outcome:
        left = f", left behind {each.left_behind} offset(s) of the source" if each.left_behind else ""
        print(f"{each.topic}-{each.partition} was promoted at offset {each.end_offset}{left}")


@app.command()
@connects
def pause(target: Target, *, name: str = Name) -> None:
    """Stop copying. The topics stay read-only; `resume` continues where it stopped."""
    _set_state(target, name, "paused", "pause")
    print(f"mirror {name} is paused")


@app.command()
@connects
def resume(target: Target, *, name: str = Name) -> None:
    """Continue copying, after a pause or instead of a promotion that waits."""
    _set_state(target, name, "running", "resume")
    print(f"mirror {name} copies again")


def _set_state(target: Target, name: str, state: str, verb: str) -> None:
    with target.requests() as client:
        MirrorClient(client).change(name, {STATE: state}, f"cannot {verb} mirror {name}")


@app.command()
def alter(
    *,
    name: str = Name,
    source: str = typer.Option(None, "--from", metavar="HOST:PORT", help="Other brokers of the same source."),
    topics: str = typer.Option(None, "--topics", metavar="PATTERN", help="Other topics; copied ones stay."),
    command_config: str = SourceConfig,
    throttle: int = typer.Option(
        None, "--throttle", metavar="BYTES", min=0, help="Limit of bytes per second of each broker; 0: none."
    ),
    server: str = Server,
    settings: list[str] = Settings,
) -> None:
    """Change the source's address, the topics, the credentials or the throttle of a mirror."""
    values = {
        key: value
        for key, value in (
            (SERVERS, source),
            (TOPICS, topics),
            (THROTTLE, None if throttle is None else str(throttle)),
            (CLIENT, source_properties(command_config, source or "localhost:9092") or None),
        )
        if value is not None
    }
    if not values:
        raise UsageError("say what to change: --from, --topics, --command-config or --throttle")
    with Target(server, settings).requests() as client:
        mirrors = MirrorClient(client)
        mirrors.report(name)  # a mirror that does not exist would be created
        mirrors.change(name, values, f"cannot change mirror {name}")
    print(f"mirror {name} is changed")


@app.command()
@connects
def promote(
    target: Target,
    *,
    name: str = Name,
    force: bool = typer.Option(
        False, "--force", help="Do not wait for the source: drop open transactions and promote what is here."
    ),
    timeout: float = typer.Option(
        600.0,
        "--timeout",
        metavar="SECONDS",
        min=0,
        help="Stop waiting after this time. The promotion continues.",
    ),
) -> None:
    """Make the topics of a mirror ordinary topics, which can be written.

    Waits until all partitions have what the source had at the beginning, and no transaction is open. Stop the producers
    at the source first: what they write later is left behind. With --force the source need not be reachable.
    """
    with target.requests() as client:
        mirrors = MirrorClient(client)
        state = "forcing" if force else "promoting"
        mirrors.change(name, {STATE: state}, f"cannot promote mirror {name}")
        if not force:
            print("waiting until all partitions are level with the source", flush=True)
        report = mirrors.wait(
            name,
            timeout,
            f"mirror {name} is not promoted",
            lambda each: each if each.state == "promoted" else None,
        )
    _print_outcome(report)
    print(f"mirror {name} is promoted")


@app.command()
@connects
def delete(target: Target, *, name: str = Name) -> None:
    """Delete a mirror after its promotion. Its topics stay."""
    _set_state(target, name, "deleted", "delete")
    print(f"mirror {name} is deleted")


@app.command()
def reverse(
    *,
    name: str = Name,
    source_config: str = typer.Option(
        None, "--source-config", metavar="FILE", help="Client properties to reach the old source from here."
    ),
    command_config: str = typer.Option(
        None,
        "--command-config",
        metavar="FILE",
        help="Client properties by which the old source reaches this cluster.",
    ),
    discard: bool = typer.Option(
        False, "--discard", help="Delete the records of the old source that were left behind."
    ),
    server: str = Server,
    settings: list[str] = Settings,
) -> None:
    """Make the old source a mirror of this cluster, after a promotion. The old source has to be a Penstock cluster."""
    print(reverse_mirror(Target(server, settings), name, source_config, command_config, discards=discard))
