"""The real command in a process of its own, against a real broker."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable

import pytest

from tests.support.broker import BrokerProcess

Penstock = Callable[..., "subprocess.CompletedProcess[str]"]
TIMEOUT_SECONDS = 60
COMMAND = (sys.executable, "-m", "penstock.cli.main")
ENVIRONMENT = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}


def run_command(*arguments: str, stdin: str | bytes = "") -> "subprocess.CompletedProcess[str]":
    given = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        env=ENVIRONMENT,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(errors="backslashreplace"), done.stderr.decode()
    )


@pytest.fixture
def penstock(shared_broker: BrokerProcess) -> Penstock:
    """Run a client command against the shared broker and check that it succeeds, or fails in one line."""

    def run(
        *arguments: str, stdin: str | bytes = "", fails: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        done = run_command(*arguments, "--bootstrap-server", shared_broker.bootstrap, stdin=stdin)
        if fails:
            assert done.returncode != 0, done
            assert done.stderr.startswith("penstock: "), done
            assert done.stderr.count("\n") == 1, done
        else:
            assert (done.returncode, done.stderr) == (0, ""), done
        return done

    return run


@pytest.fixture
def topic(penstock: Penstock) -> str:
    """A new topic with two partitions."""
    name = f"cli-{uuid.uuid4().hex[:12]}"
    penstock("topic", "create", name, "--partitions", "2")
    return name
