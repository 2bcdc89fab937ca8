"""The client without I/O: operations are generators that yield what to send and receive the answers.

`aio.Client` performs them on an event loop, `blocking.BlockingClient` with plain sockets. See `steps`.
"""
