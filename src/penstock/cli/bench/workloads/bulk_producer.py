"""(a) One librdkafka producer with its own batching, against writing the same bytes with as many syncs."""

from penstock.cli.bench import disk, librdkafka_clients
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Goal, Section
from penstock.cli.bench.syncs import SyncCounter, count_batches

KEY = "a"
TITLE = "One producer, batched by librdkafka, synced before each acknowledgement"
METHOD = (
    "One `confluent-kafka` producer with its default batching and `acks=all` fills one partition; the clock runs from "
    "the first `produce` to the last acknowledgement. The reference writes as many bytes as the log has grown by, in "
    "as many equal pieces as the broker did syncs, with an `fdatasync` after each. Bytes written to disk are those "
    "that the kernel counts for the broker's process (`write_bytes` of /proc/PID/io), over the bytes of the batches "
    "in the log: the counters of the device would hold everybody else's writes too. The filesystem's own journal is "
    "in neither."
)
_TOPIC = "bulk"
_WRITTEN_GOALS = {1024: Goal(side="at most", bound=1.1)}


def run(bench: Bench) -> Section:
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
                _WRITTEN_GOALS.get(message_bytes),
            )
        )
    return Section(
        key=KEY, title=TITLE, method=METHOD, ratios=tuple(ratios), figures=cells.figures(), notes=tuple(notes)
    )


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
