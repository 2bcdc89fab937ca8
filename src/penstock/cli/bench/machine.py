"""What a reader must know about the machine to weigh the figures. Names no host and no path."""

import importlib.metadata
import os
import platform
import sys
import time

from penstock import __version__
from penstock.cli.bench.disk import sync_loop
from penstock.cli.bench.figures import MEASURED, number, quantile

_PROBE_S = 1.0
_CALLS = 1_000_000
_BUSY_PER_CORE = 0.25
_PEER_CLIENTS = ("nats-py", "redis", "hiredis", "pika")


def describe(directory: str) -> dict[str, str]:
    """The machine, and the filesystem that `directory` is on."""
    count, latencies = sync_loop(os.path.join(directory, "probe"), bytes(200), _PROBE_S)
    return {
        MEASURED: time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": f"{_cpu_model()}, {len(os.sched_getaffinity(0))} cores usable",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "filesystem": _filesystem(directory),
        "append of 200 B and fdatasync": (
            f"{number(count / _PROBE_S)}/s, p50 {number(quantile(latencies, 0.5) * 1e6)} µs, "
            f"p99 {number(quantile(latencies, 0.99) * 1e6)} µs"
        ),
        "a million calls of an empty Python function": f"{number(_calls_s() * 1e3)} ms",
        "load before the run": told_load(os.getloadavg()[0], len(os.sched_getaffinity(0))),
        "Python": f"{platform.python_implementation()} {platform.python_version()}, uvloop {_version('uvloop')}",
        "penstock": __version__,
        "librdkafka client": f"confluent-kafka {_version('confluent-kafka')}",
        "clients of the peers": ", ".join(f"{name} {_version(name)}" for name in _PEER_CLIENTS),
    }


def _calls_s() -> float:
    """How fast the interpreter is: builds of the same version differ by a fifth (docs/adr/0009-mypyc.md)."""

    def nothing() -> None:
        pass

    least_s = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(_CALLS):
            nothing()
        least_s = min(least_s, time.perf_counter() - began)
    return least_s


def told_load(load: float, cores: int) -> str:
    """The load of the last minute, and what it means for the figures."""
    is_busy = load > _BUSY_PER_CORE * cores
    return f"{load:.2f} (1 minute)" + (
        ": **busy with other work, take no figure for good**" if is_busy else ""
    )


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _filesystem(directory: str) -> str:
    """Type and mount options that matter, of the mount whose path is the longest prefix."""
    here = os.path.realpath(directory)
    best = ("", "unknown")
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, mounted_at, kind, *_ = line.split()
            prefix = mounted_at.rstrip("/") + "/"
            if (here + "/").startswith(prefix) and len(prefix) > len(best[0]):
                best = (prefix, kind)
    return best[1]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def check_platform() -> str | None:
    """Why the benchmark cannot run here; None when it can."""
    if sys.platform != "linux":
        return "it reads /proc and needs Linux"
    return None
