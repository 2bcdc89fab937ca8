"""(d) Reading a log from its start, against `cat` of its files."""

import time

from penstock_bench import disk, frames, librdkafka_clients
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.load_generator import LoadGenerator
from penstock_bench.process import ServerProcess
from penstock_bench.raw_client import RawClient

_TOPIC = "reads"
_MESSAGE_BYTES = 1024
_BATCH_MESSAGES = 16
_FETCHES = {"1 MiB": 1 << 20, "8 MiB": 8 << 20}


def run(bench: Bench) -> Findings:
    cells = Cells()
    with bench.broker({_TOPIC: 1}) as (server, data_dir):
        bench.log("filling the log to read")
        fill(server, _TOPIC, bench.scale.read_log_bytes)
        files = disk.segment_files(data_dir, _TOPIC)
        with RawClient(server.address, receive_bytes_max=16 << 20) as client:
            for temperature in ("warm", "cold"):
                for _ in bench.rounds(f"catch-up reads, {temperature}"):
                    _round(cells, server, client, files, temperature)
    ratios = tuple(
        cells.ratio(
            f"{who}, {temperature} / {reference}", f"{who}, {temperature}", f"{reference}, {temperature}"
        )
        for temperature in ("warm", "cold")
        for reference in ("cat", "loopback")
        for who in ("raw fetches of 1 MiB", "raw fetches of 8 MiB", "librdkafka consumer")
    )
    return Findings(ratios=ratios, figures=cells.figures())


def fill(server: ServerProcess, topic: str, size_bytes: int) -> int:
    """Write that many bytes of batches to partition 0, and return how many records were acknowledged."""
    batch = frames.batch(_MESSAGE_BYTES, _BATCH_MESSAGES)
    frame = frames.produce_frame(topic, [0], batch)
    enough = size_bytes // len(batch)
    with LoadGenerator(server.address, [frame] * 4, frames.AnswerShape(topic), window=16) as generator:
        load = generator.run(duration_s=600, until=lambda acknowledged: acknowledged >= enough)
    return load.acknowledged * _BATCH_MESSAGES


def _round(
    cells: Cells, server: ServerProcess, client: RawClient, files: list[str], temperature: str
) -> None:
    size = disk.total_bytes(files)
    end = client.end_offset(_TOPIC, 0)

    def prepare() -> None:
        if temperature == "cold":
            disk.drop_page_cache(files)

    prepare()
    cells.add(f"cat, {temperature}", size / disk.cat(files) / 1e6, "MB/s")
    prepare()
    cells.add(f"loopback, {temperature}", size / disk.cat_over_loopback(files) / 1e6, "MB/s")
    for size_name, bytes_max in _FETCHES.items():
        prepare()
        watch = _Watch(server)
        read = client.read_to(_TOPIC, 0, end, bytes_max=bytes_max)
        watch.add(cells, f"raw fetches of {size_name}, {temperature}", read)
    prepare()
    watch = _Watch(server)
    librdkafka_clients.consume_all(server.bootstrap, _TOPIC, end)
    watch.add(cells, f"librdkafka consumer, {temperature}", size)
    cells.add(f"librdkafka consumer, {temperature}, messages", end / watch.took_s, "messages/s")


class _Watch:
    """Measures wall time and the broker's processor time of one read."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._cpu_s = server.cpu_s()
        self._began = time.perf_counter()
        self.took_s = 0.0

    def add(self, cells: Cells, label: str, size_bytes: int) -> None:
        self.took_s = time.perf_counter() - self._began
        cells.add(label, size_bytes / self.took_s / 1e6, "MB/s")
        cells.add(f"{label}, broker CPU", (self._server.cpu_s() - self._cpu_s) / size_bytes * 1e9, "s per GB")
