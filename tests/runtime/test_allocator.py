"""Tuning the C library's allocator."""

import subprocess
import sys

_SCRIPT = """
import resource
from penstock.runtime.allocator import keep_freed_memory

def faults(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        kept = [bytearray(1 << 20) for _ in range(4)]
        del kept
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(5)
plain = faults(50)
assert keep_freed_memory()
faults(5)
print(plain, faults(50))
"""


def test_freed_memory_is_reused_without_a_system_call() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    plain, tuned = map(int, done.stdout.split())
    assert tuned < plain / 10


_CYCLES = """
import gc
from penstock.runtime.allocator import collect_less_often

searches = 0
def count(phase, info):
    global searches
    searches += phase == "start"

def make(count):
    for _ in range(count):
        cycle = []
        cycle.append(cycle)

gc.callbacks.append(count)
make(9_000)  # Python 3.13 looks for cycles after 2,000 new objects, earlier ones after 700
plain = searches
gc.collect()
collect_less_often()
searches = 0
make(9_000)
few = searches
make(50_000)
print(plain, few, searches)
"""


def test_the_garbage_collector_runs_rarely_but_still_runs() -> None:
    done = subprocess.run([sys.executable, "-c", _CYCLES], capture_output=True, text=True, check=True)
    plain, few, later = map(int, done.stdout.split())
    assert plain >= 4
    assert few <= 1
    assert later >= 4


_IMPORTS = """
import gc
from penstock.runtime.allocator import imports_uncollected

phases = []
gc.callbacks.append(lambda phase, info: phases.append(phase))
gc.collect()
phases.clear()
with imports_uncollected():
    import penstock.server.broker
during, watched = len(phases), len(gc.get_objects())
gc.collect()
print(during, watched, gc.get_freeze_count(), len(phases), gc.isenabled())
"""


def test_the_garbage_collector_does_not_run_during_imports_and_does_not_walk_their_objects_later() -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True)
    during, watched, frozen, later, is_enabled = done.stdout.split()
    assert during == "0"
    assert int(watched) < int(frozen) / 10
    assert int(later) > 0
    assert is_enabled == "True"
