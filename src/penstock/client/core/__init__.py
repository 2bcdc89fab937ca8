"""The client without I/O: operations are generators that yield requests and receive the responses.

`aio.Client` performs them on an event loop, `blocking.BlockingClient` with plain sockets. See `steps`.
"""
