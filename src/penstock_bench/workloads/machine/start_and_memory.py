"""(f) From starting the process to the first acknowledged produce, and memory when idle."""

import subprocess
import sys
import time

from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.process import memory_of
from penstock_bench.raw_client import RawClient

_TOPIC = "start"
_IDLE_S = 1.0
_FIRST = "start to first acknowledged produce, new directory"
_AGAIN = "start to first acknowledged produce, existing directory"
_RSS = "idle memory (RSS)"
_BARE_START = "bare `python -c pass`"
_BARE_RSS = "bare Python process (RSS)"


def run(bench: Bench) -> Findings:
    cells = Cells()
    frame = frames.produce_frame(_TOPIC, [0], frames.batch(100, 1))
    for number in range(bench.scale.starts):
        bench.log(f"start {number + 1} of {bench.scale.starts}")
        with bench.directory() as data_dir:
            for label in (_FIRST, _AGAIN):
                with bench.start(data_dir) as server:
                    with RawClient(server.address) as client:
                        if label == _FIRST:
                            client.create_topics({_TOPIC: 1})
                        client.produce(frame)
                        cells.add(label, time.perf_counter() - server.started_at, "s")
                    if label == _FIRST:
                        time.sleep(_IDLE_S)
                        memory = server.memory()
                        cells.add(_RSS, memory.rss_mib, "MiB")
                        cells.add("idle memory (PSS)", memory.pss_mib, "MiB")
                        cells.add("open files when idle", server.open_files(), "")
                    else:
                        cells.add("process start to ready line, existing directory", server.ready_s, "s")
                    cells.add("clean stop", server.stop(), "s")
        _measure_bare_python(cells)
    ratios = (
        cells.ratio("start to first acknowledged produce / bare Python", _FIRST, _BARE_START),
        cells.ratio("idle memory (RSS) / bare Python", _RSS, _BARE_RSS),
    )
    # Each start gives two stops: their series is longer, which only a ratio would mind.
    return Findings(ratios=ratios, figures=cells.figures())


def _measure_bare_python(cells: Cells) -> None:
    began = time.perf_counter()
    # Our own interpreter with fixed arguments.
    subprocess.run([sys.executable, "-c", "pass"], check=True, timeout=60)
    cells.add(_BARE_START, time.perf_counter() - began, "s")
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare:  # noqa: S603
        assert bare.stdin is not None
        assert bare.stdout is not None
        bare.stdout.readline()
        cells.add(_BARE_RSS, memory_of(bare.pid).rss_mib, "MiB")
        bare.stdin.write(b"\n")
