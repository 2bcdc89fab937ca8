"""The network that the failover tests cut: what each fault stops, and what it lets through."""

import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from tests.failover.faults import network_where_possible, of_network
from tests.support.cluster import ClusterProcesses, eventually
from tests.support.namespaces import HOST, NamespaceNetwork

PORT = 9
NO_PROCESSES = cast("ClusterProcesses", None)  # the network's faults touch none


class Post:
    """A socket of the host and of each node: which datagrams arrive where."""

    def __init__(self, network: NamespaceNetwork, sockets: contextlib.ExitStack) -> None:
        self._network = network
        self._sockets = {each: sockets.enter_context(_socket_at(network, each)) for each in network.everyone}
        self._pairs = [(a, b) for a in self._sockets for b in self._sockets if a != b]

    def arriving(self) -> set[tuple[int, int]]:
        """The pairs of speaker and listener for which a datagram arrives."""
        for speaker, listener in self._pairs:
            with contextlib.suppress(OSError):  # the kernel may know that there is no way
                self._sockets[speaker].sendto(bytes([speaker]), (self._network.address(listener), PORT))
        return {(speaker, listener) for listener in self._sockets for speaker in self._heard_by(listener)}

    def _heard_by(self, listener: int) -> Iterator[int]:
        with contextlib.suppress(TimeoutError, ConnectionError):
            while True:
                yield self._sockets[listener].recv(1)[0]

    def await_everything(self) -> None:
        """Also datagrams that waited for the resolution of a neighbour."""
        eventually(lambda: len(self.arriving()) == len(self._pairs), "all nodes reach each other")
        eventually(lambda: not any(list(self._heard_by(each)) for each in self._sockets), "nothing is left")


def _socket_at(network: NamespaceNetwork, node: int) -> socket.socket:
    """A thread enters the namespace, and what it opens there stays there."""
    made: list[socket.socket] = []

    def make() -> None:
        if node != HOST:
            with Path("/run/netns", network.command_within(node)[-1]).open() as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    made[0].bind((network.address(node), PORT))
    made[0].settimeout(0.02)
    return made[0]


def test_each_network_fault_stops_exactly_the_traffic_that_it_names(
    record_property: Callable[[str, object], None],
) -> None:
    between_others = {(HOST, 2), (2, HOST)}
    expected = {
        "cut": between_others,
        "mute": {*between_others, (HOST, 1), (2, 1)},
        "deaf": {*between_others, (1, HOST), (1, 2)},
        "island": {*between_others, (HOST, 1), (1, HOST)},
    }
    with (
        network_where_possible(lambda reason: record_property("not run", reason)) as network,
        contextlib.ExitStack() as sockets,
    ):
        if network is None:
            return
        network.add(1)
        network.add(2)
        post = Post(network, sockets)
        found = {}
        for fault in of_network(network)[0]:
            post.await_everything()
            fault.inject(NO_PROCESSES, 1)
            found[fault.name] = post.arriving()
            fault.heal(NO_PROCESSES, 1)
        post.await_everything()
    assert {name: found[name] for name in expected} == expected
