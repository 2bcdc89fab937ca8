"""`format("penstock_lake")` on an S3 API: written once by a stream, and the secrets are nowhere."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.spark.lake.formats import open_table
from penstock.spark.lake.location import location_of
from tests.spark.lake.support import ids
from tests.support.object_store import ObjectStore

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(240)]


def test_a_stream_writes_to_a_bucket_and_its_secrets_are_nowhere(
    spark: SparkSession,
    spark_log: Path,
    object_store: ObjectStore,
    bucket: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    where = location_of(f"s3://{bucket}/orders", object_store.options)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"id": 1, "place": "here"}\n')

    def run(schema: str, more: str) -> str:
        rows = spark.readStream.schema(schema).json(str(tmp_path / "in"))
        writer = rows.writeStream.format("penstock_lake").options(**where.spark_options())
        writer = writer.option("checkpointLocation", str(tmp_path / f"checkpoint{more}"))
        query = writer.trigger(availableNow=True).start()
        shown = ""
        try:
            query.awaitTermination(120)
        except PySparkException as error:
            shown = str(error)
        query.explain(extended=True)
        return shown + str(query.lastProgress)

    shown = run("id INT, place STRING", "")
    assert ids(open_table(where)) == [1]
    read = spark.read.format("penstock_lake").options(**where.spark_options()).load()
    read.explain(extended=True)
    assert [row["id"] for row in read.collect()] == [1]
    shown += run("id STRING, place STRING", "-2")  # rows that do not fit: the error shows the plan
    assert "cannot store column id" in shown
    shown += capfd.readouterr().out + spark_log.read_text()
    shown += "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
    assert object_store.options["aws_secret_access_key"] not in shown
