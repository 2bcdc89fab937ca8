"""`penstock cluster …`: show brokers and partitions, drain and remove brokers, rebalance, upgrade."""

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial

import msgspec
import typer

from penstock.cli.cluster.features import raise_features, read_features
from penstock.cli.cluster.kafka_directory import inspect_directory, show_inspection
from penstock.cli.cluster.moves import elect_preferred, request_moves, watch_moves, without_preferred_leader
from penstock.cli.cluster.plan import CannotPlan, Move, plan_drain, plan_spread
from penstock.cli.cluster.state import (
    NO_LEADER,
    BrokerState,
    ClusterState,
    PartitionState,
    QuorumNode,
    QuorumState,
    describe_brokers,
    read_cluster,
    read_quorum,
    read_reports,
)
from penstock.cli.connect.requests import RequestClient
from penstock.cli.connect.target import Target, connects
from penstock.cli.errors import CommandError
from penstock.cli.output import AsJson, join_values, print_json, print_table
from penstock.cli.up.options import DATA_DEFAULT
from penstock.cli.up.token import create_token, stored_token
from penstock.client.disks import Disk
from penstock.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from penstock.protocol.messages.unregister_broker import UnregisterBrokerRequest

app = typer.Typer(
    help="Show, drain and remove brokers, spread replicas, elect leaders, and upgrade the cluster.",
    no_args_is_help=True,
)

_ROUNDS_MAX = 5  # topics may be created on a broker while it is drained

BrokerId: int = typer.Argument(metavar="BROKER", min=0, help="Node id of the broker.")
DryRun: bool = typer.Option(False, "--dry-run", help="Show the plan and change nothing.")
Timeout: float = typer.Option(
    3600.0,
    "--timeout",
    metavar="SECONDS",
    min=0,
    show_default="3600",
    help="Stop waiting after this time. The moves continue.",
)
# Once `rebalance --replicas`, then `elect-leaders --replicas`; still accepted by both.
HiddenReplicas: bool = typer.Option(False, "--replicas", hidden=True)
HiddenTimeout: float = typer.Option(3600.0, "--timeout", min=0, hidden=True)


@app.command()
@connects
def status(target: Target, *, as_json: bool = AsJson) -> None:
    """Show brokers, disks, damaged records, the metadata quorum, and offline and under-replicated partitions."""
    with target.requests() as client:
        cluster, quorum = read_cluster(client), read_quorum(client)
        reports = read_reports(client, [each for each in cluster.brokers if not each.is_fenced])
    brokers = describe_brokers(cluster.brokers, quorum, reports.products)
    cluster = msgspec.structs.replace(cluster, brokers=brokers)
    disks, damage = reports.disks, reports.damage
    if as_json:
        print_json(
            {
                "clusterId": cluster.cluster_id,
                "brokers": cluster.brokers,
                "disks": disks,
                "damage": damage,
                "quorum": quorum,
                "partitions": len(cluster.partitions),
                "unhealthy": cluster.unhealthy,
            }
        )
        return
    print(f"cluster {cluster.cluster_id}")
    print_table(
        (
            "broker",
            "product",
            "roles",
            "address",
            "rack",
            "state",
            "leaders",
            "replicas",
            "under-replicated",
            "disk",
        ),
        _broker_rows(cluster, disks),
    )
    for trouble in (*(each.trouble for each in disks), *(each.trouble for each in damage)):
        if trouble is not None:
            print(trouble)
    _show_quorum(quorum, {each.id for each in cluster.brokers})
    _show_partitions(cluster)


def _broker_rows(cluster: ClusterState, disks: Sequence[Disk]) -> list[tuple[object, ...]]:
    """A broker that is removed but still has replicas gets a row too."""
    disk_of = {each.broker: each for each in disks}
    leaders = Counter(each.leader for each in cluster.partitions)
    replicas = Counter(broker for each in cluster.partitions for broker in each.replicas)
    behind = Counter(
        broker for each in cluster.partitions for broker in each.replicas if broker not in each.in_sync
    )
    known = {each.id for each in cluster.brokers}
    gone = [BrokerState(id=each, address="-") for each in sorted(replicas.keys() - known)]
    return [
        (
            each.id,
            each.product,
            "broker, controller" if each.is_voter else "broker",
            each.address,
            each.rack or None,
            "unregistered" if each.id not in known else "fenced" if each.is_fenced else "running",
            leaders[each.id],
            replicas[each.id],
            behind[each.id],
            disk_of[each.id].figures if each.id in disk_of else None,
        )
        for each in [*cluster.brokers, *gone]
    ]


