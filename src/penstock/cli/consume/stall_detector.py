"""Tells a broker that has stopped responding from one, or a command, that is only delayed.

It counts polls, not time: a process that gets no processor, or waits for something else between two polls, is not kept
waiting by its broker. Before a reader gives up, it sends the broker a metadata request; a broker that responds has not
stopped. The request also repairs a state of librdkafka in which it waits for metadata that is not on its way.
"""

from typing import Any

from penstock.cli.connect.topics import fetch_metadata
from penstock.cli.errors import CommandError

POLL_S = 0.1
_POLLS_MAX = 150
_REQUESTS_MAX = 4


class StallDetector:
    __slots__ = ("_client", "_polls", "_requests", "_topic")

    def __init__(self, client: Any, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._polls = 0
        self._requests = 0

    def observe(self, *, is_active: bool) -> None:
        """Note the result of a poll. Raises `CommandError` when too many in a row brought nothing."""
        if is_active:
            self._polls = self._requests = 0
            return
        self._polls += 1
        if self._polls < _POLLS_MAX:
            return
        self._polls = 0
        self._requests += 1
        if self._requests >= _REQUESTS_MAX:
            raise CommandError(
                f"the broker responds, but sends no records of topic {self._topic}: check its log and "
                "`penstock cluster status`"
            )
        try:
            fetch_metadata(self._client)
        except CommandError:
            raise CommandError(
                f"the broker stopped responding for topic {self._topic}: check that it is running"
            ) from None
