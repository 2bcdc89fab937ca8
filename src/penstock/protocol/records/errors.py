"""Errors of record batches, except those that handlers return to clients."""

from penstock.protocol.errors import ProtocolError


class CorruptRecords(ProtocolError):
    """The bytes are not a well-formed batch: a bad checksum, length, count, varint or compressed stream."""


class DecompressedTooLarge(CorruptRecords):
    """The compressed records expand beyond the bound that the caller set."""
