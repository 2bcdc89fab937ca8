"""A table of changes as a dictionary: what the merge must agree with, row by row."""

from typing import Any, NamedTuple

Row = dict[str, Any]


class Event(NamedTuple):
    """What is known of a key at an order. The greatest of an order counts."""

    is_deleted: bool
    batch: int
    values: str
    row: Row


class Model:
    def __init__(self) -> None:
        self._events: dict[int, dict[int, Event]] = {}

    def apply(self, batch: int, changes: list[Row]) -> None:
        for row in changes:
            events = self._events.setdefault(row["id"], {})
            new = Event(row["_deleted"], batch, repr(tuple(row.values())), row)
            old = events.get(row["order"])
            if old is None or old[:3] < new[:3]:
                events[row["order"]] = new

    def latest(self) -> list[tuple[int, int, str]]:
        newest = [events[max(events)] for events in self._events.values()]
        return sorted(
            (each.row["id"], each.row["order"], each.row["value"]) for each in newest if not each.is_deleted
        )

    def history(self) -> list[tuple[int, int, str, int, int | None, bool]]:
        found = []
        for key, events in self._events.items():
            orders = sorted(events)
            for order, following in zip(orders, [*orders[1:], None], strict=True):
                if not events[order].is_deleted:
                    value = events[order].row["value"]
                    found.append((key, order, value, order, following, following is None))
        return sorted(found)
