"""Answers that are given once what they tell is committed."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.observability.completion import Completion, Reply
from penstock.protocol.errors import ErrorCode

R = TypeVar("R")
Refuse = Callable[[ErrorCode, str | None], R]
"""Makes the answer to a request that failed."""


def once_committed(written: Completion[None] | None, response: R, refuse: Refuse[R]) -> R | Reply[R]:
    """Give the response at once when there is nothing to wait for; a refusal if the log does not take it."""
    if written is None:
        return response
    return Reply.after(written, partial(_response, response, refuse))


def _response(response: R, refuse: Refuse[R], written: Completion[None]) -> R:
    error = written.error
    return refuse(error.code, error.message) if isinstance(error, CoordinatorError) else response
