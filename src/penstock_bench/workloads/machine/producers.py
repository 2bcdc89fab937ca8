"""(a), (b), (c), (e): what one producer, many and raw requests get, against the disk and a server without work."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from penstock_bench import disk, frames
from penstock_bench.context import Bench
from penstock_bench.load_generator import produce_load
from penstock_bench.peers.clients.kafka import KafkaClient
from penstock_bench.peers.tasks import place_on
from penstock_bench.process import ServerProcess, Usage, start_null_server
from penstock_bench.raw_client import RawClient
from penstock_bench.syncs import SyncCounter, count_batches
from penstock_bench.timing import repeat_for

_TOPIC = "produced"
_BULK_S_MAX = 600.0
_WARM_UP_S = 0.3  # first requests pay for imports


# -- (a) one librdkafka producer with its own batching, against writing the same bytes with as many syncs


def produce_bulk(bench: Bench) -> None:
    for message_bytes, count in bench.scale.bulk_messages.items():
        of = f"{message_bytes} B messages"
        for _ in bench.rounds(f"{count:,} messages of {message_bytes} B"):
            _measure_bulk(bench, message_bytes, count, of)
        bench.board.ratio(
            f"librdkafka, {of} / raw writes with the same syncs",
            f"log written by the broker, {of}",
            f"raw writes with the same syncs, {of}",
        )
        bench.board.ratio(
            f"written to disk / size of the log, {of}", f"written to disk, {of}", f"size of the log, {of}"
        )


def _measure_bulk(bench: Bench, message_bytes: int, count: int, of: str) -> None:
    with bench.broker({_TOPIC: 1}) as (server, data_dir):
        counter = SyncCounter(server.pid)
        disk_bytes = server.written_bytes()
        used = produce_with_librdkafka(server, _TOPIC, message_bytes, count)
        took_s = used.took_s
        disk_bytes = server.written_bytes() - disk_bytes
        batches, written = count_batches(disk.segment_files(data_dir, _TOPIC))
        syncs = counter.stop(batches)
    raw_s = disk.write_with_syncs(bench.path("raw"), written, syncs.count)
    for what, value, unit in (
        ("messages acknowledged", count / took_s, "messages/s"),
        ("log written by the broker", written / took_s / 1e6, "MB/s"),
        ("raw writes with the same syncs", written / raw_s / 1e6, "MB/s"),
        ("written to disk", disk_bytes / 1e6, "MB"),
        ("size of the log", written / 1e6, "MB"),
        ("batches", batches, ""),
        ("syncs", syncs.count, ""),
        ("broker busy", used.cpu_s / took_s, "cores"),
        ("broker CPU", used.cpu_s / count * 1e6, "s per million messages"),
    ):
        bench.board.add(f"{what}, {of}", value, unit)
    bench.board.note(
        "Syncs were counted in the kernel by perf."
        if syncs.is_counted
        else "Syncs were taken as one for each batch (no perf): an upper bound."
    )
    bench.board.note("A broker busy with less than one core waited for the client or for the disk.")


def produce_with_librdkafka(
    server: ServerProcess, topic: str, message_bytes: int, count: int, **settings: Any
) -> Usage:
    """Measure from the first `produce` to the last acknowledgement, with default batching."""
    client = KafkaClient(place_on(server.address, topic), **settings)
    client.open_publisher()
    with server.usage() as used:
        client.publish_many(b"x" * message_bytes, count, _BULK_S_MAX)
    return used


# -- (b) a producer with one request in flight, against a bare loop of write and fdatasync

_MESSAGE_BYTES = (100, 1024)
_LOOP = "bare fdatasync loop"
_GROWN_LOOP = "bare fdatasync loop in a file grown beforehand"
_GROWN_BYTES = 64 << 20


def produce_alone(bench: Bench) -> None:
    board, duration_s = bench.board, bench.scale.round_s
    topics = {_TOPIC: 1, f"{_TOPIC}-librdkafka": 1}
    with bench.broker(topics) as (server, _), RawClient(server.address) as client:
        librdkafka = KafkaClient(place_on(server.address, f"{_TOPIC}-librdkafka"))
        librdkafka.open_publisher()
        for size in _MESSAGE_BYTES:
            batch = frames.batch(size, 1)
            frame = frames.produce_frame(_TOPIC, [0], batch)
            client.produce_for(frame, min(_WARM_UP_S, duration_s))
            for _ in bench.rounds(f"lone producer, {size} B"):
                path = bench.path("loop")
                latencies = {
                    _LOOP: disk.sync_loop(path, batch, duration_s),
                    _GROWN_LOOP: disk.sync_loop(path, batch, duration_s, grown_to_bytes=_GROWN_BYTES),
                }
                with server.usage() as used:
                    latencies["raw client"] = client.produce_for(frame, duration_s)
                cpu_us = used.cpu_s / len(latencies["raw client"]) * 1e6
                board.add(f"broker CPU, raw client, {size} B", cpu_us, "µs/request")
                latencies["librdkafka"] = repeat_for(duration_s, partial(librdkafka.publish_one, b"x" * size))
                for who, each in latencies.items():
                    board.add(f"{who}, {size} B", len(each) / sum(each), "/s")
                    board.add_latencies(f"{who}, {size} B", each, "µs")
    for size in _MESSAGE_BYTES:
        for who in ("raw client", "librdkafka"):
            for loop in (_LOOP, _GROWN_LOOP):
                board.ratio(f"{who}, {size} B / {loop}", f"{who}, {size} B", f"{loop}, {size} B")


# -- (c) many synchronous producers at once, against one: one sync must serve all who wait

_PRODUCERS = 64
_PARTITIONS = 1_000
_ONE = "1 producer"
_MANY = "64 producers on 1 partition"
_APART = "64 producers on 64 partitions"
_SPREAD = f"64 producers on {_PARTITIONS:,} partitions"
_CPU = ", broker CPU"
_SLOW = ", syncs 1 ms longer"
_RUN_ON_SLOW_DISK = """
import time
from penstock.cli.main import main
from penstock.storage import files
class SlowFile(files.RealFile):
    descriptor = None  # without it the broker does not sync through io_uring
    def sync(self):
        time.sleep(0.001)
        super().sync()