def _show_quorum(quorum: QuorumState, broker_ids: Collection[int]) -> None:
    def role(node: QuorumNode) -> str:
        role = "leader" if node.node == quorum.leader else "voter" if node.is_voter else "observer"
        return role if node.node in broker_ids else f"{role} (controller only)"

    print(f"metadata quorum: leader {quorum.leader}, epoch {quorum.epoch}, committed {quorum.high_watermark}")
    rows = [(each.node, role(each), each.end_offset, each.lag) for each in quorum.nodes]
    print_table(("node", "role", "end", "lag"), rows)


def _show_partitions(cluster: ClusterState) -> None:
    if moving := sum(1 for each in cluster.partitions if each.is_moving):
        print(f"{moving} partition(s) are being reassigned")
    if not cluster.unhealthy:
        print(f"all {len(cluster.partitions)} partition(s) have a leader and every replica in sync")
        return
    print(f"{len(cluster.unhealthy)} of {len(cluster.partitions)} partition(s) lack a leader or a replica")
    rows = [
        (
            each.topic,
            each.partition,
            "none" if each.leader == NO_LEADER else each.leader,
            join_values(each.replicas),
            join_values(each.in_sync),
        )
        for each in cluster.unhealthy
    ]
    print_table(("topic", "partition", "leader", "replicas", "in sync"), rows)


@app.command()
@connects
def drain(
    target: Target, *, broker: int = BrokerId, dry_run: bool = DryRun, timeout: float = Timeout
) -> None:
    """Move all replicas off a broker without interrupting clients. The broker stays up with no replicas."""
    with target.requests() as client:
        for _ in range(_ROUNDS_MAX):
            cluster = read_cluster(client)
            held = [each for each in cluster.partitions if broker in each.replicas]
            if not held and cluster.broker(broker) is None:
                raise client.unknown_broker(broker)
            if not held:
                print(f"broker {broker} holds no replicas")
                return
            try:
                moves = plan_drain(cluster.brokers, cluster.partitions, broker)
            except CannotPlan as error:
                raise CommandError(f"cannot drain broker {broker}: {error}") from None
            if dry_run:
                _show_plan(moves)
                return
            if moves:
                request_moves(client, moves)
            watch_moves(partial(read_cluster, client), moves or _requested_before(held, broker), timeout)
    raise CommandError(f"broker {broker} gets new partitions as fast as they are moved: run this again")


def _requested_before(partitions: Sequence[PartitionState], broker: int) -> list[Move]:
    """List the moves away from a broker that an earlier command has requested."""
    return [
        Move(topic=each.topic, partition=each.partition, before=each.replicas, after=each.staying)
        for each in partitions
        if broker in each.removing
    ]


def _show_plan(moves: Sequence[Move]) -> None:
    if not moves:
        print("nothing to move")
        return
    rows = [(each.topic, each.partition, join_values(each.before), join_values(each.after)) for each in moves]
    print_table(("topic", "partition", "replicas", "after"), rows)


@app.command()
def token(
    *,
    data: str = typer.Option(DATA_DEFAULT, metavar="DIR", help="Data directory of a member on this host."),
    create: bool = typer.Option(
        False,
        "--create",
        help="Create a token for a cluster of an earlier version, which has none. Stop its nodes first.",
    ),
) -> None:
    """Print the token that a new broker needs to join. Keep it secret: it lets its holder act as a broker.

    For example:

      penstock cluster token --data /var/lib/penstock > token
      penstock up --join 10.0.0.5:9092 --token-file token
    """
    found = stored_token(data)
    if found is None and create:
        found = create_token(data)
    if found is None:
        raise CommandError(
            f"{data} has no token: name a member's data directory with --data DIR. For a cluster of an earlier version "
            "stop its nodes and add --create"
        )
    print(found.hex())


