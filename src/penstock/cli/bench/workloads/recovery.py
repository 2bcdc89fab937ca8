"""(h) How long a start takes when the broker was killed while a producer filled a large log."""

import time

from penstock.cli.bench import disk
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Section
from penstock.cli.bench.raw_client import RawClient
from penstock.cli.bench.workloads.catch_up import fill

KEY = "h"
TITLE = "Recovery of a large log after SIGKILL"
METHOD = (
    "A producer with 64 requests in flight fills one partition; when the log has its size the broker is killed with "
    "requests still in flight and started again. The start ends with the ready line. Then a clean stop and a "
    "start, for comparison, and `cat` of the files: what reading all of them would take."
)
_TOPIC = "large"
_ROOM_FACTOR = 1.3


def run(bench: Bench) -> Section:
    size = bench.scale.recovery_log_bytes
    room = bench.room_bytes()
    if room < size * _ROOM_FACTOR:
        wanted = size * _ROOM_FACTOR
        reason = f"a log of {size / 1e9:g} GB needs {wanted / 1e9:g} GB of room; there are {room / 1e9:.1f}"
        return Section(key=KEY, title=TITLE, method=METHOD, failure=reason)
    cells = Cells()
    with bench.directory() as data_dir:
        bench.say(f"filling a log of {size / 1e9:g} GB")
        with bench.start(data_dir) as server:
            with RawClient(server.address) as client:
                client.create_topics({_TOPIC: 1})
            began = time.perf_counter()
            acknowledged = fill(server, _TOPIC, size)
            cells.add("filled at", size / (time.perf_counter() - began) / 1e6, "MB/s")
            server.kill()
        bench.say("starting after SIGKILL")
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
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=ratios, figures=cells.figures())
