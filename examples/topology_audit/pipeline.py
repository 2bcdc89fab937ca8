"""Who leads what and supports which API versions, as tables, and a warning where a partition lacks replicas.

The same kind of pipeline as the YAML files beside it, in Python.
"""

import os

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from penstock.spark.pipeline import define, json

STATE = os.environ.get("STATE", ".penstock")
LAKE = os.environ.get("LAKE", "lake")

audit = define(
    "topology-audit",
    bootstrap_servers=os.environ.get("BOOTSTRAP_SERVERS", "127.0.0.1:9092"),
    checkpoints=f"{STATE}/topology-audit",
)
partitions = audit.topic(
    "topology",
    decode=json(
        "at TIMESTAMP NOT NULL, cluster STRING NOT NULL, topic STRING NOT NULL, partition INT NOT NULL, "
        "leader INT NOT NULL, replicas ARRAY<INT> NOT NULL, inSync ARRAY<INT> NOT NULL"
    ),
)

apis = audit.topic(
    "topology_apis",
    decode=json(
        "at TIMESTAMP NOT NULL, cluster STRING NOT NULL, broker INT NOT NULL, api STRING NOT NULL, "
        "first INT NOT NULL, last INT NOT NULL"
    ),
)


@audit.step(partitions)
def audited(frame: DataFrame) -> DataFrame:
    """Add what an operator looks for first."""
    return frame.withColumn("missing", sql.size("replicas") - sql.size("inSync"))


warnings = audit.filter("warnings", audited, "missing > 0 OR leader < 0")
audit.to_table("api_versions", apis, path=f"{LAKE}/api_versions")
audit.to_table("topology", audited, path=f"{LAKE}/topology")
audit.to_topic("warnings", warnings, topic="topology.warnings", key="topic", partitions=1)
