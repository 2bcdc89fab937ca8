"""The observers of one kind of event, notified in the order in which they subscribed.

The owner of an event is constructed before its observers, because they need the owner. So they subscribe later.
"""

from collections.abc import Callable
from typing import Generic, TypeVarTuple

Values = TypeVarTuple("Values")


class Observers(Generic[*Values]):
    __slots__ = ("_observers",)

    def __init__(self) -> None:
        self._observers: list[Callable[[*Values], None]] = []

    def subscribe(self, observer: Callable[[*Values], None]) -> None:
        self._observers.append(observer)

    def notify(self, *values: *Values) -> None:
        for observer in self._observers:
            observer(*values)
