"""(a) One librdkafka producer with its own batching, against writing the same bytes with as many syncs."""

from penstock_bench import disk, librdkafka_clients
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.syncs import SyncCounter, count_batches

_TOPIC = "bulk"


def run(bench: Bench) -> Findings:
    cells = Cells()
    notes: list[str] = []
    ratios = []
    for message_bytes, count in bench.scale.bulk_messages.items():
        for _ in bench.rounds(f"{count:,} messages of {message_bytes} B"):
            notes = [_measure(bench, cells, message_bytes, count)]
        ratios.append(
            cells.ratio(
                f"librdkafka, {message_bytes} B messages / raw writes with the same syncs",
                f"log written by the broker, {message_bytes} B messages",
                f"raw writes with the same syncs, {message_bytes} B messages",
            )
        )
        ratios.append(
            cells.ratio(
                f"written to disk / size of the log, {message_bytes} B messages",
                f"written to disk, {message_bytes} B messages",
                f"size of the log, {message_bytes} B messages",
            )
        )
    return Findings(ratios=tuple(ratios), figures=cells.figures(), notes=tuple(notes))


def _measure(bench: Bench, cells: Cells, message_bytes: int, count: int) -> str:
    of = f"{message_bytes} B messages"
    with bench.broker({_TOPIC: 1}) as (server, data_dir):
        counter = SyncCounter(server.pid)
        cpu_s, disk_bytes = server.cpu_s(), server.written_bytes()
        took_s = librdkafka_clients.produce_bulk(server.bootstrap, _TOPIC, message_bytes, count)
        cpu_s, disk_bytes = server.cpu_s() - cpu_s, server.written_bytes() - disk_bytes
        batches, written = count_batches(disk.segment_files(data_dir, _TOPIC))
        syncs = counter.stop(batches)
    raw_s = disk.write_with_syncs(bench.path("raw"), written, syncs.count)
    cells.add(f"messages acknowledged, {of}", count / took_s, "messages/s")
    cells.add(f"log written by the broker, {of}", written / took_s / 1e6, "MB/s")
    cells.add(f"raw writes with the same syncs, {of}", written / raw_s / 1e6, "MB/s")
    cells.add(f"written to disk, {of}", disk_bytes / 1e6, "MB")
    cells.add(f"size of the log, {of}", written / 1e6, "MB")
    cells.add(f"batches, {of}", batches, "")
    cells.add(f"syncs, {of}", syncs.count, "")
    cells.add(f"broker busy, {of}", cpu_s / took_s, "cores")
    cells.add(f"broker CPU, {of}", cpu_s / count * 1e6, "s per million messages")
    how = (
        "counted in the kernel by perf"
        if syncs.is_counted
        else "taken as one for each batch (no perf): an upper bound"
    )
    return f"Syncs were {how}. A broker busy with less than one core waited for the client or for the disk."
