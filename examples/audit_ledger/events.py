"""A small bank: accounts are opened, money comes in, goes out and moves between accounts."""

import random
from collections.abc import Iterator
from decimal import Decimal

from examples.messages import Message
from penstock.events import Event

TOPICS = {"ledger": 1}  # one partition: the order of events is the order of history


def history(count: int = 500, accounts: int = 12, seed: int = 3) -> Iterator[Event]:
    rng = random.Random(seed)
    names = [f"ACC-{number:03d}" for number in range(accounts)]
    for name in names:
        yield _event("AccountOpened", account=name)
    for _ in range(count):
        account, other = rng.sample(names, 2)
        amount = str(Decimal(rng.randrange(100, 100_000)) / 100)
        kind = rng.choice(("Deposited", "Withdrawn", "Transferred", "Transferred"))
        if kind == "Transferred":
            yield _event(kind, account=account, counterparty=other, amount=float(amount))
        else:
            yield _event(kind, account=account, amount=float(amount))


def messages(count: int = 500, accounts: int = 12, seed: int = 3) -> Iterator[Message]:
    for event in history(count, accounts, seed):
        yield Message("ledger", event.to_json(), b"ledger")
    for wrong in (
        _event("Deposited", account="ACC-000", amount=-5.0),
        _event("Transferred", account="ACC-001", counterparty="ACC-001", amount=10.0),
    ):
        yield Message("ledger", wrong.to_json(), b"ledger")


def balances(events: Iterator[Event]) -> dict[str, Decimal]:
    """The same sums, worked out here."""
    found: dict[str, Decimal] = {}

    def post(account: str, amount: Decimal) -> None:
        found[account] = found.get(account, Decimal(0)) + amount

    for event in events:
        payload = event.payload
        assert isinstance(payload, dict)
        amount = Decimal(str(payload.get("amount", 0)))
        account = str(payload["account"])
        match event.event_type:
            case "AccountOpened":
                post(account, Decimal(0))
            case "Deposited":
                post(account, amount)
                post("cash", -amount)
            case "Withdrawn":
                post(account, -amount)
                post("cash", amount)
            case "Transferred":
                post(account, -amount)
                post(str(payload["counterparty"]), amount)
    return found


def _event(kind: str, **payload: object) -> Event:
    return Event(event_type=kind, sender="bank", payload=payload)
