"""Column functions for your own Spark code and for Python steps of pipelines.

from penstock.spark.functions import avro, encode

body = encode(frame, F.struct("orderId", "amount"), avro(registry_url="http://127.0.0.1:8081"), topic="payments")
frame.select(F.col("orderId").alias("key"), body.alias("value"))
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.encode import settings
from penstock.spark.encode.columns import encoded_column
from penstock.spark.encode.schemas import Place

avro = settings.AvroEncoder
json_schema = settings.JsonSchemaEncoder
protobuf = settings.ProtobufEncoder

__all__ = ["avro", "encode", "json_schema", "protobuf", "try_encode"]


def encode(
    frame: DataFrame,
    column: Column | str,
    encoder: settings.Encoder,
    *,
    topic: str = "",
    is_key: bool = False,
    directory: str = ".",
) -> Column:
    """Encode a column of the frame to bytes. A value that cannot be encoded fails the query; null stays null."""
    encoded = try_encode(frame, column, encoder, topic=topic, is_key=is_key, directory=directory)
    message = F.concat(F.lit(f"cannot encode as {encoder.label}: "), encoded["error"])
    return F.when(encoded["error"].isNotNull(), F.raise_error(message)).otherwise(encoded["value"])


def try_encode(
    frame: DataFrame,
    column: Column | str,
    encoder: settings.Encoder,
    *,
    topic: str = "",
    is_key: bool = False,
    directory: str = ".",
) -> Column:
    """Encode a column of the frame to a struct of `value`, the bytes, and `error`, the reason if there are none.

    The schema is read, looked up or registered now. `topic` and `is_key` name its subject; files are relative to
    `directory`. Raises EncoderError if the column does not fit.
    """
    place = Place(topic=topic, is_key=is_key, directory=directory)
    return encoded_column(frame, F.col(column) if isinstance(column, str) else column, encoder, place)
