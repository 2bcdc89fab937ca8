"""The story in one minute: start a broker, create a topic, produce, consume, look at the files, stop.

Every step is a command that you can type yourself; it is printed before it runs.
"""

import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

READY = re.compile(r"ready on (\S+:\d+)")
PENSTOCK = [sys.executable, "-m", "penstock.cli.main"]


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m", flush=True)


def run(*command: str, stdin: str | None = None) -> None:
    print(f"\033[2m$ penstock {shlex.join(command)}\033[0m", flush=True)
    subprocess.run([*PENSTOCK, *command], input=stdin, text=True, check=True)


def start(data: str) -> tuple[subprocess.Popen[str], str]:
    command = ["up", "--listen", "127.0.0.1:0", "--data", data]
    print(f"\033[2m$ penstock {shlex.join(command)} &\033[0m", flush=True)
    broker = subprocess.Popen([*PENSTOCK, *command], stdout=subprocess.PIPE, text=True)
    assert broker.stdout is not None
    line = broker.stdout.readline()
    print(line, end="")
    found = READY.search(line)
    if found is None:
        broker.wait()
        raise SystemExit("the broker did not start; its error is above")
    return broker, found[1]


def stop(broker: "subprocess.Popen[str]", number: signal.Signals) -> None:
    broker.send_signal(number)
    broker.wait()


def orders(first: int, count: int) -> str:
    return "".join(f"customer-{i % 7}:order {i}\n" for i in range(first, first + count))


def story(data: str) -> None:
    say("A broker is one process and one directory.")
    broker, address = start(data)
    try:
        at = ("--bootstrap-server", address)
        say("A topic with three partitions; keep a segment for 100 records, so that we see some.")
        run("topic", "create", "orders", "--partitions", "3", "--config", "segment.records=100", *at)
        say("A thousand orders, keyed by customer. Each is on the disk before it is acknowledged.")
        for first in range(0, 1000, 200):
            run("produce", "orders", "--key-separator", ":", *at, stdin=orders(first, 200))
        say("The last five of partition 0, and where the topic stands.")
        run("consume", "orders", "--partition", "0", "--from", "-5", "--no-follow", *at)
        run("topic", "describe", "orders", *at)
        say("Pull the plug: SIGKILL. Then start again on the same directory, and read everything back.")
        stop(broker, signal.SIGKILL)
        broker, address = start(data)
        at = ("--bootstrap-server", address)
        run("consume", "orders", "--from", "start", "--max-messages", "3", "--no-follow", *at)
        run("topic", "describe", "orders", *at)
    finally:
        stop(broker, signal.SIGTERM)
    say("The files are Kafka's own formats, and each batch carries a CRC.")
    for path in sorted(pathlib.Path(data).glob("orders-0/*"))[:8]:
        print(f"{path.stat().st_size:>8}  {path.relative_to(data)}")
    run("log", "verify", data)
    say("Stopped. That is all there is to clean up: one directory, now removed.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as directory:
        story(directory)
