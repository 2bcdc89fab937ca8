"""A description of the machine, for the readers of the figures. Names no host and no path."""

import importlib.metadata
import os
import platform
import sys
import time

from penstock import __version__
from penstock_bench.disk import sync_loop
from penstock_bench.figures import MEASURED, number, quantile

_PROBE_S = 1.0
_CALLS = 1_000_000
_BUSY_PER_CORE = 0.25
_PEER_CLIENTS = ("nats-py", "redis", "hiredis", "pika")


def describe(directory: str) -> dict[str, str]:
    """Describe the machine and the filesystem of `directory`."""
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
        "load before the run": describe_load(os.getloadavg()[0], len(os.sched_getaffinity(0))),
        "Python": f"{platform.python_implementation()} {platform.python_version()}, uvloop {_version('uvloop')}",
        "penstock": __version__,
        "librdkafka client": f"confluent-kafka {_version('confluent-kafka')}",
        "clients of the peers": ", ".join(f"{name} {_version(name)}" for name in _PEER_CLIENTS),
    }


def _calls_s() -> float:
    """Measure how fast the interpreter is: builds of the same version differ by a fifth."""

    def nothing() -> None:
        pass

    least_s = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(_CALLS):
            nothing()
        least_s = min(least_s, time.perf_counter() - began)
    return least_s


def describe_load(load: float, cores: int) -> str:
    """Describe the load of the last minute, with a warning when the machine is busy."""
    is_busy = load > _BUSY_PER_CORE * cores
    return f"{load:.2f} (1 minute)" + (
        ": **busy with other work, the figures are not reliable**" if is_busy else ""
    )


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _filesystem(directory: str) -> str:
    """Return the type of the mount whose path is the longest prefix."""
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
    """Return why the benchmark cannot run here, or None."""
    if sys.platform != "linux":
        return "it reads /proc and needs Linux"
    return None
