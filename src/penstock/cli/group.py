"""`penstock group …`: list, describe, reset and delete groups of consumers, and show how far behind they are."""

from typing import Any, Literal, NamedTuple

import msgspec
import typer

from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    BootstrapServer,
    ClientSetting,
    admin_client,
    metadata_of,
    result_of,
)
from penstock.cli.group_facts import (
    find_group,
    lags,
    listed_groups,
    refuse_live_members,
)
from penstock.cli.group_reset import reset
from penstock.cli.group_values import Group, Lag, Place
from penstock.cli.output import AsJson, print_json, print_table
from penstock.cli.share_groups import SHARE, ShareGroupAdmin

app = typer.Typer(
    help="List, describe, reset and delete consumer and share groups; show lag.", no_args_is_help=True
)
app.command()(reset)

State = Literal["stable", "rebalancing", "empty"]
Type = Literal["classic", "consumer", "share"]


@app.command("list")
def list_(
    *,
    state: State | None = typer.Option(None, help="Only groups in this state."),
    type_: Type | None = typer.Option(None, "--type", help="Only groups of this protocol."),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """List the consumer and share groups."""
    admin = admin_client(server, client)
    metadata_of(admin)  # first of all: it tells whether a broker answers
    columns = ("group", "type", "state")
    found = listed_groups(admin, ShareGroupAdmin(server, client), state, type_)
    if as_json:
        print_json([dict(zip(columns, each, strict=True)) for each in found])
    elif found:
        print_table(columns, found)
    else:
        print(
            "no such groups"
            if state or type_
            else "no groups; `penstock consume TOPIC --group NAME` makes one"
        )


@app.command()
def describe(
    *,
    names: list[str] = typer.Argument(metavar="NAME...", help="The groups."),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Show the state of groups, their members and what each reads, and their committed offsets.

    Of a share group it is the offset it starts at, and how many records behind that are not done with.
    """
    admin = admin_client(server, client)
    metadata_of(admin)
    shares = ShareGroupAdmin(server, client)
    groups = [find_group(admin, shares, name) for name in names]
    described = [(group, lags(admin, shares, group)) for group in groups]
    if as_json:
        print_json([_as_json(group, offsets) for group, offsets in described])
        return
    for group, offsets in described:
        _show(group, offsets)


def _as_json(group: Group, offsets: list[Lag]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(group)
    for member, shown in zip(group.members, found["members"], strict=True):
        shown["partitions"] = _by_topic(member.partitions)
    return {**found, "offsets": offsets}


def _by_topic(places: list[Place]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in places:
        topics.setdefault(topic, []).append(partition)
    return topics


def _show(group: Group, offsets: list[Lag]) -> None:
    assignor = f", assignor {group.assignor}" if group.assignor else ""
    print(
        f"group {group.group}, {group.type}, {group.state}{assignor}, coordinator {group.coordinator}, "
        f"{len(group.members)} member(s)"
    )
    if group.members:
        print_table(
            ("member", "client", "host", "instance", "partitions"),
            [
                (
                    each.member_id,
                    each.client_id,
                    each.host,
                    each.instance_id,
                    " ".join(f"{topic}-{partition}" for topic, partition in each.partitions),
                )
                for each in group.members
            ],
        )
    if offsets:
        columns = [_START if group.type == SHARE and each == _COMMITTED else each for each in _LAG_COLUMNS]
        print_table(columns, [_lag_row(each) for each in offsets])


_COMMITTED, _START = "committed", "start"
_LAG_COLUMNS = ("topic", "partition", _COMMITTED, "end", "lag", "client", "member")


def _lag_row(lag: Lag) -> list[object]:
    """An unknown number is a dash, so that columns can be counted."""
    row = (lag.topic, lag.partition, lag.committed, lag.end, lag.lag, lag.client_id, lag.member_id)
    return ["-" if cell is None else cell for cell in row]


@app.command()
def lag(
    *,
    names: list[str] = typer.Argument(None, metavar="NAME...", show_default="all", help="The groups."),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Show how many records are between what groups committed and the end of each partition."""
    admin = admin_client(server, client)
    metadata_of(admin)
    shares = ShareGroupAdmin(server, client)
    wanted = names or [name for name, _, _ in listed_groups(admin, shares)]
    found = [(name, lags(admin, shares, find_group(admin, shares, name))) for name in wanted]
    if as_json:
        print_json([_lag_json(name, each) for name, each in found])
        return
    rows = [[name, *_lag_row(each)] for name, offsets in found for each in offsets]
    if not rows:
        print("nothing is committed" if found else "no groups")
        return
    print_table(("group", *_LAG_COLUMNS), rows)
    for name, offsets in found:
        print(_summary(name, _total(offsets)))


class _Total(NamedTuple):
    """The lag of a group as a whole is unknown (None) while that of any partition is."""

    lag: int | None
    known: int
    unknown_partitions: int


def _total(offsets: list[Lag]) -> _Total:
    known = [each.lag for each in offsets if each.lag is not None]
    unknown = len(offsets) - len(known)
    return _Total(None if unknown else sum(known), sum(known), unknown)


def _lag_json(name: str, offsets: list[Lag]) -> dict[str, Any]:
    total = _total(offsets)
    return {
        "group": name,
        "lag": total.lag,
        "knownLag": total.known,
        "unknownPartitions": total.unknown_partitions,
        "partitions": offsets,
    }


def _summary(name: str, total: _Total) -> str:
    if total.lag is not None:
        return f"{name} is {total.lag} record(s) behind"
    return (
        f"{name} is at least {total.known} record(s) behind; "
        f"the lag of {total.unknown_partitions} partition(s) is unknown"
    )


@app.command()
def delete(
    *,
    names: list[str] = typer.Argument(metavar="NAME...", help="The groups."),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Delete groups with their offsets. A group with live members is left alone."""
    admin = admin_client(server, client)
    metadata_of(admin)
    shares = ShareGroupAdmin(server, client)
    for group in [find_group(admin, shares, name) for name in dict.fromkeys(names)]:
        refuse_live_members(group, "delete")
    for name in dict.fromkeys(names):
        request = admin.delete_consumer_groups([name], request_timeout=REQUEST_TIMEOUT_SECONDS)
        result_of(request[name], f"cannot delete group {name}")
        print(f"deleted group {name}")
