"""A process that ends without stopping its broker: by forgetting it, by a fork, by a crash."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from penstock.embedded.temporary import TemporaryDirectory

START = """
import os, sys
from penstock.embedded import Broker
broker = Broker(storage="temporary", topics={"orders": 1}).start()
broker.topic("orders").produce(b"one")
"""


def run(directory: Path, script: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "TMPDIR": str(directory)}
    return subprocess.run(
        [sys.executable, "-c", START + script],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_forgotten_broker_ends_with_its_process_and_leaves_nothing(tmp_path: Path) -> None:
    ended = run(tmp_path, "")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert os.listdir(tmp_path) == []


def test_a_fork_of_the_process_leaves_the_broker_to_its_parent(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # as of 3.12, of any fork of a process with threads
child = os.fork()
if child == 0:
    sys.exit(0)  # runs the exit handlers, as the parent will
os.waitpid(child, 0)
assert len(os.listdir(os.environ["TMPDIR"])) == 1
broker.topic("orders").assert_values([b"one"])
print("served")
""",
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "served\n", "")
    assert os.listdir(tmp_path) == []


def test_files_left_by_a_crash_are_removed_at_the_next_start(tmp_path: Path) -> None:
    crashed = run(tmp_path, "import signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert crashed.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    living = TemporaryDirectory(str(tmp_path))
    assert os.listdir(tmp_path) == [os.path.basename(living.path)]
    living.remove()
    assert os.listdir(tmp_path) == []
