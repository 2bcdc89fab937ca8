"""(z) Where the time of a small Produce goes, and how late the event loop is under load."""

import os
import pstats
import re
import signal
import time
import urllib.request
from collections import defaultdict

from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.load_generator import produce_load
from penstock_bench.process import ServerFailed, ServerProcess, free_port

_TOPIC = "profiled"
_WARM_UP_S = 0.5
_LOAD_S = 3.0
_WRITTEN_WITHIN_S = 30.0
_LAG_LOAD_S = 15.0  # 150 timers: enough for a 99th percentile
_CONNECTIONS = {"1 producer": 1, "64 producers": 64}
_LAG = "event loop lag, p99, 64 producers"
_LAG_BUCKET = re.compile(r'^penstock_event_loop_lag_seconds_bucket\{le="([^"]+)"\} (\d+)', re.MULTILINE)

# Profiles itself between SIGUSR1 and SIGUSR2, and then writes the profile.
_RUN_PROFILED = """
import cProfile, signal
from penstock.cli.main import main
profile = cProfile.Profile()
def end(*_):
    profile.disable()
    profile.dump_stats({path!r})
signal.signal(signal.SIGUSR1, lambda *_: profile.enable())
signal.signal(signal.SIGUSR2, end)
main()
"""

_LAYERS = (
    ("system calls", re.compile(r"pwrite|uvloop|io_uring|syscall|select\.epoll")),
    ("connection and dispatch", re.compile(r"penstock/server/(connection|dispatch|memory|read_turns)")),
    ("check of the batch", re.compile(r"penstock/protocol/records|crc32c")),
    ("codec", re.compile(r"penstock/protocol")),
    ("sync", re.compile(r"penstock/storage/(flusher|ring|sync)\b")),
    ("log and segment", re.compile(r"penstock/storage")),
    ("handler and replica", re.compile(r"penstock/(server|cluster|security)")),
    (
        "clock, metrics, completions",
        re.compile(r"penstock/(observability|runtime)|time\.monotonic|time\.time"),
    ),
    ("Python's built-in functions", re.compile(r"")),
)


def run(bench: Bench) -> None:
    for kind, count in _CONNECTIONS.items():
        bench.log(f"profile: {kind}")
        _measure_cpu(bench, kind, count)
        _measure_shares(bench, kind, count)
    bench.log("event loop lag")
    _measure_lag(bench)


def _load(server: ServerProcess, connections: int, seconds: float) -> int:
    frame = frames.produce_frame(_TOPIC, [0], frames.batch(100, 1))
    with produce_load(server.address, _TOPIC, [[frame]] * connections) as generator:
        return generator.run(seconds).acknowledged


def _measure_cpu(bench: Bench, kind: str, connections: int) -> None:
    with bench.broker({_TOPIC: 1}) as (server, _):
        _load(server, connections, _WARM_UP_S)
        before = server.cpu_split_s()
        count = _load(server, connections, _LOAD_S)
        user_s, system_s = (now - then for now, then in zip(server.cpu_split_s(), before, strict=True))
    bench.board.add(f"{kind}, broker in Python and libraries", user_s / count * 1e6, "µs/request")
    bench.board.add(f"{kind}, broker in the kernel", system_s / count * 1e6, "µs/request")


def _measure_shares(bench: Bench, kind: str, connections: int) -> None:
    path = bench.path("profile")
    with bench.broker({_TOPIC: 1}, code=_RUN_PROFILED.format(path=path)) as (server, _):
        _load(server, connections, _WARM_UP_S)
        server.send_signal(signal.SIGUSR1)
        count = _load(server, connections, _LOAD_S)
        server.send_signal(signal.SIGUSR2)
        _await_file(path)
    by_layer, calls = shares_by_layer(path)
    for layer, share in sorted(by_layer.items(), key=lambda each: -each[1]):
        bench.board.add(f"{kind}, {layer}", share * 100, "% of the profile")
    bench.board.add(f"{kind}, calls", calls / count, "/request")


def _await_file(path: str) -> None:
    deadline_s = time.monotonic() + _WRITTEN_WITHIN_S
    while not os.path.exists(path):
        if time.monotonic() > deadline_s:
            raise ServerFailed(f"no profile was written within {_WRITTEN_WITHIN_S:g} s")
        time.sleep(0.05)


def _measure_lag(bench: Bench) -> None:
    port = free_port()
    with bench.broker({_TOPIC: 1}, [f"penstock.admin.listener=127.0.0.1:{port}"]) as (server, _):
        _load(server, _CONNECTIONS["64 producers"], _LAG_LOAD_S)
        bench.board.add(_LAG, _lag_p99_s(port) * 1000, "ms")


def shares_by_layer(path: str) -> tuple[dict[str, float], int]:
    """Return the share of each layer in the profiled time, and the total number of calls."""
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = pstats.Stats(path).stats  # type: ignore[attr-defined]  # typeshed leaves it out
    own_s: dict[str, float] = defaultdict(float)
    for (file, _, name), (_, _, own, _, _) in stats.items():
        own_s[layer_of(f"{file} {name}")] += own
    total_s = sum(own_s.values()) or 1.0
    calls = sum(counted[1] for counted in stats.values())
    return {layer: own / total_s for layer, own in own_s.items()}, calls


def layer_of(function: str) -> str:
    """Return the layer of a function, given with its path."""
    return next(layer for layer, pattern in _LAYERS if pattern.search(function))


def _lag_p99_s(admin_port: int) -> float:
    """Return the upper bound of the histogram bucket with the 99th percentile."""
    with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/metrics", timeout=30) as response:
        text = response.read().decode()
    buckets = [(float(bound), int(count)) for bound, count in _LAG_BUCKET.findall(text)]
    total = buckets[-1][1]
    return next(bound for bound, count in buckets if count >= 0.99 * total)
