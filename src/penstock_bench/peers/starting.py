"""Starts a server and waits for the first message that it acknowledges."""

from typing import Final

from penstock_bench.peers.agents import agents
from penstock_bench.peers.fleet import Fleet, stream_on
from penstock_bench.peers.servers.running import PeerProcess, free_port
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Task

_WITHIN_S: Final = 60.0


def start_to_first(
    fleet: Fleet, target: Target, directory: str, stream: str, *, within_s: float = _WITHIN_S
) -> tuple[PeerProcess, float]:
    """Start a server; return it, and the seconds from starting its process to the first acknowledged message.

    The caller ends the server. The client is a process that has loaded its library before. It retries from the moment
    that the port is open, and creates the stream if it does not exist.
    """
    port = free_port()
    first = Task(where=stream_on(("127.0.0.1", port), target, stream), operation="first", duration_s=within_s)
    with agents([first]) as (client,):
        running = fleet.start(target, directory, port)
        try:
            client.begin()
            return running, client.outcome().ended_at_s - running.started_at
        except BaseException:
            running.kill()
            raise
