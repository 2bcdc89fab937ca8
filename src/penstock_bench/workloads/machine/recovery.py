"""(h) How long a start takes when the broker was killed while a producer filled a large log."""

import time

from penstock_bench import disk
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.raw_client import RawClient
from penstock_bench.workloads.machine.catch_up import fill

_TOPIC = "large"
_ROOM_FACTOR = 1.3


def run(bench: Bench) -> Findings:
    size = bench.scale.recovery_log_bytes
    room = bench.free_bytes()
    if room < size * _ROOM_FACTOR:
        wanted = size * _ROOM_FACTOR
        reason = f"a log of {size / 1e9:g} GB needs {wanted / 1e9:g} GB of room; there are {room / 1e9:.1f}"
        return Findings(failure=reason)
    cells = Cells()
    with bench.directory() as data_dir:
        bench.log(f"filling a log of {size / 1e9:g} GB")
        with bench.start(data_dir) as server:
            with RawClient(server.address) as client:
                client.create_topics({_TOPIC: 1})
            began = time.perf_counter()
            acknowledged = fill(server, _TOPIC, size)
            cells.add("filled at", size / (time.perf_counter() - began) / 1e6, "MB/s")
            server.kill()
        bench.log("starting after SIGKILL")
        with bench.start(data_dir) as server:
            cells.add("start after SIGKILL", server.ready_s, "s")
            cells.add("processor time of that start", server.cpu_s(), "s")
            with RawClient(server.address) as client:
                end = client.end_offset(_TOPIC, 0)
            cells.add("acknowledged but missing", max(0, acknowledged - end), "records")
            server.stop()
        with bench.start(data_dir) as server:
            cells.add("start after a clean stop", server.ready_s, "s")
            server.stop()
        cells.add("cat of the files", disk.cat(disk.segment_files(data_dir, _TOPIC)), "s")
    ratios = (
        cells.ratio(
            "start after SIGKILL / after a clean stop", "start after SIGKILL", "start after a clean stop"
        ),
        cells.ratio("start after SIGKILL / cat of the files", "start after SIGKILL", "cat of the files"),
    )
    return Findings(ratios=ratios, figures=cells.figures())