files.RealFile = SlowFile
main()
"""


def share_syncs(bench: Bench) -> None:
    board = bench.board
    batch = frames.batch(100, 1)
    by_partition = [[frames.produce_frame(_TOPIC, [each], batch)] for each in range(_PARTITIONS)]
    # The frames of each connection for each kind of load.
    kinds: dict[str, Sequence[Sequence[bytes]]] = {
        _ONE: by_partition[:1],
        _MANY: by_partition[:1] * _PRODUCERS,
        _APART: by_partition[:_PRODUCERS],
        _SPREAD: [[frame for (frame,) in by_partition[first::_PRODUCERS]] for first in range(_PRODUCERS)],
    }
    with (
        bench.broker({_TOPIC: _PARTITIONS}) as (server, _),
        bench.broker({_TOPIC: 1}, code=_RUN_ON_SLOW_DISK) as (slow_server, _),
    ):
        loads = [(kind, server, kind_frames) for kind, kind_frames in kinds.items()]
        loads += [(f"{kind}{_SLOW}", slow_server, kinds[kind]) for kind in (_ONE, _MANY)]
        for _, loaded, kind_frames in loads:
            with produce_load(loaded.address, _TOPIC, kind_frames) as generator:
                generator.run(min(_WARM_UP_S, bench.scale.round_s))
        for _ in bench.rounds("64 synchronous producers"):
            for kind, loaded, kind_frames in loads:
                with produce_load(loaded.address, _TOPIC, kind_frames) as generator, loaded.usage() as used:
                    load = generator.run(bench.scale.round_s)
                board.add(kind, load.rate, "/s")
                board.add_latencies(kind, load.latencies_s, "ms")
                board.add(f"{kind}{_CPU}", used.cpu_s / load.acknowledged * 1e6, "µs/request")
    for mark in ("", _SLOW):
        board.ratio(f"{_MANY}{mark} / 1 producer", f"{_MANY}{mark}", f"{_ONE}{mark}")
    for kind in (_APART, _SPREAD):
        for mark in ("", _CPU):
            board.ratio(f"{kind}{mark} / on 1 partition", kind + mark, _MANY + mark)


# -- (e) Produce requests a second from a generator that is not the limit, against a server that does nothing

_CONNECTIONS = 4
_WINDOW = 16


def produce_raw(bench: Bench) -> None:
    batches = {
        "1 message of 100 B": frames.batch(100, 1),
        "16 of 1 KiB": frames.batch(1024, 16),
        "128 of 1 KiB": frames.batch(1024, 128),
        "160 of 100 B": frames.batch(100, 160),
        "160 keyed, of 50 to 150 B": frames.varied_batch(100, 160),
    }
    answer_bytes = frames.AnswerCounter(_TOPIC).size_bytes
    with (
        bench.broker({_TOPIC: _CONNECTIONS}) as (server, _),
        start_null_server(answer_bytes, bench.path("null.log")) as null,
    ):
        for kind, batch in batches.items():
            spread = [[frames.produce_frame(_TOPIC, [each], batch)] for each in range(_CONNECTIONS)]
            targets: list[tuple[str, ServerProcess, Sequence[Sequence[bytes]]]] = [
                (f"null server, {kind}", null, spread),
                (f"{kind}, 1 partition", server, spread[:1] * _CONNECTIONS),
                (f"{kind}, 4 partitions", server, spread),
            ]
            for _ in bench.rounds(f"raw Produce requests, {kind}"):
                for label, target, load_frames in targets:
                    with (
                        produce_load(target.address, _TOPIC, load_frames, _WINDOW) as generator,
                        target.usage() as used,
                    ):
                        load = generator.run(bench.scale.round_s)
                    bench.board.add(label, load.rate, "requests/s")
                    bench.board.add(f"{label}, data", load.rate * len(batch) / 1e6, "MB/s")
                    bench.board.add(f"{label}, CPU", used.cpu_s / load.acknowledged * 1e6, "µs/request")
            for on in ("1 partition", "4 partitions"):
                bench.board.ratio(f"{kind}, {on} / null server", f"{kind}, {on}", f"null server, {kind}")
    bench.board.note(f"Generator and broker share {len(os.sched_getaffinity(0))} cores.")
