"""Waits until a pipe has something to read, also one whose descriptor `select.select` would not take (above 1023)."""

import selectors


def is_readable_within(descriptor: int, timeout_s: float) -> bool:
    """Whether it has, or has ended; False when the time is up."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(max(0.0, timeout_s)))
