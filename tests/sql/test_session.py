"""Queries of topics of a real broker, and of tables on disk."""

import datetime as dt
import io
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import penstock.sql
from penstock.client.blocking.client import LATEST
from penstock.client.errors import Retry
from penstock.client.metadata import TopicPartition
from penstock.sql import Session, SqlError
from tests.spark.source.topics import cluster_of, delete_records, new_topic, produce, transact
from tests.support.broker import BrokerProcess

HOUR_MS = 3_600_000
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "n", "type": "int"}],
}


@pytest.fixture(scope="module")
def session(shared_broker: BrokerProcess) -> Iterator[Session]:
    with penstock.sql.connect(shared_broker.bootstrap, threads=1) as made:
        yield made


@pytest.fixture(scope="module")
def orders(shared_broker: BrokerProcess) -> str:
    """Two partitions of 1,000 records, one for each second up to now, in batches of ten."""
    topic = new_topic(shared_broker.bootstrap, partitions=2)
    now = int(time.time() * 1000)
    for partition in range(2):
        for first in range(0, 1000, 100):
            records = [
                {"id": n, "customer": f"c{n % 10}", "amount": n / 4} for n in range(first, first + 100)
            ]
            produce(
                shared_broker.bootstrap,
                topic,
                [json.dumps(each).encode() for each in records],
                partition=partition,
                key=b"k",
                timestamp=now - (1000 - first) * 10_000,
                batch_num_messages=10,
                headers=[("trace", b"t")],
            )
    return topic


def fetched(session: Session, query: str) -> tuple[list[tuple[Any, ...]], int, int]:
    """Rows, records scanned, bytes fetched."""
    result = session.sql(query)
    rows = result.fetchall()
    return rows, sum(s.records_scanned for s in result.stats), sum(s.bytes_fetched for s in result.stats)


def wait_for_end(bootstrap: str, topic: str, end: int) -> None:
    """A transaction is complete a moment after its producer has its response."""
    client = cluster_of(bootstrap)
    tp = TopicPartition(topic, 0)

    def attempt() -> None:
        if client.list_offsets({tp: LATEST}, reads_committed_only=True)[tp].offset < end:
            raise Retry(f"{topic} does not end at {end} yet")

    client.until_done("waiting for a transaction", attempt)
    client.close()


def test_a_topic_is_a_table_with_the_columns_of_its_values_and_records(session: Session, orders: str) -> None:
    described = dict(session.sql(f'DESCRIBE "{orders}"').fetchall())
    assert described == {
        "id": "BIGINT", "customer": "VARCHAR", "amount": "DOUBLE", "_key": "VARCHAR", "_partition": "INTEGER",
        "_offset": "BIGINT", "_timestamp": "TIMESTAMP WITH TIME ZONE",
        "_headers": 'STRUCT("key" VARCHAR, "value" BLOB)[]', "_value": "BLOB", "_error": "VARCHAR",
    }  # fmt: skip
    found = session.sql(
        f"SELECT customer, sum(amount), count(*), any_value(header(_headers, 'trace')) FROM \"{orders}\" GROUP BY 1 "
        "ORDER BY 1 LIMIT 1"
    )
    assert found.fetchall() == [("c0", sum(n / 4 for n in range(0, 1000, 10)) * 2, 200, "t")]
    assert (orders, "topic", 2) in session.sql("SHOW TABLES").fetchall()


def test_predicates_on_partition_offset_and_time_limit_what_is_fetched(session: Session, orders: str) -> None:
    _, records_all, bytes_all = fetched(session, f'SELECT count(customer) FROM "{orders}"')
    assert records_all == 2000
    rows, records, _ = fetched(session, f'SELECT count(*) FROM "{orders}" WHERE _partition = 1')
    assert (rows, records) == ([(1000,)], 1000)
    rows, records, _ = fetched(session, f'SELECT count(*) FROM "{orders}" WHERE _offset BETWEEN 10 AND 19')
    assert (rows, records) == ([(20,)], 20)
    since = f'SELECT count(*) FROM "{orders}" WHERE _timestamp > now() - INTERVAL 1501 SECOND'
    rows, records, size = fetched(session, since)
    assert (rows, records) == ([(200,)], 200)
    assert size < bytes_all / 4


def test_only_needed_columns_are_decoded(session: Session, orders: str) -> None:
    result = session.sql(f'SELECT max(_offset) FROM "{orders}"')
    assert result.fetchall() == [(999,)]
    assert [scan.columns for scan in result.stats] == [["_offset"]]


