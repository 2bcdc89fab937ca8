"""The Python of docs/spark.md runs as it stands there, but for the broker's address and where tables are."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.source.topics import cluster_of
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(240)]

DOCS = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_examples_of_the_page_on_spark_run_one_after_the_other(
    spark: SparkSession,
    own_broker: BrokerProcess,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    cluster = cluster_of(own_broker.bootstrap)
    for topic in ("orders", "copies"):
        assert cluster.create_topic(topic, partitions=2)
    cluster.close()
    names: dict[str, object] = {}
    text = DOCS.read_text(encoding="utf-8").replace("127.0.0.1:9092", own_broker.bootstrap)
    for example in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(re.sub(r'"(checkpoints|tables)/', rf'"{tmp_path}/\1/', example), names)
    assert names["spark"] is spark, "the session of this process is given back"
    shown = capfd.readouterr().out
    assert '|alice|{"item": "book"}|' in shown
    assert "|   alice|book|" in shown
