"""The whole story: a broker, events, a crash, pipelines on Spark, dead letters, tables, a picture.

Every step is a command that you can type yourself; it is printed before it runs.
"""

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping

from examples import results
from examples.iot_telemetry import events as telemetry
from examples.messages import make_topics, send
from examples.order_saga import events as saga
from examples.run import NO_ADMIN_PORT, PENSTOCK, READY, environment, say

READINGS = int(os.environ.get("DEMO_READINGS", "200000"))


def run(*command: str, env: Mapping[str, str] | None = None) -> None:
    print(f"\033[2m$ penstock {shlex.join(command)}\033[0m", flush=True)
    subprocess.run([*PENSTOCK, *command], check=True, env=env)


class Broker:
    """One broker on one directory, which may be killed and started again."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._process, self.address = self._start("127.0.0.1:0")

    def _start(self, listen: str) -> tuple["subprocess.Popen[str]", str]:
        command = ["up", "--listen", listen, "--data", self._data, *NO_ADMIN_PORT]
        print(f"\033[2m$ penstock {shlex.join(command)} &\033[0m", flush=True)
        process = subprocess.Popen([*PENSTOCK, *command], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        print(line, end="")
        found = READY.search(line)
        if found is None:
            process.wait()
            raise SystemExit("the broker did not start; its error is above")
        return process, found[1]

    def kill_and_restart(self) -> None:
        self.stop(signal.SIGKILL)
        self._process, self.address = self._start(self.address)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)
        self._process.wait()


def orders(broker: Broker, work: pathlib.Path) -> None:
    say(
        "Two hundred orders go in. Among them three records that are no events, and one order that costs nothing."
    )
    make_topics(broker.address, saga.TOPICS)
    print(f"{send(broker.address, saga.messages()):,} messages sent and acknowledged")
    say("Pull the plug: SIGKILL. What was acknowledged is on the disk; start again on the same directory.")
    broker.kill_and_restart()
    at = ("--bootstrap-server", broker.address)
    run("consume", "orders", "--from", "start", "--max-messages", "2", "--no-follow", *at)
    say("A pipeline in a file, on Spark: bill the orders, cancel what cannot be paid, tell the customers.")
    run(
        "pipeline",
        "run",
        "examples/order_saga/pipeline.yaml",
        "--once",
        env=environment(broker.address, work),
    )
    results.show("order_saga", broker.address, work / "lake")
    say("What did not decode or broke a rule is in the dead letters, with the reason; the stream went on.")
    run("dlq", "show", "order-saga", *at)
    say("To Kafka's tools a pipeline is a consumer group.")
    run("group", "lag", "penstock-pipeline.order-saga.payments", *at)


def readings(broker: Broker, work: pathlib.Path) -> None:
    say(f"{READINGS:,} readings of twenty sensors; some come an hour late.")
    make_topics(broker.address, telemetry.TOPICS)
    began = time.monotonic()
    count = send(broker.address, telemetry.messages(READINGS))
    print(f"{count:,} messages sent and acknowledged in {time.monotonic() - began:.1f} s")
    say("Rolling averages by event time into a Delta table, alarms into a topic, exactly once.")
    env = {**environment(broker.address, work), "READINGS_PER_BATCH": str(READINGS // 3 + 1)}
    run("pipeline", "run", "examples/iot_telemetry/pipeline.yaml", "--once", env=env)
    results.show("iot_telemetry", broker.address, work / "lake")
    results.keep_picture(work)


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as directory, contextlib.ExitStack() as stack:
        work = pathlib.Path(directory)
        say("A broker is one process and one directory.")
        broker = Broker(str(work / "data"))
        stack.callback(broker.stop)
        orders(broker, work)
        readings(broker, work)
    say(f"Stopped after {time.monotonic() - began:.0f} s. What is left of it: {results.PICTURE}.")


if __name__ == "__main__":
    main()
