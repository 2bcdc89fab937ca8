"""SQL over topics and lake tables, in this process, on DuckDB.

    import penstock.sql

    with penstock.sql.connect("127.0.0.1:9092") as session:
        session.sql("SELECT customer, sum(amount) FROM orders GROUP BY 1").df()

Topics are tables. Nothing is written.
"""

from collections.abc import Mapping
from typing import Any

from penstock.client.blocking.client import BlockingClient
from penstock.client.settings import ClientSettings
from penstock.sql.errors import SqlError
from penstock.sql.result import Result
from penstock.sql.schema import parse_schema
from penstock.sql.session import Session, SessionSettings

__all__ = ["Result", "Session", "SqlError", "connect"]

# A query reads whole partitions: large responses cost fewer round trips.
CLIENT_DEFAULTS: Mapping[str, str] = {
    "client.id": "penstock-sql",
    "isolation.level": "read_committed",
    "max.partition.fetch.bytes": str(4 * 1024 * 1024),
}


def connect(
    bootstrap_servers: str,
    *,
    properties: Mapping[str, str] | None = None,
    schemas: Mapping[str, str] | None = None,
    **settings: Any,
) -> Session:
    """Open a session for queries.

    `properties` are those of a Kafka client, for instance for security. `schemas` are the schemas of topics, as the
    option `--schema` takes them; `settings` are the fields of `SessionSettings`.
    """
    given = {**CLIENT_DEFAULTS, "bootstrap.servers": bootstrap_servers, **(properties or {})}
    client = BlockingClient(ClientSettings.from_properties(given))
    parsed = {topic: parse_schema(text) for topic, text in (schemas or {}).items()}
    return Session(client, SessionSettings(schemas=parsed, **settings))
