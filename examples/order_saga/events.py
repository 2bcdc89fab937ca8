"""Customers order; some cards are declined; one producer writes what is no event at all."""

import random
from collections.abc import Iterator

from examples.messages import Message
from penstock.events import Event

TOPICS = {"orders": 3, "payments": 3}
CUSTOMERS = ("Alice", "Bob", "Charlie", "Dora", "Emil", "Fatima", "Goran")
DECLINED_EVERY = 7
POISON = (b"{not json at all", b'{"eventId": "half-an-event"}', b"\xff\xfe\x00")


def messages(count: int = 200, seed: int = 1) -> Iterator[Message]:
    """`count` orders, one in seven with a card that will be declined, and the poison pills among them."""
    rng = random.Random(seed)
    for number in range(count):
        order_id = f"ORD-{number + 101}"
        card = "4000-0000" if number % DECLINED_EVERY == 3 else f"4000-{rng.randrange(1, 9999):04d}"
        event = Event(
            event_type="OrderPlaced",
            sender="order-service",
            payload={
                "orderId": order_id,
                "customer": rng.choice(CUSTOMERS),
                "amount": rng.randrange(500, 50_000) / 100,
                "card": card,
            },
        )
        yield Message("orders", event.to_json(), order_id.encode())
        if number % (count // len(POISON) + 1) == 1:
            yield Message("orders", POISON[number * len(POISON) // count], b"poison")
    free = Event(
        event_type="OrderPlaced",
        sender="order-service",
        payload={"orderId": "ORD-FREE", "customer": "Mallory", "amount": 0, "card": "4000-0001"},
    )
    yield Message("orders", free.to_json(), b"ORD-FREE")


def declined(count: int) -> int:
    """How many of so many orders are cancelled in the end."""
    return sum(number % DECLINED_EVERY == 3 for number in range(count))
