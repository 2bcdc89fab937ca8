import socket

import pytest

from penstock_bench.peers.agents import ClientFailed, create, run
from penstock_bench.peers.clients import due_s, stamped
from penstock_bench.peers.tasks import Where


def test_a_client_that_cannot_connect_reports_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening
        host, port = taken.getsockname()
        where = Where(dialect="redis", host=host, port=port, stream="none")
        with pytest.raises(ClientFailed, match="ConnectionError"):
            run(create, where)


def test_a_message_carries_its_due_time_and_has_the_requested_size() -> None:
    payload = stamped(12.5, 100)
    assert len(payload) == 100
    assert due_s(payload) == pytest.approx(12.5)
