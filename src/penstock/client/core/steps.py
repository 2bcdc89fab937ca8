"""The steps of an operation: what a generator yields, and a shell (asyncio or blocking) performs.

A shell sends the result of a step back into the generator, or throws the exception that the step raised.
"""

import sys
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

Address = tuple[str, int]
Message = Any
"""A request of any of the modules in `penstock.protocol.messages`."""
MessageFor = Callable[[int], Message]
"""Makes the request for the version that both sides know."""


class Send(NamedTuple):
    """Send a request to a broker; the result is the decoded response.

    Raises `Unreachable` when no connection could be opened, `Disconnected` when no response arrived.
    """

    address: Address
    api_key: int
    message_for: MessageFor
    timeout_ms: float
    version_max: int | None = None


class SendAll(NamedTuple):
    """Send several requests at once; the result is a list with a response, or the exception, for each."""

    sends: list[Send]


class Sleep(NamedTuple):
    delay_ms: float


Step = Send | SendAll | Sleep
Operation = Generator[Step, Any, T]


def api_key_of(message: Message) -> int:
    """Every message module names its API."""
    key: int = sys.modules[type(message).__module__].API_KEY
    return key
