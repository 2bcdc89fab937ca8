"""`penstock cluster …`: see how brokers and partitions stand, empty and remove brokers, even out what they carry,
switch on what a newer version can do.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import typer

from penstock.cli.cluster_facts import (
    NO_LEADER,
    BrokerFacts,
    ClusterFacts,
    Operator,
    Placed,
    QuorumFacts,
    QuorumNode,
)
from penstock.cli.cluster_features import raise_features, read_features
from penstock.cli.cluster_moves import elect_preferred, misled, request_moves, watch_moves
from penstock.cli.cluster_plan import CannotPlan, Move, plan_drain, plan_spread
from penstock.cli.cluster_token import create_token, stored_token
from penstock.cli.connection import BootstrapServer, ClientSetting
from penstock.cli.errors import CommandError
from penstock.cli.output import AsJson, list_of, print_json, print_table
from penstock.cli.serve import DATA_DEFAULT
from penstock.client.disks import Disk
from penstock.protocol.messages import remove_raft_voter, unregister_broker

app = typer.Typer(
    help="See, drain, remove and rebalance the brokers of a cluster, and upgrade it.", no_args_is_help=True
)

_ROUNDS_MAX = 5  # topics may be made on a broker while it is being emptied

BrokerId: int = typer.Argument(metavar="N", min=0, help="The broker's number.")
DryRun: bool = typer.Option(False, "--dry-run", help="Show what would be done, and do nothing.")
Timeout: float = typer.Option(
    3600.0, "--timeout", metavar="SECONDS", min=0, help="How long to watch. The moves go on by themselves."
)


@contextlib.contextmanager
def _operator(server: str, client: Iterable[str]) -> Iterator[Operator]:
    operator = Operator(server, client)
    try:
        yield operator
    finally:
        operator.close()


# --- status ---------------------------------------------------------------------------------------------------


@app.command()
def status(
    *, as_json: bool = AsJson, server: str = BootstrapServer, client: list[str] = ClientSetting
) -> None:
    """Show the brokers, their disks and damaged records, the metadata quorum, and the partitions that lack a leader or
    a replica.
    """
    with _operator(server, client) as operator:
        facts, quorum = operator.facts(), operator.quorum()
        disks, damage = operator.disks(each for each in facts.brokers if not each.is_fenced)
    if as_json:
        print_json(
            {
                "clusterId": facts.cluster_id,
                "brokers": facts.brokers,
                "disks": disks,
                "damage": damage,
                "quorum": quorum,
                "partitions": len(facts.partitions),
                "unhealthy": facts.unhealthy,
            }
        )
        return
    print(f"cluster {facts.cluster_id}")
    print_table(_BROKER_COLUMNS, _broker_rows(facts, disks))
    for each in disks:
        if each.trouble is not None:
            print(each.trouble)
    for replica in damage:
        print(replica.trouble)
    _show_quorum(quorum)
    _show_partitions(facts)


_BROKER_COLUMNS = ("broker", "address", "rack", "state", "leaders", "replicas", "under-replicated", "disk")


def _broker_rows(facts: ClusterFacts, disks: Sequence[Disk]) -> list[tuple[object, ...]]:
    """A broker that is gone for good but still named by partitions has a row too."""
    disk_of = {each.broker: each for each in disks}
    leaders = Counter(each.leader for each in facts.partitions)
    replicas = Counter(broker for each in facts.partitions for broker in each.replicas)
    behind = Counter(
        broker for each in facts.partitions for broker in each.replicas if broker not in each.in_sync
    )
    known = {each.id for each in facts.brokers}
    gone = [BrokerFacts(id=each, address="-") for each in sorted(replicas.keys() - known)]
    return [
        (
            each.id,
            each.address,
            each.rack or "-",
            "unregistered" if each.id not in known else "fenced" if each.is_fenced else "running",
            leaders[each.id],
            replicas[each.id],
            behind[each.id],
            disk_of[each.id].figures if each.id in disk_of else "-",
        )
        for each in [*facts.brokers, *gone]
    ]


def _show_quorum(quorum: QuorumFacts) -> None:
    print(f"metadata quorum: leader {quorum.leader}, epoch {quorum.epoch}, committed {quorum.high_watermark}")
    rows = [
        (
            each.node,
            "leader" if each.node == quorum.leader else "voter" if each.is_voter else "observer",
            each.end_offset,
            each.lag,
        )
        for each in quorum.nodes
    ]
    print_table(("node", "role", "end", "lag"), rows)


def _show_partitions(facts: ClusterFacts) -> None:
    moving = sum(1 for each in facts.partitions if each.is_moving)
    if moving:
        print(f"{moving} partition(s) are on the move")
    if not facts.unhealthy:
        print(f"all {len(facts.partitions)} partition(s) have a leader and every replica in sync")
        return
    print(f"{len(facts.unhealthy)} of {len(facts.partitions)} partition(s) lack a leader or a replica")
    rows = [
        (
            each.topic,
            each.partition,
            "none" if each.leader == NO_LEADER else each.leader,
            list_of(each.replicas),
            list_of(each.in_sync),
        )
        for each in facts.unhealthy
    ]
    print_table(("topic", "partition", "leader", "replicas", "in sync"), rows)


# --- drain ----------------------------------------------------------------------------------------------------


@app.command()
def drain(
    *,
    broker: int = BrokerId,
    dry_run: bool = DryRun,
    timeout: float = Timeout,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Move all that a broker holds to the others, while it is written and read. It goes on running, empty."""
    with _operator(server, client) as operator:
        for _ in range(_ROUNDS_MAX):
            facts = operator.facts()
            _require_known(facts, broker)
            if not any(broker in each.replicas for each in facts.partitions):
                print(f"broker {broker} holds nothing")
                return
            moves = _drain_plan(facts, broker)
            if dry_run:
                _show_plan(moves)
                return
            if moves:
                request_moves(operator, moves)
            watch_moves(operator, moves or _under_way(facts, broker), timeout)
    raise CommandError(f"broker {broker} is given new partitions as fast as it loses them: run this again")


