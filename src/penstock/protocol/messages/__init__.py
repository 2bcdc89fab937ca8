"""Messages of Kafka's protocol, one module for each API. Written by tools.codegen."""
