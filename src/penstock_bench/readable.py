"""Waits for input on a pipe, also with a file descriptor above 1023, which `select.select` refuses."""

import selectors


def is_readable_within(descriptor: int, timeout_s: float) -> bool:
    """Return whether there is input or the end of the file within the timeout."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(max(0.0, timeout_s)))