def _drain_plan(facts: ClusterFacts, broker: int) -> list[Move]:
    try:
        return plan_drain(facts.brokers, facts.partitions, broker)
    except CannotPlan as error:
        raise CommandError(f"cannot drain broker {broker}: {error}") from None


def _under_way(facts: ClusterFacts, broker: int) -> list[Move]:
    """What moves away from a broker already, since somebody asked for it before."""
    return [
        Move(topic=each.topic, partition=each.partition, before=each.replicas, after=each.staying)
        for each in facts.partitions
        if broker in each.removing
    ]


def _require_known(facts: ClusterFacts, broker: int) -> None:
    is_named = any(broker in each.replicas for each in facts.partitions)
    if facts.broker(broker) is None and not is_named:
        raise CommandError(f"there is no broker {broker}: there are {list_of([b.id for b in facts.brokers])}")


def _show_plan(moves: Sequence[Move]) -> None:
    if not moves:
        print("nothing to move")
        return
    rows = [(each.topic, each.partition, list_of(each.before), list_of(each.after)) for each in moves]
    print_table(("topic", "partition", "replicas", "after"), rows)


# --- token ----------------------------------------------------------------------------------------------------


@app.command()
def token(
    *,
    data: str = typer.Option(
        DATA_DEFAULT, metavar="DIR", help="The data directory of a member on this host."
    ),
    create: bool = typer.Option(
        False,
        "--create",
        help="Make one for a cluster of an earlier version, which has none. Its nodes are stopped.",
    ),
) -> None:
    """Print the token by which nodes join. Who has it can act as a broker of the cluster: keep it secret.

    For example:

      penstock cluster token --data /var/lib/penstock > token
      penstock up --join 10.0.0.5:9092 --token-file token
    """
    found = stored_token(data)
    if found is None and create:
        found = create_token(data)
    if found is None:
        raise CommandError(
            f"{data} has no token: name a member's data directory with --data DIR. A cluster of an earlier version "
            "gets one with --create while its nodes are stopped"
        )
    print(found.hex())


