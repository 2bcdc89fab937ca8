"""What came out: tables, topics, dead letters, and a picture of the telemetry."""

import json
import pathlib
import shutil
from collections import Counter
from typing import Any

import deltalake
import pandas as pd
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from rich.console import Console
from rich.table import Table

from examples.iot_telemetry.events import ALARM_CELSIUS

PICTURE = "demo-telemetry.png"  # beside the lake
WINDOWS_OF_A_READING = 3  # a minute long, every 20 seconds

console = Console()


def read_topic(bootstrap_servers: str, topic: str) -> list[Any]:
    """All committed messages of a topic that is not written to any more, as decoded JSON."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "penstock-examples",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": False,
        }
    )
    known = consumer.list_topics(timeout=10).topics
    if topic not in known:
        return []
    left: dict[int, int] = {}
    for number in known[topic].partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)
        if high > low:
            left[number] = high
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
    found: list[Any] = []
    while left:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(json.loads(message.value()))
        for place in consumer.position([TopicPartition(topic, number) for number in left]):
            if place.offset >= left[place.partition]:
                del left[place.partition]
    consumer.close()
    return found


def read_table(path: pathlib.Path) -> pd.DataFrame:
    frame: pd.DataFrame = deltalake.DeltaTable(str(path)).to_pandas()
    return frame


def keep_picture(work: pathlib.Path) -> None:
    """Out of a directory that will be gone, into this one."""
    if (work / PICTURE).exists():
        shutil.copyfile(work / PICTURE, PICTURE)
        print(f"a picture of it: {PICTURE}")


def show(scenario: str, bootstrap_servers: str, lake: pathlib.Path) -> None:
    {
        "order_saga": _order_saga,
        "log_concentrator": _log_concentrator,
        "audit_ledger": _audit_ledger,
        "iot_telemetry": _iot_telemetry,
        "topology_audit": _topology_audit,
    }[scenario](bootstrap_servers, lake)


def _order_saga(at: str, lake: pathlib.Path) -> None:
    outcomes = read_table(lake / "order_outcomes")
    _table("Outcomes of the orders (table order_outcomes)", _totals(outcomes))
    _table("Compensated (topic cancellations)", pd.DataFrame(_payloads(at, "cancellations")).head(5))
    _table("Sent to customers (topic notifications)", pd.DataFrame(_payloads(at, "notifications")).head(5))


def _totals(outcomes: pd.DataFrame) -> pd.DataFrame:
    return (
        outcomes.groupby("outcome").agg(orders=("orderId", "count"), amount=("amount", "sum")).reset_index()
    )


def _payloads(at: str, topic: str) -> list[Any]:
    return [event["payload"] for event in read_topic(at, topic)]


def _log_concentrator(at: str, lake: pathlib.Path) -> None:
    traces = read_table(lake / "error_traces").sort_values(["correlationId", "at"])
    print(
        f"{len(read_topic(at, 'errors'))} errors, {len(traces)} lines that belong to them (table error_traces)"
    )
    first = traces[traces["correlationId"] == traces["correlationId"].iloc[0]]
    _table(f"The trace of {first['correlationId'].iloc[0]}", first[["at", "service", "level", "message"]])


def _audit_ledger(at: str, lake: pathlib.Path) -> None:
    latest = {row["account"]: row for row in read_topic(at, "balances")}
    _table("Balances (topic balances, the last of each account)", pd.DataFrame(list(latest.values())))
    postings = read_table(lake / "postings")
    print(f"{len(postings)} postings add up to {postings['amount'].sum()}")


def _iot_telemetry(at: str, lake: pathlib.Path) -> None:
    averages = read_table(lake / "averages")
    alarms = read_topic(at, "alarms")
    hottest = averages.sort_values("mean", ascending=False).drop_duplicates("sensor").head(5).round(2)
    for edge in ("window_start", "window_end"):
        hottest[edge] = hottest[edge].dt.strftime("%H:%M:%S")
    _table(f"{len(averages):,} averages (table averages); the hottest minute of the five hottest", hottest)
    raised = Counter(alarm["sensor"] for alarm in alarms)
    _table("Alarms (topic alarms)", pd.DataFrame(raised.most_common(), columns=["sensor", "alarms"]))
    plot(averages, alarms, lake.parent / PICTURE)


def plot(averages: pd.DataFrame, alarms: list[Any], path: pathlib.Path) -> None:
    """Rolling averages of each sensor over time, and the readings that raised an alarm."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import, and only needed here

    mpl.use("Agg")
    import matplotlib.dates as mdates  # noqa: PLC0415
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(11, 6), layout="constrained")
    raised = Counter(alarm["sensor"] for alarm in alarms)
    calm_label: str | None = "the other sensors"
    for sensor, rows in averages.sort_values("window_end").groupby("sensor"):
        if sensor in raised:
            label: str | None = f"{sensor}: {raised[sensor]:,} alarms"
            look: dict[str, Any] = {"linewidth": 2.5, "zorder": 3}
        else:
            label, calm_label = calm_label, None
            look = {"linewidth": 0.9, "color": "0.72", "zorder": 1}
        axes.plot(rows["window_end"], rows["mean"], label=label, **look)
    if alarms:
        frame = pd.DataFrame(alarms)
        times = pd.to_datetime(frame["at"], utc=True, format="ISO8601")
        look = {"markersize": 3, "alpha": 0.25, "markeredgewidth": 0, "zorder": 2}
        axes.plot(
            times, frame["celsius"], "o", color="tab:red", label="readings that raised an alarm", **look
        )
    axes.axhline(ALARM_CELSIUS, color="tab:red", linewidth=1, linestyle="--")
    axes.annotate(
        f"alarms above {ALARM_CELSIUS:.0f} °C",
        (0.01, ALARM_CELSIUS),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        color="tab:red",
    )
    readings = averages["readings"].sum() // WINDOWS_OF_A_READING
    axes.set(
        title=f"Average of the last minute, every 20 seconds: {averages['sensor'].nunique()} sensors, "
        f"{readings:,} readings in windows that are finished",
        xlabel=f"event time on {averages['window_end'].max():%Y-%m-%d}, UTC",
        ylabel="°C",
    )
    axes.xaxis.set_major_formatter(mdates.DateFormatter("%H:%M"))
    legend = axes.legend(loc="upper right", frameon=False)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _topology_audit(at: str, lake: pathlib.Path) -> None:
    table = read_table(lake / "topology")
    _table("Who leads what (table topology)", table[["topic", "partition", "leader", "missing"]].head(12))
    print(f"{len(read_topic(at, 'topology.warnings'))} partitions lack replicas")
    apis = read_table(lake / "api_versions").sort_values(["broker", "api"])
    _table(
        "API versions of each broker (table api_versions)", apis[["broker", "api", "first", "last"]].head(12)
    )


def _table(title: str, frame: pd.DataFrame) -> None:
    console.print(title, style="italic", highlight=False)
    table = Table(*map(str, frame.columns))
    for row in frame.itertuples(index=False):
        table.add_row(*map(str, row))
    console.print(table)
