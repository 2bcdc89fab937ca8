import contextlib
import random
import resource
import struct
import subprocess
import sys
import textwrap
import zlib

import cramjam
import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.compression import Codec, compress, decompress
from penstock.protocol.records.errors import CorruptRecords, DecompressedTooLarge

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b'{"id":%d,"name":"user-%d"}' % (n, n * 7919 % 1000) for n in range(9000))


@pytest.mark.parametrize("codec", list(Codec))
@given(data=st.binary(max_size=2000).map(lambda b: b * 3))
def test_compressed_bytes_round_trip(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), 10_000) == data


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_buffer_is_accepted(codec: Codec, wrap: type) -> None:
    assert decompress(codec, wrap(compress(codec, wrap(TEXT)))) == TEXT


@pytest.mark.parametrize("codec", list(Codec))
def test_the_bound_is_inclusive(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, len(TEXT)) == TEXT
    with pytest.raises(DecompressedTooLarge):
        decompress(codec, compressed, len(TEXT) - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_high_ratio_grows_the_output_as_far_as_needed(codec: Codec) -> None:
    data = bytes(3_000_000)
    assert decompress(codec, compress(codec, data), 3_000_000) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_truncated_stream_is_corrupt(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    for cut in (1, 3, len(compressed) // 2, len(compressed) - 1, len(compressed) - 9):
        with pytest.raises(CorruptRecords):
            decompress(codec, compressed[:cut])


@pytest.mark.parametrize("codec", COMPRESSED)
def test_an_empty_stream_is_corrupt(codec: Codec) -> None:
    with pytest.raises(CorruptRecords):
        decompress(codec, b"")


@pytest.mark.parametrize("codec", COMPRESSED)
def test_mutated_streams_raise_nothing_but_the_declared_exception(codec: Codec) -> None:
    rng = random.Random(codec)
    original = compress(codec, TEXT[:5000])
    for _ in range(1500):
        mutated = bytearray(original)
        for _ in range(rng.randrange(1, 5)):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        with contextlib.suppress(CorruptRecords):
            decompress(codec, mutated, 100_000)


@pytest.mark.parametrize("codec", COMPRESSED)
@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_but_the_declared_exception(codec: Codec, data: bytes) -> None:
    with contextlib.suppress(CorruptRecords):
        decompress(codec, data, 10_000)


def test_lz4_blocks_are_independent_as_java_clients_require() -> None:
    frame = compress(Codec.LZ4, TEXT)
    info = lz4.frame.get_frame_info(frame)
    assert info["block_linked"] is False
    assert lz4.frame.decompress(frame) == TEXT


def test_lz4_with_linked_blocks_and_checksums_is_read() -> None:
    frame = lz4.frame.compress(TEXT, block_linked=True, content_checksum=True, store_size=False)
    assert decompress(Codec.LZ4, frame) == TEXT


def test_snappy_is_written_in_xerial_framing() -> None:
    framed = compress(Codec.SNAPPY, TEXT)
    assert framed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    position, blocks = 16, []
    while position < len(framed):
        (size,) = struct.unpack_from(">i", framed, position)
        blocks.append(snappy.uncompress(framed[position + 4 : position + 4 + size]))
        position += 4 + size
    assert b"".join(blocks) == TEXT
    assert max(len(block) for block in blocks) <= 32 * 1024


def test_raw_snappy_as_librdkafka_writes_it_is_read() -> None:
    assert decompress(Codec.SNAPPY, snappy.compress(TEXT)) == TEXT


def test_several_gzip_members_are_read_as_one() -> None:
    members = compress(Codec.GZIP, TEXT[:100]) + compress(Codec.GZIP, TEXT[100:])
    assert decompress(Codec.GZIP, members) == TEXT
    with pytest.raises(DecompressedTooLarge):
        decompress(Codec.GZIP, members, len(TEXT) - 1)


def test_zstd_of_another_library_is_read_and_ours_by_it() -> None:
    streamed = zstandard.ZstdCompressor(write_content_size=False).compress(TEXT)
    assert decompress(Codec.ZSTD, streamed) == TEXT
    ours = compress(Codec.ZSTD, TEXT)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(ours) == TEXT


@pytest.mark.parametrize(
    ("codec", "low", "high"), [(Codec.GZIP, 1, 9), (Codec.LZ4, 9, 17), (Codec.ZSTD, -100, 19)]
)
def test_a_higher_level_compresses_more(codec: Codec, low: int, high: int) -> None:
    assert len(compress(codec, TEXT, high)) < len(compress(codec, TEXT, low))
    assert decompress(codec, compress(codec, TEXT, high)) == TEXT


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_every_level_of_kafka_is_accepted(codec: Codec) -> None:
    levels = {Codec.GZIP: range(-1, 10), Codec.LZ4: range(1, 18), Codec.ZSTD: (-131072, -1, 0, 1, 22)}[codec]
    for level in levels:
        assert decompress(codec, compress(codec, TEXT[:3000], level)) == TEXT[:3000]


def test_a_snappy_block_that_declares_gigabytes_is_refused_before_anything_is_allocated() -> None:
    declared = b"\xff\xff\xff\xff\x0f"  # 2^32-1 as a varint
    for data in (
        declared + bytes(50),
        compress(Codec.SNAPPY, b"")[:16] + struct.pack(">i", 55) + declared + bytes(50),
    ):
        with pytest.raises(DecompressedTooLarge):
            decompress(Codec.SNAPPY, data, 1_000_000)


def _bomb(codec: Codec) -> bytes:
    """256 MiB of zeros, as one stream where the codec has streams."""
    chunk = bytes(1 << 20)
    if codec is Codec.GZIP:
        deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
        return b"".join([deflate.compress(chunk) for _ in range(256)]) + deflate.flush()
    if codec is Codec.SNAPPY:
        block: bytes = snappy.compress(chunk)
        return compress(Codec.SNAPPY, b"")[:16] + (struct.pack(">i", len(block)) + block) * 256
    stream = cramjam.zstd.Compressor(level=1) if codec is Codec.ZSTD else cramjam.lz4.Compressor(level=1)
    for _ in range(256):
        stream.compress(chunk)
    return bytes(stream.finish())


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_is_refused_within_a_fraction_of_the_memory_it_would_take(codec: Codec) -> None:
    script = textwrap.dedent(f"""
        import re, resource, sys
        from penstock.protocol.compression import Codec, decompress
        from penstock.protocol.records.errors import DecompressedTooLarge
        bomb = sys.stdin.buffer.read()
        used = int(re.search(r"VmSize:\\s*(\\d+)", open("/proc/self/status").read()).group(1)) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (used + (96 << 20), {resource.RLIM_INFINITY}))
        try:
            decompress(Codec({int(codec)}), bomb, 16 << 20)
        except DecompressedTooLarge:
            print("refused")
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], input=_bomb(codec), capture_output=True, check=False, timeout=60
    )
    assert done.stdout == b"refused\n", done.stderr
