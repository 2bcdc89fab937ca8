"""`penstock group …`: list, describe, reset and delete consumer and share groups, and show their lag."""

from itertools import groupby
from typing import Any, Literal

import msgspec
import typer

from penstock.cli.connect.librdkafka import wait_for
from penstock.cli.connect.target import Target, connects
from penstock.cli.group.describe import GroupAdmin, check_no_members
from penstock.cli.group.reset import reset
from penstock.cli.group.share import SHARE
from penstock.cli.group.values import Group, Lag
from penstock.cli.output import AsJson, print_json, print_result, print_table

app = typer.Typer(
    help="List, describe, reset and delete consumer and share groups; show their lag.", no_args_is_help=True
)
app.command()(reset)

State = Literal["stable", "rebalancing", "empty"]
Type = Literal["classic", "consumer", "share"]

Names: list[str] = typer.Argument(metavar="GROUP", help="Group names.")


@app.command("list")
@connects
def list_(
    target: Target,
    *,
    state: State | None = typer.Option(None, help="List only groups in this state."),
    type_: Type | None = typer.Option(None, "--type", help="List only groups of this protocol."),
    as_json: bool = AsJson,
) -> None:
    """List the consumer and share groups."""
    columns = ("group", "type", "state")
    found = GroupAdmin(target).list_groups(state, type_)
    print_result(
        [dict(zip(columns, each, strict=True)) for each in found],
        columns,
        found,
        as_json=as_json,
        empty="no such groups"
        if state or type_
        else "no groups; `penstock consume TOPIC --group NAME` creates one",
    )


@app.command()
@connects
def describe(target: Target, *, names: list[str] = Names, as_json: bool = AsJson) -> None:
    """Show the state of groups, their members with the partitions of each, and their committed offsets.

    For a share group, show its start offset and the number of records that are not acknowledged after it.
    """
    groups = GroupAdmin(target)
    described = [(group, groups.lags(group)) for group in [groups.describe(name) for name in names]]
    if as_json:
        print_json([_group_json(group, lags) for group, lags in described])
        return
    for group, lags in described:
        _show(group, lags)


def _group_json(group: Group, lags: list[Lag]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(group)
    for member, shown in zip(group.members, found["members"], strict=True):
        by_topic = groupby(member.partitions, key=lambda place: place[0])
        shown["partitions"] = {topic: [number for _, number in places] for topic, places in by_topic}
    return {**found, "offsets": lags}


def _show(group: Group, lags: list[Lag]) -> None:
    assignor = f", assignor {group.assignor}" if group.assignor else ""
    print(
        f"group {group.group}, {group.type}, {group.state}{assignor}, coordinator {group.coordinator}, "
        f"{len(group.members)} member(s)"
    )
    if group.members:
        rows = [
            (
                each.member_id,
                each.client_id,
                each.host,
                each.instance_id,
                " ".join(f"{topic}-{partition}" for topic, partition in each.partitions),
            )
            for each in group.members
        ]
        print_table(("member", "client", "host", "instance", "partitions"), rows)
    if lags:
        print_table(_lag_columns("start" if group.type == SHARE else "committed"), lags)


def _lag_columns(position: str = "committed") -> tuple[str, ...]:
    return ("topic", "partition", position, "end", "lag", "client", "member")


@app.command()
@connects
def lag(
    target: Target,
    *,
    names: list[str] = typer.Argument(None, metavar="GROUP", show_default="all", help="Group names."),
    as_json: bool = AsJson,
) -> None:
    """Show the number of records between the committed offset and the end of each partition."""
    groups = GroupAdmin(target)
    wanted = names or [name for name, _, _ in groups.list_groups()]
    found = [(name, groups.lags(groups.describe(name))) for name in wanted]
    rows = [[name, *msgspec.structs.astuple(each)] for name, lags in found for each in lags]
    print_result(
        [{"group": name, **_total(lags), "partitions": lags} for name, lags in found],
        ("group", *_lag_columns()),
        rows,
        as_json=as_json,
        empty="nothing is committed" if found else "no groups",
    )
    for name, lags in found if rows and not as_json else ():
        print(_summary(name, **_total(lags)))


def _total(lags: list[Lag]) -> dict[str, Any]:
    """Sum up the lag of a group, which is unknown (None) while that of any partition is."""
    known = [each.lag for each in lags if each.lag is not None]
    unknown = len(lags) - len(known)
    return {"lag": None if unknown else sum(known), "knownLag": sum(known), "unknownPartitions": unknown}


def _summary(name: str, lag: int | None, knownLag: int, unknownPartitions: int) -> str:  # noqa: N803  as in JSON
    if lag is not None:
        return f"{name} is {lag} record(s) behind"
    return (
        f"{name} is at least {knownLag} record(s) behind; "
        f"the lag of {unknownPartitions} partition(s) is unknown"
    )


@app.command()
@connects
def delete(target: Target, *, names: list[str] = Names) -> None:
    """Delete groups and their committed offsets. Fails if a group has active members."""
    groups = GroupAdmin(target)
    for group in [groups.describe(name) for name in dict.fromkeys(names)]:
        check_no_members(group, "delete")
    for name in dict.fromkeys(names):
        request = groups.admin.delete_consumer_groups([name])
        wait_for(request[name], f"cannot delete group {name}")
        print(f"deleted group {name}")
