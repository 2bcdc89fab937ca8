import socket

import pytest

from penstock_bench.peers.agents import ClientFailed, run_task
from penstock_bench.peers.tasks import Task, Where


def test_a_client_that_cannot_connect_reports_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening
        host, port = taken.getsockname()
        where = Where(dialect="redis", host=host, port=port, stream="none")
        with pytest.raises(ClientFailed, match="ConnectionError"):
            run_task(Task(where=where, operation="create"))
