"""Tuning the C library's allocator."""

import subprocess
import sys

_SCRIPT = """
import resource
from penstock.observability.allocator import keep_freed_memory

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


def test_memory_that_was_freed_is_used_again_without_asking_the_kernel() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    plain, tuned = map(int, done.stdout.split())
    assert tuned < plain / 10
