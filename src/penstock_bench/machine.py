"""Describes the machine on which the results were measured. Names no host and no path."""

import importlib.metadata
import os
import platform
import re
import time
import timeit

from penstock import __version__
from penstock_bench.disk import sync_loop
from penstock_bench.figures import MEASURED, number, quantile

_PROBE_S = 1.0
_CALLS = 1_000_000
_BUSY_PER_CORE = 0.25
_PEER_CLIENTS = ("nats-py", "redis", "hiredis", "pika")


def describe(directory: str) -> dict[str, str]:
    """Describe the machine and the filesystem of `directory`."""
    latencies = sync_loop(os.path.join(directory, "probe"), bytes(200), _PROBE_S)
    # How fast the interpreter is: builds of the same version differ by a fifth.
    calls_s = min(timeit.repeat(lambda: None, number=_CALLS, repeat=3))
    return {
        MEASURED: time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": f"{_cpu_model()}, {len(os.sched_getaffinity(0))} cores usable",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "filesystem": _filesystem(directory),
        "append of 200 B and fdatasync": (
            f"{number(len(latencies) / _PROBE_S)}/s, p50 {number(quantile(latencies, 0.5) * 1e6)} µs, "
            f"p99 {number(quantile(latencies, 0.99) * 1e6)} µs"
        ),
        "a million calls of an empty Python function": f"{number(calls_s * 1e3)} ms",
        "load before the run": describe_load(os.getloadavg()[0], len(os.sched_getaffinity(0))),
        "Python": f"{platform.python_implementation()} {platform.python_version()}, uvloop {_version('uvloop')}",
        "penstock": __version__,
        "librdkafka client": f"confluent-kafka {_version('confluent-kafka')}",
        "clients of the peers": ", ".join(f"{name} {_version(name)}" for name in _PEER_CLIENTS),
    }


def describe_load(load: float, cores: int) -> str:
    """Describe the load of the last minute, with a warning when the machine is busy."""
    is_busy = load > _BUSY_PER_CORE * cores
    return f"{load:.2f} (1 minute)" + (
        ": **busy with other work, the figures are not reliable**" if is_busy else ""
    )


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return found[1] if found else platform.processor() or "unknown"


def _filesystem(directory: str) -> str:
    """Return the type of the mount whose path is the longest prefix."""
    here = os.path.realpath(directory) + "/"
    with open("/proc/mounts", encoding="utf-8") as file:
        mounts = [(each.split()[1].rstrip("/") + "/", each.split()[2]) for each in file]
    return max((each for each in mounts if here.startswith(each[0])), key=lambda each: len(each[0]))[1]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
