"""Metadata records as the log holds them: KRaft's own form, so that Kafka's tools can read the log.

Value of a record:
    frame version   unsigned varint, always 1
    api key         unsigned varint, which record it is (`tools/codegen/metadata_records`)
    version         unsigned varint, of that record's form
    message         the record in the protocol's own encoding
The key is null. All records of one decision are in one batch, so that they apply atomically.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.state import CORDONED_DIRECTORIES_LEVEL
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import metadata_records
from penstock.protocol.messages.metadata_records import SPEC_OF, MetadataRecord
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import iter_records
from penstock.protocol.wire import Buffer, read_uvarint, write_uvarint

FRAME_VERSION = 1
_NEWEST_SINCE: Final[Mapping[type[MetadataRecord], int]] = {
    metadata_records.RegisterBrokerRecord: CORDONED_DIRECTORIES_LEVEL,
    metadata_records.BrokerRegistrationChangeRecord: CORDONED_DIRECTORIES_LEVEL,
}
"""The metadata.version from which on the newest form of a record is written; below it, the form before."""


def encode_value(record: MetadataRecord, metadata_version: int) -> bytes:
    """Encode a record in the newest version that this metadata.version allows."""
    spec = SPEC_OF[type(record)]
    is_known = metadata_version >= _NEWEST_SINCE.get(type(record), 0)
    version = spec.versions[-1 if is_known else -2]
    out = bytearray()
    write_uvarint(out, FRAME_VERSION)
    write_uvarint(out, spec.api_key)
    write_uvarint(out, version)
    spec.encode_into(out, record, version)
    return bytes(out)


def decode_value(value: Buffer) -> MetadataRecord:
    try:
        frame_version, pos = read_uvarint(value, 0)
        if frame_version != FRAME_VERSION:
            raise MetadataError(f"a metadata record has frame version {frame_version}, not {FRAME_VERSION}")
        api_key, pos = read_uvarint(value, pos)
        version, pos = read_uvarint(value, pos)
        return metadata_records.decode(api_key, value, version, pos)
    except ProtocolError as error:
        raise MetadataError(f"a metadata record cannot be read: {error}") from error


def encode_batch(records: Iterable[MetadataRecord], now_ms: int, metadata_version: int) -> bytes:
    """Encode the records of one decision as one batch."""
    return build_batch(
        [NewRecord(value=encode_value(record, metadata_version), timestamp=now_ms) for record in records]
    )


def decode_batches(buffer: Buffer) -> Iterator[tuple[int, Sequence[MetadataRecord]]]:
    """Decode each batch: its last offset and its records. The quorum's control batches have none."""
    try:
        for pos, header in iter_batches_strict(buffer):
            records: list[MetadataRecord] = []
            if not header.is_control:
                records = [decode_value(record.value or b"") for record in iter_records(buffer, pos=pos)]
            yield header.last_offset, records
    except ProtocolError as error:
        raise MetadataError(f"a batch of the metadata log cannot be read: {error}") from error
