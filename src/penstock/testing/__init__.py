"""Parts of a machine that live in memory: for embedded brokers and for the simulation."""
