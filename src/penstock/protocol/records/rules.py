"""The rules of a topic for batches, and the results of `validation`."""

import enum

import msgspec

from penstock.config.topic import TopicConfig
from penstock.protocol.compression import CODEC_BY_NAME, DECOMPRESSED_BYTES_MAX, Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import CODEC_MASK, LOG_APPEND_TIME_FLAG, LOG_OVERHEAD, BatchHeader

_INT64_MAX = 2**63 - 1
_EXPANSION_MAX = 32
"""The maximum decompressed size of a batch, as a multiple of the maximum batch size. Larger batches cost time to
detect, and only attackers send them.
"""
_EXPANDED_BYTES_MIN = 32 * 1024 * 1024


class RecordError(msgspec.Struct, frozen=True):
    """The reason why a record was refused (KIP-467)."""

    batch_index: int
    message: str


class InvalidBatch(Exception):
    """The batch must not be stored; `code` is returned to its producer."""

    def __init__(self, code: ErrorCode, message: str, record_errors: tuple[RecordError, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.record_errors = record_errors


class TooLargeForEventLoop(Exception):
    """The batch is too large to be decompressed here, and has not been validated yet."""


class Rewrite(enum.Enum):
    """The change of a valid batch before it is stored."""

    NONE = 0
    TIMESTAMPS = 1  # attributes and max timestamp, in place
    RECOMPRESS = 2  # another codec: a new batch


class ValidationRules(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a topic's configuration that applies to batches; created again when it changes."""

    size_bytes_max: int = 1_048_588
    segment_bytes_max: int = 1_073_741_824
    is_compacted: bool = False
    is_log_append_time: bool = False
    timestamp_before_max_ms: int = _INT64_MAX
    timestamp_after_max_ms: int = 3_600_000
    codec: Codec | None = None  # None keeps the producer's
    level: int | None = None
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
    event_loop_bytes_max: int | None = None  # above: `TooLargeForEventLoop`; None: no limit

    def leaves_unchanged(self, header: BatchHeader) -> bool:
        """Whether a valid batch is stored as it is."""
        return (
            header.batch_length + LOG_OVERHEAD <= min(self.size_bytes_max, self.segment_bytes_max)
            and (self.codec is None or header.attributes & CODEC_MASK == self.codec)
            and not self.is_log_append_time
            and not header.attributes & LOG_APPEND_TIME_FLAG
        )


class ValidatedBatch(msgspec.Struct, frozen=True, gc=False):
    """A batch that may be stored after `rewrite_batch` has applied `rewrite`."""

    header: BatchHeader
    max_timestamp: int  # in the header of the stored batch
    rewrite: Rewrite
    records: bytes  # the uncompressed records section


def rules_for(config: TopicConfig) -> ValidationRules:
    """The rules for batches that are produced to a topic with these settings."""
    codec = None if config.compression_type == "producer" else CODEC_BY_NAME[config.compression_type]
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return ValidationRules(
        size_bytes_max=config.max_message_bytes,
        segment_bytes_max=config.segment_bytes,
        is_compacted="compact" in config.cleanup_policy,
        is_log_append_time=config.message_timestamp_type == "LogAppendTime",
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        codec=codec,
        level=None if codec is None else levels.get(codec),
        decompressed_bytes_max=_decompressed_bytes_max(config.max_message_bytes),
    )


def _decompressed_bytes_max(size_bytes_max: int) -> int:
    expanded_bytes = max(_EXPANDED_BYTES_MIN, _EXPANSION_MAX * size_bytes_max)
    return max(size_bytes_max, min(DECOMPRESSED_BYTES_MAX, expanded_bytes))
