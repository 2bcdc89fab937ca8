"""The number of records that a subscriber has not acknowledged yet. Pure.

An offset that is acknowledged or committed covers all records before it, as in Kafka.
"""

from collections import deque

from penstock.client.aio import TopicPartition


class Window:
    __slots__ = ("_sent", "size_max", "unacknowledged")

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        self.unacknowledged = 0
        self._sent: dict[TopicPartition, deque[int]] = {}

    @property
    def room(self) -> int:
        return self.size_max - self.unacknowledged

    def sent(self, where: TopicPartition, offset: int) -> None:
        self._sent.setdefault(where, deque()).append(offset)
        self.unacknowledged += 1

    def acknowledge(self, where: TopicPartition, next_offset: int) -> None:
        """All records of the partition before `next_offset` are done with."""
        waiting = self._sent.get(where, deque())
        while waiting and waiting[0] < next_offset:
            waiting.popleft()
            self.unacknowledged -= 1

    def forget(self, where: TopicPartition) -> None:
        self.unacknowledged -= len(self._sent.pop(where, ()))
