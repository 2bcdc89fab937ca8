"""The same requests to Apache Kafka and to Penstock, in raw frames, and their answers compared.

`scenarios/` asks. `kafka.json` is what Kafka 4.3.1 answered; `python -m tests.interop.answers.record` asks a Kafka from
`.peers` (see `tools/setup_peers.py`) and rewrites it. The test asks Penstock and compares: it needs no Java.
"""
