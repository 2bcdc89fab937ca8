"""Tells a broker that has stopped answering from one, or a command, that is only held up.

Counted are polls, not time: a process that gets no processor, or waits for something else between two polls, has not
been kept waiting by its broker. Before a reader gives up, the broker is asked something; who answers has not stopped.
Being asked also mends what librdkafka can get wrong: a topic's metadata that it thinks is on its way.
"""

from typing import Any

from penstock.cli.connection import metadata_of
from penstock.cli.errors import CommandError

POLL_SECONDS = 0.1
_POLLS_MAX = 150
_QUESTIONS_MAX = 4


class Silence:
    """Of one reader, which says after each poll whether it has `heard` something, or the silence `lasts`."""

    __slots__ = ("_client", "_polls", "_questions", "_topic")

    def __init__(self, client: Any, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._polls = 0
        self._questions = 0

    def heard(self) -> None:
        self._polls = self._questions = 0

    def lasts(self) -> None:
        """Raises `CommandError` when there is no use in waiting on."""
        self._polls += 1
        if self._polls < _POLLS_MAX:
            return
        self._polls = 0
        self._questions += 1
        if self._questions >= _QUESTIONS_MAX:
            raise CommandError(
                f"the broker answers, but sends nothing of topic {self._topic}; is its log in order?"
            )
        try:
            metadata_of(self._client)
        except CommandError:
            raise CommandError(
                f"the broker stopped answering for topic {self._topic}; is it still running?"
            ) from None
