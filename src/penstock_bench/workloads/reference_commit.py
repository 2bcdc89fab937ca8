"""(D) The same broker at another commit: batched throughput, catch-up reads, start and idle memory."""

import compileall
import os
import subprocess
import time

import penstock
from penstock_bench import frames, librdkafka_clients
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.raw_client import RawClient
from penstock_bench.workloads.machine.catch_up import fill

_TOPIC = "reference"
_MESSAGE_BYTES = 1024
_FETCH_BYTES = 1 << 20
_IDLE_S = 1.0
_BULK = "batched, 1 KiB messages"
_BULK_CPU = "batched, broker CPU"
_WRITTEN = "batched, written to disk"
_RAW_READ = "raw fetches of 1 MiB"
_CLIENT_READ = "librdkafka consumer"
_FIRST = "start, new directory"
_AGAIN = "start, existing directory"
_RSS = "idle memory (RSS)"
_HERE, _THERE = "", ", reference"


def run(bench: Bench) -> Findings:
    assert bench.against is not None
    cells = Cells()
    here = os.path.dirname(os.path.dirname(penstock.__file__))
    sources = {_HERE: here, _THERE: bench.against}
    for source in sources.values():
        compileall.compile_dir(os.path.join(source, "penstock"), quiet=2)
    for number in bench.rounds("this commit and the reference"):
        for mark in (_HERE, _THERE) if number % 2 == 0 else (_THERE, _HERE):
            _measure_bulk(bench, cells, mark, sources[mark])
            _measure_reads(bench, cells, mark, sources[mark])
            _measure_start(bench, cells, mark, sources[mark])
    ratios = tuple(
        cells.ratio(f"{what} / reference", what, what + _THERE)
        for what in (_BULK, _BULK_CPU, _WRITTEN, _RAW_READ, _CLIENT_READ, _FIRST, _AGAIN, _RSS)
    )
    notes = (f"The reference is commit {_commit(bench.against)}.",)
    return Findings(ratios=ratios, figures=cells.figures(), notes=notes)


def _measure_bulk(bench: Bench, cells: Cells, mark: str, source: str) -> None:
    count = bench.scale.bulk_messages[_MESSAGE_BYTES]
    with bench.broker({_TOPIC: 1}, source) as (server, _):
        cpu_s, written = server.cpu_s(), server.written_bytes()
        took_s = librdkafka_clients.produce_bulk(server.bootstrap, _TOPIC, _MESSAGE_BYTES, count)
        cells.add(_BULK + mark, count / took_s, "messages/s")
        cells.add(_BULK_CPU + mark, (server.cpu_s() - cpu_s) / count * 1e6, "s per million messages")
        cells.add(_WRITTEN + mark, (server.written_bytes() - written) / 1e6, "MB")


def _measure_reads(bench: Bench, cells: Cells, mark: str, source: str) -> None:
    with bench.broker({_TOPIC: 1}, source) as (server, _):
        fill(server, _TOPIC, bench.scale.read_log_bytes)
        with RawClient(server.address, receive_bytes_max=16 << 20) as client:
            end = client.end_offset(_TOPIC, 0)
            began = time.perf_counter()
            size = client.read_to(_TOPIC, 0, end, bytes_max=_FETCH_BYTES)
            cells.add(_RAW_READ + mark, size / (time.perf_counter() - began) / 1e6, "MB/s")
        began = time.perf_counter()
        librdkafka_clients.consume_all(server.bootstrap, _TOPIC, end)
        cells.add(_CLIENT_READ + mark, size / (time.perf_counter() - began) / 1e6, "MB/s")


def _measure_start(bench: Bench, cells: Cells, mark: str, source: str) -> None:
    frame = frames.produce_frame(_TOPIC, [0], frames.batch(100, 1))
    with bench.directory() as data_dir:
        for label in (_FIRST, _AGAIN):
            with bench.start(data_dir, source=source) as server:
                with RawClient(server.address) as client:
                    if label == _FIRST:
                        client.create_topics({_TOPIC: 1})
                    client.produce(frame)
                    cells.add(label + mark, time.perf_counter() - server.started_at, "s")
                if label == _FIRST:
                    time.sleep(_IDLE_S)
                    cells.add(_RSS + mark, server.memory().rss_mib, "MiB")
                server.stop()


def _commit(source: str) -> str:
    output = subprocess.run(  # noqa: S603 - fixed arguments and a directory that exists
        ["git", "-C", source, "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return output.stdout.strip() or "unknown: not in a git work tree"
