"""Runs one of the scenarios from start to end: a broker (or yours), events, the pipeline on Spark, its results.

python -m examples.run order_saga
python -m examples.run iot_telemetry --bootstrap-server 127.0.0.1:9092
"""

import argparse
import contextlib
import importlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from examples import results
from examples.messages import make_topics, send

EXAMPLES = pathlib.Path(__file__).parent
PENSTOCK = [sys.executable, "-m", "penstock.cli.main"]
SCENARIOS = ("order_saga", "log_concentrator", "audit_ledger", "iot_telemetry", "topology_audit")
NO_ADMIN_PORT = ("--set", "penstock.admin.listener=")  # a broker that runs already may have it
READY = re.compile(r"ready on (\S+:\d+)")


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m", flush=True)


@contextlib.contextmanager
def broker(data: str) -> Iterator[str]:
    """A broker of our own on a free port; gives its address."""
    command = [*PENSTOCK, "up", "--listen", "127.0.0.1:0", "--data", data, *NO_ADMIN_PORT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = READY.search(process.stdout.readline())
        if found is None:
            process.wait()
            raise SystemExit("the broker did not start; its error is above")
        try:
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def feed(scenario: str, address: str) -> int:
    """Make the topics of a scenario and send its events."""
    module = importlib.import_module(f"examples.{scenario}.events")
    make_topics(address, module.TOPICS)
    messages = module.messages(address) if scenario == "topology_audit" else module.messages()
    return send(address, messages)


def pipeline_file(scenario: str) -> pathlib.Path:
    (found,) = (
        EXAMPLES / scenario / name
        for name in ("pipeline.yaml", "pipeline.py")
        if (EXAMPLES / scenario / name).exists()
    )
    return found


def environment(address: str, work: pathlib.Path) -> dict[str, str]:
    """What the pipeline files read: where the broker is, where checkpoints and tables go."""
    ours = {"BOOTSTRAP_SERVERS": address, "STATE": str(work / "state"), "LAKE": str(work / "lake")}
    return {**os.environ, **ours}


def run_pipeline(scenario: str, address: str, work: pathlib.Path) -> None:
    command = ["pipeline", "run", str(pipeline_file(scenario)), "--once"]
    print(f"\033[2m$ penstock {' '.join(command)}\033[0m", flush=True)
    subprocess.run([*PENSTOCK, *command], env=environment(address, work), check=True)


def play(scenario: str, address: str, work: pathlib.Path) -> None:
    """One scenario against a broker that runs."""
    say(f"{scenario}: events in")
    began = time.monotonic()
    count = feed(scenario, address)
    print(f"{count:,} messages sent and acknowledged in {time.monotonic() - began:.1f} s")
    say(f"{scenario}: the pipeline, on Spark")
    run_pipeline(scenario, address, work)
    say(f"{scenario}: results")
    results.show(scenario, address, work / "lake")
    results.keep_picture(work)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--bootstrap-server", help="a broker that runs already; without it one is started")
    parser.add_argument("--work", help="a directory for checkpoints and tables; without it a temporary one")
    chosen = parser.parse_args()
    with contextlib.ExitStack() as stack:
        work = pathlib.Path(
            chosen.work or stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-example-"))
        ).resolve()
        address = chosen.bootstrap_server or stack.enter_context(broker(str(work / "data")))
        play(chosen.scenario, address, work)


if __name__ == "__main__":
    main()