@app.command()
@connects
def remove(
    target: Target,
    *,
    broker: int = BrokerId,
    force: bool = typer.Option(False, "--force", help="Remove it even if it holds replicas."),
) -> None:
    """Remove a broker from the cluster: its vote and its registration. A running broker shuts down."""
    with target.requests() as client:
        cluster, quorum = read_cluster(client), read_quorum(client)
        registered = cluster.broker(broker)
        voter = quorum.voter(broker)
        if registered is None and voter is None:
            raise client.unknown_broker(broker)
        held = sum(1 for each in cluster.partitions if broker in each.replicas)
        if held and not force:
            raise CommandError(
                f"broker {broker} holds {held} replica(s): move them with `penstock cluster drain {broker}` first, "
                "or give them up with --force"
            )
        if voter is not None:
            if sum(1 for each in quorum.nodes if each.is_voter) == 1:
                raise CommandError(
                    f"broker {broker} is the only voter of the cluster and cannot be removed: add another one first"
                )
            # First: of two voters that run neither is a majority without the other.
            _remove_voter(client, cluster.cluster_id, voter)
            print(f"broker {broker} is no longer a voter")
        if registered is not None:
            client.ask(UnregisterBrokerRequest(broker_id=broker))
            print(f"broker {broker} is removed")


def _remove_voter(client: RequestClient, cluster_id: str, voter: QuorumNode) -> None:
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter.node, voter_directory_id=bytes.fromhex(voter.directory_id)
    )
    try:
        client.ask(request)
    except CommandError:
        # A leader that is removed may stop before it responds; the next leader does not know the voter.
        if read_quorum(client).voter(voter.node) is not None:
            raise


@app.command()
@connects
def rebalance(
    target: Target, *, dry_run: bool = DryRun, timeout: float = Timeout, _replicas: bool = HiddenReplicas
) -> None:
    """Spread replicas and preferred leaders evenly over the running brokers, then elect the preferred leaders.

    For example, after a broker was added:

      penstock cluster rebalance --dry-run
      penstock cluster rebalance
    """
    _rebalance(target, timeout, dry_run=dry_run)


def _rebalance(target: Target, timeout: float, *, dry_run: bool) -> None:
    with target.requests() as client:
        cluster = read_cluster(client)
        moves = plan_spread(cluster.brokers, cluster.partitions)
        if dry_run:
            _show_plan(moves)
            _show_elections(without_preferred_leader(cluster.partitions))
            return
        if moves:
            request_moves(client, moves)
            watch_moves(partial(read_cluster, client), moves, timeout)
        else:
            print("replicas are spread evenly already")
        _elect(client)


@app.command("elect-leaders")
@connects
def elect_leaders(
    target: Target,
    *,
    dry_run: bool = DryRun,
    replicas: bool = HiddenReplicas,
    timeout: float = HiddenTimeout,
) -> None:
    """Elect the preferred leader of every partition (Kafka's kafka-leader-election)."""
    if replicas:
        print("penstock: elect-leaders --replicas is deprecated, use rebalance", file=sys.stderr)
        _rebalance(target, timeout, dry_run=dry_run)
        return
    with target.requests() as client:
        if dry_run:
            _show_elections(without_preferred_leader(read_cluster(client).partitions))
        else:
            _elect(client)


def _elect(client: RequestClient) -> None:
    count = elect_preferred(client, without_preferred_leader(read_cluster(client).partitions))
    print(f"elected the preferred leader of {count} partition(s)")


def _show_elections(partitions: Sequence[PartitionState]) -> None:
    if not partitions:
        print("every preferred leader that is in sync leads already")
        return
    rows = [(each.topic, each.partition, each.leader, each.replicas[0]) for each in partitions]
    print_table(("topic", "partition", "leader", "after"), rows)


@app.command("check-kafka")
def check_kafka(
    directory: str = typer.Argument(metavar="DIR", help="Data directory of a Kafka node (log.dirs)."),
    *,
    as_json: bool = AsJson,
) -> None:
    """Check whether Penstock can take over the data directory of an Apache Kafka node. Changes nothing.

    Exits with 1 if not. For example:

      penstock cluster check-kafka /var/lib/kafka/data
    """
    found = inspect_directory(directory)
    if as_json:
        print_json(found)
    else:
        show_inspection(directory, found)
    if found.refusals:
        raise typer.Exit(1)


@app.command()
@connects
def upgrade(target: Target, *, dry_run: bool = DryRun) -> None:
    """Finalize feature versions after all brokers run the new release.

    Afterwards brokers of the old release may refuse to start.
    """
    with target.requests() as client:
        behind = [each for each in read_features(client) if each.level < each.highest]
        if not behind:
            print("the cluster has all features of its brokers")
            return
        if not dry_run:
            raise_features(client, behind)
    print_table(("feature", "level", "after"), [(each.name, each.level, each.highest) for each in behind])
