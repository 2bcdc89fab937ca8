"""The sink's own options, read once on the driver.

delivery    exactly-once (the default) or at-least-once
topic       the topic of all rows, instead of their column `topic`
batch_id    of a batch write in `foreachBatch`: the id of the batch, so that a replay writes nothing

Under `kafka.`, besides what every client knows, these of Kafka's producer: compression.type, compression.<type>.level,
batch.size, max.request.size, delivery.timeout.ms, transaction.timeout.ms. Properties that the
sink must set itself are refused; unknown ones are ignored, as by any client.
"""

from typing import Final

import msgspec

from penstock.client.settings import ClientSettings
from penstock.protocol.compression import CODEC_BY_NAME, Codec
from penstock.spark.options import Options

EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"

_REFUSED: Final = {
    "transactional.id": "the sink names its transactions after its query; it is exactly once without it",
    "key.serializer": "cast the column key to string or binary instead",
    "value.serializer": "cast the column value to string or binary instead",
    "enable.idempotence": "the sink always writes idempotently",
    "acks": "the sink always waits for all in-sync replicas",
}
_LEVELS: Final = {Codec.GZIP: "gzip", Codec.LZ4: "lz4", Codec.ZSTD: "zstd"}
_BATCH_BYTES_DEFAULT: Final = 512 * 1024
_REQUEST_BYTES_DEFAULT: Final = 1024 * 1024
_DELIVERY_TIMEOUT_MS_DEFAULT: Final = 120_000


class SinkSettings(msgspec.Struct, frozen=True, kw_only=True):
    client: ClientSettings
    topic: str | None
    is_exactly_once: bool
    codec: Codec = Codec.NONE
    level: int | None = None
    batch_bytes: int = _BATCH_BYTES_DEFAULT
    request_bytes: int = _REQUEST_BYTES_DEFAULT
    delivery_timeout_ms: int = _DELIVERY_TIMEOUT_MS_DEFAULT
    transaction_timeout_ms: int | None = None

    @classmethod
    def from_options(cls, options: Options) -> "SinkSettings":
        delivery = options.choice("delivery", (EXACTLY_ONCE, AT_LEAST_ONCE))
        codec = CODEC_BY_NAME[options.choice("kafka.compression.type", tuple(CODEC_BY_NAME)) or "none"]
        return cls(
            client=options.client_settings(_REFUSED),
            topic=options.text("topic"),
            is_exactly_once=delivery != AT_LEAST_ONCE,
            codec=codec,
            level=_level(options, codec),
            batch_bytes=options.integer("kafka.batch.size") or _BATCH_BYTES_DEFAULT,
            request_bytes=options.integer("kafka.max.request.size") or _REQUEST_BYTES_DEFAULT,
            delivery_timeout_ms=options.integer("kafka.delivery.timeout.ms") or _DELIVERY_TIMEOUT_MS_DEFAULT,
            transaction_timeout_ms=options.integer("kafka.transaction.timeout.ms"),
        )


def _level(options: Options, codec: Codec) -> int | None:
    name = _LEVELS.get(codec)
    return None if name is None else options.integer(f"kafka.compression.{name}.level", minimum=-(1 << 17))
