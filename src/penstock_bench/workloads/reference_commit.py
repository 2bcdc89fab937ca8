"""(D) The same broker at another commit: small and batched requests, catch-up reads, start and idle memory."""

import compileall
import os
import subprocess
from collections.abc import Sequence

import penstock
from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.load_generator import produce_load
from penstock_bench.raw_client import RawClient
from penstock_bench.workloads.machine.logs import consume_all, fill, measure_starts
from penstock_bench.workloads.machine.producers import produce_with_librdkafka

_TOPIC = "reference"
_MESSAGE_BYTES = 1024
_FETCH_BYTES = 1 << 20
_HERE, _THERE = "", ", reference"
_PARTITIONS = 64
_CPU = ", broker CPU"


def _small_requests() -> dict[str, tuple[Sequence[Sequence[bytes]], int]]:
    """The frames of each connection, and how many it has in flight."""
    one, sixteen = (
        [[frames.produce_frame(_TOPIC, [each], batch)] for each in range(_PARTITIONS)]
        for batch in (frames.batch(100, 1), frames.batch(_MESSAGE_BYTES, 16))
    )
    return {
        "1 producer": (one[:1], 1),
        "64 producers on 1 partition": (one[:1] * 64, 1),
        "64 producers on 64 partitions": (one, 1),
        "pipelined, 1 message of 100 B": (one[:1] * 4, 16),
        "pipelined, 16 of 1 KiB": (sixteen[:1] * 4, 16),
    }


def run(bench: Bench) -> None:
    assert bench.against is not None
    sources = {_HERE: os.path.dirname(os.path.dirname(penstock.__file__)), _THERE: bench.against}
    for source in sources.values():
        compileall.compile_dir(os.path.join(source, "penstock"), quiet=2)
    for number in bench.rounds("this commit and the reference"):
        for mark in (_HERE, _THERE) if number % 2 == 0 else (_THERE, _HERE):
            _measure_small(bench, mark, sources[mark])
            _measure_bulk(bench, mark, sources[mark])
            _measure_reads(bench, mark, sources[mark])
            measure_starts(bench, "start", mark, sources[mark])
    for what in (
        *(what + part for what in _small_requests() for part in ("", _CPU)),
        "batched, 1 KiB messages",
        "batched, broker CPU",
        "batched, written to disk",
        "raw fetches of 1 MiB",
        "librdkafka consumer",
        "start, new directory",
        "start, existing directory",
        "idle memory (RSS)",
    ):
        bench.board.ratio(f"{what} / reference", what, what + _THERE)
    bench.board.note(f"The reference is commit {_commit(bench.against)}.")


def _measure_small(bench: Bench, mark: str, source: str) -> None:
    with bench.broker({_TOPIC: _PARTITIONS}, source=source) as (server, _):
        for what, (load_frames, window) in _small_requests().items():
            with produce_load(server.address, _TOPIC, load_frames, window) as generator:
                generator.run(min(0.5, bench.scale.round_s))
                with server.usage() as used:
                    load = generator.run(bench.scale.round_s)
            bench.board.add(f"{what}{mark}", load.rate, "/s")
            bench.board.add(f"{what}{_CPU}{mark}", used.cpu_s / load.acknowledged * 1e6, "µs/request")


def _measure_bulk(bench: Bench, mark: str, source: str) -> None:
    count = bench.scale.bulk_messages[_MESSAGE_BYTES]
    with bench.broker({_TOPIC: 1}, source=source) as (server, _):
        written = server.written_bytes()
        used = produce_with_librdkafka(server, _TOPIC, _MESSAGE_BYTES, count)
        bench.board.add(f"batched, 1 KiB messages{mark}", count / used.took_s, "messages/s")
        bench.board.add(f"batched, broker CPU{mark}", used.cpu_s / count * 1e6, "s per million messages")
        bench.board.add(f"batched, written to disk{mark}", (server.written_bytes() - written) / 1e6, "MB")


def _measure_reads(bench: Bench, mark: str, source: str) -> None:
    with bench.broker({_TOPIC: 1}, source=source) as (server, _):
        fill(server, _TOPIC, bench.scale.read_log_bytes)
        with RawClient(server.address, receive_bytes_max=16 << 20) as client:
            end = client.end_offset(_TOPIC)
            with server.usage() as used:
                size = client.read_to(_TOPIC, end, bytes_max=_FETCH_BYTES)
            bench.board.add(f"raw fetches of 1 MiB{mark}", size / used.took_s / 1e6, "MB/s")
        took_s = consume_all(server.bootstrap, _TOPIC, end)
        bench.board.add(f"librdkafka consumer{mark}", size / took_s / 1e6, "MB/s")


def _commit(source: str) -> str:
    output = subprocess.run(  # noqa: S603 - fixed arguments and a directory that exists
        ["git", "-C", source, "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return output.stdout.strip() or "unknown: not in a git work tree"
