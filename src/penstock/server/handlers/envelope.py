"""Envelope (key 58), v0: a request that another broker forwards. `Dispatcher` opens it, and handles what is inside."""

from typing import NoReturn

from penstock.protocol.messages.envelope import EnvelopeRequest
from penstock.server.context import RequestContext

VERSIONS = range(1)


def handle(_ctx: RequestContext, _request: EnvelopeRequest) -> NoReturn:
    raise AssertionError("the dispatcher opens envelopes")
