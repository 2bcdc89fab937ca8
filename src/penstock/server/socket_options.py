"""The socket options of a listener. Accepted sockets inherit the options of the listening socket.

Kafka's defaults are buffers of 100 KiB and a backlog of 50. Here the default is left to the system, which lets the
buffers grow with the connection, and the backlog is longer: many clients connect at once after a restart.
"""

import socket

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.property import Property
from penstock.config.settings import network

BACKLOG_DEFAULT = 1024
_LEFT_TO_THE_SYSTEM = -1


class SocketOptions(msgspec.Struct, frozen=True, kw_only=True):
    send_buffer_bytes: int = _LEFT_TO_THE_SYSTEM
    receive_buffer_bytes: int = _LEFT_TO_THE_SYSTEM
    backlog: int = BACKLOG_DEFAULT

    @classmethod
    def of(cls, config: BrokerConfig) -> "SocketOptions":
        """Kafka's names: `socket.*`; only options that are set apply."""

        def given(prop: Property[int], otherwise: int) -> int:
            return config[prop] if prop.name in config.settings() else otherwise

        return cls(
            send_buffer_bytes=given(network.SOCKET_SEND_BUFFER_BYTES, _LEFT_TO_THE_SYSTEM),
            receive_buffer_bytes=given(network.SOCKET_RECEIVE_BUFFER_BYTES, _LEFT_TO_THE_SYSTEM),
            backlog=given(network.SOCKET_LISTEN_BACKLOG_SIZE, BACKLOG_DEFAULT),
        )

    def apply(self, listening: socket.socket) -> None:
        """Call it before binding: the receive buffer limits the window of every connection."""
        if self.send_buffer_bytes != _LEFT_TO_THE_SYSTEM:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.send_buffer_bytes)
        if self.receive_buffer_bytes != _LEFT_TO_THE_SYSTEM:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer_bytes)
