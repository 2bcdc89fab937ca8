"""The four codecs of record batches, with a bound on what decompression may produce.

Nothing here trusts a declared size: output goes into a buffer that never grows beyond the caller's bound, so a
small batch that expands to gigabytes costs no more memory than the bound. Corrupt input raises `CorruptRecords`.

Formats, as Kafka's clients read and write them:
  gzip    RFC 1952, possibly several members.
  snappy  xerial framing: 82 'S' 'N' 'A' 'P' 'P' 'Y' 00, version i32 = 1, compatible version i32 = 1, then blocks
          of (size i32, raw snappy). Raw snappy without framing is read too: librdkafka writes it.
  lz4     LZ4 frame with independent blocks of 64 KiB: Java clients refuse linked blocks.
  zstd    zstandard frames.
"""

import enum
import struct
import zlib

import cramjam

from penstock.protocol.records.errors import CorruptRecords, DecompressedTooLarge

Buffer = bytes | bytearray | memoryview

DECOMPRESSED_BYTES_MAX = 128 * 1024 * 1024

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_BLOCK_SIZE = struct.Struct(">i")

_GZIP_WBITS = 16 + zlib.MAX_WBITS
_OUTPUT_BYTES_FIRST = 64 * 1024
_OUTPUT_GROWTH = 4
# Rust's std::io::ErrorKind::WriteZero: cramjam's only way to distinguish a full output from bad input.
_OUTPUT_FULL = "failed to write whole buffer"

# lz4-java's level 9 is Kafka's default and stands for the fast compressor, not for high compression.
_LZ4_LEVEL_DEFAULT = 9
_LZ4_LEVEL_FAST = 1
_LZ4_LEVEL_HIGH_FIRST = 3
_LZ4_LEVEL_HIGH_MAX = 12
_ZSTD_LEVEL_DEFAULT = 3


class Codec(enum.IntEnum):
    """Bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODEC_BY_NAME = {
    "none": Codec.NONE,
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """Compress with Kafka's default level, or with `level` on Kafka's scale for that codec."""
    if codec is Codec.NONE:
        return bytes(data)
    if codec is Codec.GZIP:
        deflate = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_WBITS)
        return deflate.compress(data) + deflate.flush()
    if codec is Codec.SNAPPY:
        return _compress_xerial(data)
    if codec is Codec.LZ4:
        frame = cramjam.lz4.Compressor(level=_lz4_level(level), content_checksum=False, block_linked=False)
        frame.compress(bytes(data))
        return bytes(frame.finish())
    return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL_DEFAULT if level is None else level))


def decompress(codec: Codec, data: Buffer, size_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """All of the decompressed bytes; `DecompressedTooLarge` beyond the bound, `CorruptRecords` on bad input."""
    if codec is Codec.NONE:
        if len(data) > size_bytes_max:
            raise DecompressedTooLarge(f"{len(data)} bytes of records exceed the bound of {size_bytes_max}")
        return bytes(data)
    if codec is Codec.GZIP:
        return _decompress_gzip(data, size_bytes_max)
    if codec is Codec.SNAPPY:
        return _decompress_snappy(data, size_bytes_max)
    return _decompress_frames(codec, data, size_bytes_max)


def _lz4_level(level: int | None) -> int:
    if level is None or level == _LZ4_LEVEL_DEFAULT:
        return _LZ4_LEVEL_FAST
    return min(max(level, _LZ4_LEVEL_HIGH_FIRST), _LZ4_LEVEL_HIGH_MAX)


def _decompress_gzip(data: Buffer, size_bytes_max: int) -> bytes:
    rest: Buffer = data
    parts: list[bytes] = []
    room = size_bytes_max
    while True:
        member = zlib.decompressobj(_GZIP_WBITS)
        try:
            part = member.decompress(rest, room + 1)  # one byte more than allowed shows that there is more
        except zlib.error as error:
            raise CorruptRecords(f"gzip records cannot be decompressed: {error}") from None
        room -= len(part)
        if room < 0:
            raise DecompressedTooLarge(f"gzip records expand beyond {size_bytes_max} bytes")
        if not member.eof:
            raise CorruptRecords("gzip records end before their stream does")
        parts.append(part)
        rest = member.unused_data
        if not rest:
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_frames(codec: Codec, data: Buffer, size_bytes_max: int) -> bytes:
    decompress_into = cramjam.lz4.decompress_into if codec is Codec.LZ4 else cramjam.zstd.decompress_into
    capacity = min(max(_OUTPUT_BYTES_FIRST, _OUTPUT_GROWTH * len(data)), size_bytes_max)
    while True:
        output = bytearray(capacity)
        try:
            size = decompress_into(data, output)
        except cramjam.DecompressionError as error:
            if str(error) != _OUTPUT_FULL:
                raise CorruptRecords(
                    f"{codec.name.lower()} records cannot be decompressed: {error}"
                ) from None
            if capacity == size_bytes_max:
                message = f"{codec.name.lower()} records expand beyond {size_bytes_max} bytes"
                raise DecompressedTooLarge(message) from None
            capacity = min(capacity * _OUTPUT_GROWTH, size_bytes_max)
        else:
            return bytes(memoryview(output)[:size])


def _compress_xerial(data: Buffer) -> bytes:
    view = memoryview(data)
    parts: list[bytes] = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts.append(_BLOCK_SIZE.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _decompress_snappy(data: Buffer, size_bytes_max: int) -> bytes:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _decompress_snappy_block(view, size_bytes_max)
    if len(view) < len(_XERIAL_HEADER):
        raise CorruptRecords("snappy records end within their header")
    parts: list[bytes] = []
    room = size_bytes_max
    position = len(_XERIAL_HEADER)
    while position < len(view):
        if position + _BLOCK_SIZE.size > len(view):
            raise CorruptRecords("snappy records end within a block size")
        (size,) = _BLOCK_SIZE.unpack_from(view, position)
        position += _BLOCK_SIZE.size
        if size < 0 or size > len(view) - position:
            raise CorruptRecords(f"a snappy block of {size} bytes does not fit in its records")
        part = _decompress_snappy_block(view[position : position + size], room)
        room -= len(part)
        parts.append(part)
        position += size
    return b"".join(parts)


def _decompress_snappy_block(block: memoryview, size_bytes_max: int) -> bytes:
    if not block:
        raise CorruptRecords("an empty snappy block")
    try:
        if cramjam.snappy.decompress_raw_len(block) > size_bytes_max:
            raise DecompressedTooLarge("snappy records expand beyond the bound")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptRecords(f"snappy records cannot be decompressed: {error}") from None
