"""The Raft core under simulation: its nodes as state machines, without asyncio, in thousands of seeds."""
