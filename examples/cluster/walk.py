"""Three nodes, a topic of four partitions: the leader is killed, nothing stops, it comes back and catches up.

python -m examples.cluster.walk

Every step is a command that you can type yourself; it is printed before it runs.
"""

import contextlib
import json
import pathlib
import shlex
import signal
import subprocess
import tempfile
import time

from examples.run import PENSTOCK, READY, say

TOPIC = "replicated-topic"
CATCH_UP_SECONDS_MAX = 60


def show(command: list[str], after: str = "") -> None:
    print(f"\033[2m$ penstock {shlex.join(command)}{after}\033[0m", flush=True)


def run(*command: str, stdin: str | None = None) -> None:
    if stdin is None:
        show([*command])
    else:
        print(f"\033[2m$ echo {shlex.quote(stdin)} | penstock {shlex.join(command)}\033[0m", flush=True)
    subprocess.run([*PENSTOCK, *command], check=True, text=True, input="" if stdin is None else f"{stdin}\n")


class Node:
    """One broker, which may be killed and started again. The first is alone, the others join it."""

    def __init__(self, number: int, work: pathlib.Path, join: str | None) -> None:
        self.number = number
        self._data = str(work / f"data-{number}")
        more = [] if join is None else ["--join", join]
        self._process, self.address = self._start("127.0.0.1:0", more)

    def _start(self, listen: str, more: list[str]) -> tuple["subprocess.Popen[str]", str]:
        command = ["up", "--node-id", str(self.number), "--listen", listen, "--data", self._data, *more]
        show(command, " &")
        process = subprocess.Popen(
            [*PENSTOCK, *command, "--log-level", "error"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        print(line, end="")
        found = READY.search(line)
        if found is None:
            process.wait()
            raise SystemExit(f"node {self.number} did not start; its error is above")
        return process, found[1]

    def kill(self) -> None:
        """As if somebody pulled the plug."""
        print(f"\033[2m$ kill -9 {self._process.pid}\033[0m", flush=True)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        self._process, self.address = self._start(self.address, [])  # it knows where it belongs

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()


def leader_of(address: str, partition: int) -> int:
    """The node that leads a partition of the topic."""
    command = [*PENSTOCK, "topic", "describe", TOPIC, "--json", "--bootstrap-server", address]
    described = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return int(described[0]["partitions"][partition]["leader"])


def await_in_sync(address: str) -> float:
    """Until every replica has caught up; gives the seconds it took."""
    began = time.monotonic()
    command = [*PENSTOCK, "cluster", "status", "--json", "--bootstrap-server", address]
    while True:
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        if not json.loads(answer)["unhealthy"]:
            return time.monotonic() - began
        if time.monotonic() - began > CATCH_UP_SECONDS_MAX:
            raise SystemExit(f"not caught up after {CATCH_UP_SECONDS_MAX} s; see penstock cluster status")
        time.sleep(0.2)


def walk(nodes: dict[int, Node]) -> None:
    first = ("--bootstrap-server", nodes[1].address)
    say("A topic of four partitions, each on all three nodes.")
    run("topic", "create", TOPIC, "--partitions", "4", "--replication-factor", "3", *first)
    run("produce", TOPIC, "--partition", "0", *first, stdin="first message")
    run("cluster", "status", *first)

    leader = leader_of(nodes[1].address, 0)
    say(f"Node {leader} leads partition 0. Kill it: another in-sync replica takes over.")
    nodes[leader].kill()
    through = next(node for number, node in nodes.items() if number != leader)
    any_other = ("--bootstrap-server", through.address)
    began = time.monotonic()
    run("produce", TOPIC, "--partition", "0", *any_other, stdin="second message, to the new leader")
    print(
        f"acknowledged {time.monotonic() - began:.1f} s after the leader died, this command's start included"
    )
    run("cluster", "status", *any_other)

    say(f"Start node {leader} again. It needs no flag, finds its place and fetches what it missed.")
    nodes[leader].restart()
    print(f"every replica is in sync again after {await_in_sync(nodes[leader].address):.1f} s")
    returned = ("--bootstrap-server", nodes[leader].address)
    run(
        "produce", TOPIC, "--partition", "0", *returned, stdin="third message, through the node that returned"
    )
    run("cluster", "status", *returned)

    say(f"Node {leader} leads nothing now. Hand its partitions back to it.")
    run("cluster", "elect-leaders", *returned)
    run("cluster", "status", *returned)

    say("All three messages, in their order, for a group that any node serves.")
    run("consume", TOPIC, "--group", "logging-group", "--max-messages", "3", *any_other)


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="penstock-cluster-") as directory,
        contextlib.ExitStack() as stack,
    ):
        work = pathlib.Path(directory)
        say("Three nodes: the first is a cluster of one, the others join it through any member.")
        nodes: dict[int, Node] = {}
        for number in (1, 2, 3):
            nodes[number] = Node(number, work, nodes[number - 1].address if nodes else None)
            stack.callback(nodes[number].stop)
        walk(nodes)
    say("Stopped.")


if __name__ == "__main__":
    main()
