import socket

import pytest

from penstock.cli.bench.peers.agents import ClientFailed, ask
from penstock.cli.bench.peers.tasks import Task, Where


def test_a_client_that_reaches_nobody_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        host, port = taken.getsockname()
        where = Where(dialect="redis", host=host, port=port, stream="none")
        with pytest.raises(ClientFailed, match="ConnectionError"):
            ask(Task(where=where, operation="create"))
