"""Tests with PostgreSQL and Debezium. `make interop-debezium` runs them, and sets INTEROP_DEBEZIUM."""

import os

collect_ignore_glob = [] if os.environ.get("INTEROP_DEBEZIUM") else ["test_*.py"]
