"""EXPLAIN: what a query fetches, and what DuckDB does with it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa

from penstock.sql.dataset import TopicDataset
from penstock.sql.errors import of_duckdb
from penstock.sql.query import Query
from penstock.sql.scan import ScanStats
from penstock.sql.sizes import partition_sizes
from penstock.sql.snapshot import Snapshot

_RANGES_SHOWN: Final = 20


def explain(cursor: Any, query: Query, datasets: Sequence[TopicDataset]) -> Any:
    """Return a relation with one column of lines.

    EXPLAIN runs the query over no records: a scan is planned, with the filter that it gets, and nothing is fetched.
    EXPLAIN ANALYZE runs it over all.
    """
    runs = query.explains == "run"
    for dataset in datasets:
        dataset.reads_nothing = not runs
    try:
        prefix = "EXPLAIN ANALYZE" if runs else "EXPLAIN"
        plan = cursor.execute(f"{prefix} {query.text}").fetchall()
        if not runs:
            cursor.execute(query.text).fetchall()
    except duckdb.Error as error:
        raise of_duckdb(error, query.text) from error
    lines = [line for dataset in datasets for line in _fetched(dataset)]
    lines += [line for row in plan for line in str(row[1]).splitlines()]
    return cursor.from_arrow(pa.table({"explain": pa.array(lines, pa.string())}))


def _fetched(dataset: TopicDataset) -> list[str]:
    """Describe the scans of a topic. Bytes are those that were fetched, or an estimate by the size of the log."""
    if not dataset.scans:
        return [f"Topic {dataset.snapshot.topic}: nothing is fetched"]
    sizes = {} if not dataset.reads_nothing else partition_sizes(dataset.client, dataset.snapshot)
    return [line for scan in dataset.scans for line in _scan_lines(scan, dataset.snapshot, sizes)]


def _scan_lines(scan: ScanStats, snapshot: Snapshot, sizes: Mapping[int, int]) -> list[str]:
    records, records_max = sum(each.size for each in scan.ranges), snapshot.records_max
    partitions = len({each.partition for each in scan.ranges})
    fetched = f", {scan.bytes_fetched:,} bytes fetched" if scan.bytes_fetched else ""
    if all(each.partition in sizes for each in scan.ranges) and scan.ranges:
        estimate = sum(
            sizes[each.partition]
            * each.size
            // (snapshot.ends[each.partition] - snapshot.starts[each.partition])
            for each in scan.ranges
        )
        fetched = f", about {estimate:,} of {sum(sizes.values()):,} bytes"
    where = f"{partitions} of {scan.partitions} partition(s), {records:,} of {records_max:,} offset(s)"
    lines = [f"Topic {scan.topic}: {where}{fetched}; columns {', '.join(scan.columns)}"]
    lines += [
        f"  partition {each.partition}: offsets {each.start} to {each.end - 1}"
        for each in scan.ranges[:_RANGES_SHOWN]
    ]
    if len(scan.ranges) > _RANGES_SHOWN:
        lines.append(f"  and {len(scan.ranges) - _RANGES_SHOWN} more partitions")
    return lines
