"""Tests with PostgreSQL and Debezium. `make interop-debezium` runs them: they are collected when INTEROP_DEBEZIUM is set."""

import os

collect_ignore_glob = [] if os.environ.get("INTEROP_DEBEZIUM") else ["test_*.py"]