# --- remove ---------------------------------------------------------------------------------------------------


@app.command()
def remove(
    *,
    broker: int = BrokerId,
    force: bool = typer.Option(False, "--force", help="Also when partitions lose the replicas it holds."),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Make the cluster forget a broker: its vote and its registration. If it runs, it stops."""
    with _operator(server, client) as operator:
        facts, quorum = operator.facts(), operator.quorum()
        registered = facts.broker(broker)
        voter = quorum.voter(broker)
        if registered is None and voter is None:
            raise CommandError(
                f"there is no broker {broker}: there are {list_of([b.id for b in facts.brokers])}"
            )
        held = sum(1 for each in facts.partitions if broker in each.replicas)
        if held and not force:
            raise CommandError(
                f"broker {broker} holds {held} replica(s): move them with `penstock cluster drain {broker}` first, "
                "or give them up with --force"
            )
        if voter is not None:
            if sum(1 for each in quorum.nodes if each.is_voter) == 1:
                raise CommandError(f"broker {broker} is the only voter of the cluster: nothing would be left")
            # First: of two voters that run neither is a majority without the other.
            _take_vote(operator, facts.cluster_id, voter)
            print(f"broker {broker} has no vote any more")
        if registered is not None:
            operator.ask(
                unregister_broker.API_KEY, unregister_broker.UnregisterBrokerRequest(broker_id=broker)
            )
            print(f"broker {broker} is forgotten")


def _take_vote(operator: Operator, cluster_id: str, voter: QuorumNode) -> None:
    request = remove_raft_voter.RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter.node, voter_directory_id=bytes.fromhex(voter.directory_id)
    )
    try:
        operator.ask(remove_raft_voter.API_KEY, request)
    except CommandError:
        # A leader that is removed may be gone before it has answered; who is asked then does not know the voter.
        if operator.quorum().voter(voter.node) is not None:
            raise


# --- rebalance ------------------------------------------------------------------------------------------------


@app.command()
def rebalance(
    *,
    replicas: bool = typer.Option(
        False, "--replicas", help="First move replicas, so that all brokers hold as many."
    ),
    dry_run: bool = DryRun,
    timeout: float = Timeout,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Hand every partition to its preferred leader, the first of its replicas."""
    with _operator(server, client) as operator:
        facts = operator.facts()
        moves = plan_spread(facts.brokers, facts.partitions) if replicas else []
        if dry_run:
            if replicas:
                _show_plan(moves)
            _show_elections(misled(facts.partitions))
            return
        if moves:
            request_moves(operator, moves)
            watch_moves(operator, moves, timeout)
        elif replicas:
            print("replicas are spread evenly already")
        count = elect_preferred(operator, misled(operator.facts().partitions))
        print(f"{count} partition(s) went to their preferred leader")


def _show_elections(partitions: Sequence[Placed]) -> None:
    if not partitions:
        print("every partition that can be is led by its preferred leader")
        return
    rows = [(each.topic, each.partition, each.leader, each.replicas[0]) for each in partitions]
    print_table(("topic", "partition", "leader", "after"), rows)


# --- upgrade --------------------------------------------------------------------------------------------------


@app.command()
def upgrade(
    *, dry_run: bool = DryRun, server: str = BootstrapServer, client: list[str] = ClientSetting
) -> None:
    """Switch on what the brokers' version can do and the cluster, made by an earlier one, does not do yet.

    Do it when every broker runs the new version. Afterwards brokers of the old one may refuse to start.
    """
    with _operator(server, client) as operator:
        behind = [each for each in read_features(operator) if each.level < each.highest]
        if not behind:
            print("the cluster has all that its brokers can do")
            return
        if not dry_run:
            raise_features(operator, behind)
    print_table(("feature", "level", "after"), [(each.name, each.level, each.highest) for each in behind])