def test_an_upper_bound_of_time_ends_the_fetch_only_where_times_ascend(
    session: Session, shared_broker: BrokerProcess
) -> None:
    topics = [
        new_topic(shared_broker.bootstrap, message_timestamp_type=kind)
        for kind in ("CreateTime", "LogAppendTime")
    ]
    for topic in topics:
        produce(shared_broker.bootstrap, topic, [b"late"], timestamp=2 * HOUR_MS)
        produce(shared_broker.bootstrap, topic, [b"early"], timestamp=HOUR_MS)
    rows, records, _ = fetched(
        session, f"SELECT value FROM \"{topics[0]}\" WHERE _timestamp < '1970-01-01 01:30:00+00'"
    )
    assert (rows, records) == ([("early",)], 2)
    rows, records, _ = fetched(
        session, f"SELECT value FROM \"{topics[1]}\" WHERE _timestamp < '1970-01-01 01:30:00+00'"
    )
    assert (rows, records) == ([], 0)


def test_a_limit_stops_the_fetch(shared_broker: BrokerProcess, orders: str) -> None:
    properties = {"max.partition.fetch.bytes": "1000"}
    with penstock.sql.connect(shared_broker.bootstrap, properties=properties) as small:
        result = small.sql(f'SELECT id FROM "{orders}" LIMIT 1')
        assert len(result.fetchall()) == 1
        assert 0 < sum(scan.records_scanned for scan in result.stats) < 1000


def test_records_that_come_after_the_query_are_not_read(
    session: Session, shared_broker: BrokerProcess
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b'{"a": 1}'])
    result = session.sql(f'SELECT a FROM "{topic}"')
    produce(shared_broker.bootstrap, topic, [b'{"a": 2}'])
    assert result.fetchall() == [(1,)]
    assert session.sql(f'SELECT a FROM "{topic}"').fetchall() == [(1,), (2,)]


def test_aborted_records_and_markers_are_not_rows(session: Session, shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap)
    transact(shared_broker.bootstrap, topic, [b"no"], commits=False)
    transact(shared_broker.bootstrap, topic, [b"yes"], commits=True)
    wait_for_end(shared_broker.bootstrap, topic, 4)
    assert session.sql(f'SELECT value, _offset FROM "{topic}"').fetchall() == [("yes", 2)]


def test_a_record_that_does_not_decode_has_nulls_and_a_reason_or_fails_the_query(
    session: Session, shared_broker: BrokerProcess
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b'{"a": 1}', b'{"a": 2}', b"nonsense", None])
    found = session.sql(f'SELECT a, _error FROM "{topic}" ORDER BY _offset').fetchall()
    assert found == [(1, None), (2, None), (None, "not JSON: nonsense"), (None, None)]
    with penstock.sql.connect(shared_broker.bootstrap, fails_on_error=True) as strict:
        with pytest.raises(SqlError, match=f"record of {topic}-0 at offset 2: not JSON: nonsense"):
            strict.sql(f'SELECT a FROM "{topic}"').fetchall()
        assert strict.sql(f'SELECT a FROM "{topic}" WHERE _offset = 0').fetchall() == [(1,)]


def test_a_schema_can_be_given(shared_broker: BrokerProcess, tmp_path: Path) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b'{"a": 1, "b": "2026-01-01"}'])
    given = {topic: "json(a DECIMAL(10, 2), b DATE)"}
    with penstock.sql.connect(shared_broker.bootstrap, schemas=given) as made:
        (row,) = made.sql(f'SELECT a::VARCHAR, b FROM "{topic}"').fetchall()
        assert row == ("1.00", dt.date(2026, 1, 1))
    with (
        penstock.sql.connect(shared_broker.bootstrap, schemas={topic: "json(a NONSENSE)"}) as made,
        pytest.raises(SqlError, match=f"the schema of {topic}: `a NONSENSE` is not a list of columns"),
    ):
        made.sql(f'SELECT a FROM "{topic}"')
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(AVRO))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(AVRO), {"id": "x", "n": 7})
    avro = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, avro, [out.getvalue(), b"\x02", None])
    with penstock.sql.connect(shared_broker.bootstrap, schemas={avro: f"avro({file})"}) as made:
        found = made.sql(f'SELECT id, n, _error, _offset FROM "{avro}"').fetchall()
        assert found[0] == ("x", 7, None, 0)
        assert found[1][2].startswith("truncated: the Avro body")
        assert found[2] == (None, None, None, 2)


def test_topics_and_lake_tables_are_joined(session: Session, orders: str, tmp_path: Path) -> None:
    customers = pa.table({"customer": ["c1", "c2"], "name": ["Ann", "Bob"]})
    write_deltalake(str(tmp_path / "delta"), customers)
    pq.write_table(customers, tmp_path / "customers.parquet")
    for path in (tmp_path / "delta", tmp_path / "customers.parquet"):
        found = session.sql(
            f"SELECT name, count(*) FROM \"{orders}\" JOIN '{path}' USING (customer) GROUP BY 1 ORDER BY 1"
        )
        assert found.fetchall() == [("Ann", 200), ("Bob", 200)]
    with pytest.raises(SqlError, match=r"there is no table at /nowhere/x.*\(line 1, column 15\)"):
        session.sql("SELECT * FROM '/nowhere/x'")


