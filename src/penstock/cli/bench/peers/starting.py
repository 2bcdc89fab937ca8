"""Starting a server and waiting for the first message that it acknowledges."""

from typing import Final

from penstock.cli.bench.peers.agents import agents
from penstock.cli.bench.peers.fleet import Fleet, where_on
from penstock.cli.bench.peers.servers.running import Running, free_port
from penstock.cli.bench.peers.targets import Target
from penstock.cli.bench.peers.tasks import Task

_WITHIN_S: Final = 60.0


def start_to_first(
    fleet: Fleet, target: Target, directory: str, stream: str, *, within_s: float = _WITHIN_S
) -> tuple[Running, float]:
    """The server, which is the caller's to end, and how many seconds it took from starting its process to the first
    acknowledged message. The client is a process that has loaded its library before; it tries again and again from
    the moment that the port is open, and makes the stream if it is not there.
    """
    port = free_port()
    first = Task(where=where_on(("127.0.0.1", port), target, stream), operation="first", duration_s=within_s)
    with agents([first]) as (client,):
        running = fleet.start(target, directory, port)
        try:
            client.begin()
            return running, client.outcome().ended_at_s - running.started_at
        except BaseException:
            running.kill()
            raise
