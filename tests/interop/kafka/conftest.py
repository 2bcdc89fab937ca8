"""Tests beside Apache Kafka itself. `make interop-kafka` runs them: they are collected when INTEROP_KAFKA is set."""

import os

collect_ignore_glob = [] if os.environ.get("INTEROP_KAFKA") else ["test_*.py"]