def test_a_topic_is_joined_with_itself_and_shadowed_by_a_with(session: Session, orders: str) -> None:
    joined = (
        f'SELECT count(*) FROM "{orders}" a JOIN "{orders}" b USING (_partition, _offset) WHERE a.id < 10'
    )
    assert session.sql(joined).fetchall() == [(20,)]
    shadowed = f'WITH "{orders}" AS (SELECT * FROM "{orders}" WHERE id < 5) SELECT count(*) FROM "{orders}"'
    assert session.sql(shadowed).fetchall() == [(10,)]


def test_an_iceberg_table_is_read(session: Session, tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("n")
    customers = pa.table({"customer": ["c1", "c2"]})
    table = catalog.create_table("n.customers", customers.schema)
    table.append(customers)
    table.append(customers)
    assert session.sql(f"SELECT count(*) FROM '{tmp_path}/w/n/customers'").fetchall() == [(4,)]


def test_explain_shows_what_is_fetched_and_fetches_nothing(session: Session, orders: str) -> None:
    result = session.sql(f'EXPLAIN SELECT id FROM "{orders}" WHERE _partition = 1 AND _offset >= 990')
    lines = [line for (line,) in result.fetchall()]
    assert lines[0].startswith(f"Topic {orders}: 1 of 2 partition(s), 10 of 2,000 offset(s), about ")
    assert lines[0].endswith(" bytes; columns _partition, _offset, _text")
    assert lines[1] == "  partition 1: offsets 990 to 999"
    assert any("PYTHON_ARROW_SCAN" in line for line in lines)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('SELECT custmer FROM "{orders}"', r'"custmer" not found.*"customer".*\(line 1, column 8\)'),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT * FROM glob('/*')", "disabled"),
        ("SELECT * FROM nothing", r"there is no topic nothing: .*\(line 1, column 15\)"),
    ],
)
def test_errors_say_what_is_wrong_and_where(session: Session, orders: str, query: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        session.sql(query.format(orders=orders)).fetchall()


def test_the_nearest_topic_is_suggested_and_dots_need_quotes(
    session: Session, orders: str, shared_broker: BrokerProcess
) -> None:
    with pytest.raises(SqlError, match=f'did you mean "{orders}"'):
        session.sql(f'SELECT * FROM "{orders}x"')
    new_topic(shared_broker.bootstrap, name="sql.dotted")
    with pytest.raises(SqlError, match=r'quote the topic.s name, "sql\.dotted"'):
        session.sql("SELECT * FROM sql.dotted")


def test_variables_of_python_are_no_tables(session: Session) -> None:
    secret = pa.table({"password": ["x"]})
    with pytest.raises(SqlError, match="there is no topic secret"):
        session.sql("SELECT * FROM secret")
    assert secret.num_rows == 1


def test_records_that_retention_removed_are_an_error_and_not_a_gap(
    session: Session, shared_broker: BrokerProcess
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b'{"a": 1}'] * 10)
    result = session.sql(f'SELECT a FROM "{topic}"')
    delete_records(shared_broker.bootstrap, topic, 5)
    with pytest.raises(SqlError, match=f"{topic}-0 no longer has offset"):
        result.fetchall()


def test_following_yields_new_records_as_they_come(session: Session, shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b'{"a": 1}', b'{"a": 20}'])
    results = session.follow(f'SELECT a FROM "{topic}" WHERE a > 10')
    assert next(results).fetchall() == [(20,)]
    produce(shared_broker.bootstrap, topic, [b'{"a": 30}'])
    assert next(results).fetchall() == [(30,)]


def test_results_come_as_arrow_and_pandas_too(session: Session, orders: str) -> None:
    result = session.sql(f'SELECT id FROM "{orders}" WHERE _partition = 0 AND _offset < 3')
    assert result.arrow().column("id").to_pylist() == [0, 1, 2]
    assert result.df()["id"].tolist() == [0, 1, 2]
    assert sum(batch.num_rows for batch in result.batches()) == 3


def test_a_sort_beyond_the_memory_limit_spills_and_leaves_no_files(
    shared_broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sort = "SELECT repeat('x', 1000) || n AS text FROM range(250000) r(n) ORDER BY hash(n)"
    with penstock.sql.connect(shared_broker.bootstrap, memory_limit="200MB", threads=1) as small:
        assert sum(batch.num_rows for batch in small.sql(sort).batches()) == 250_000
        with pytest.raises(SqlError, match="needs more memory than its limit"):
            small.sql("SELECT list(repeat('x', 1000) || n) FROM range(500000) r(n)").fetchall()
    assert list(tmp_path.iterdir()) == []
