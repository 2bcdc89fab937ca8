"""Tests with Apache Kafka from its jars. `make interop-kafka` gets the jars and runs these tests.

They take minutes and need Java, so they are collected only when INTEROP_KAFKA is set.
"""

import os

collect_ignore_glob = [] if os.environ.get("INTEROP_KAFKA") else ["test_*.py"]
