"""`penstock bench`: run the benchmark of the source tree (`src/penstock_bench`), which the wheel does not hold."""

import importlib
import importlib.util
from typing import Any

from penstock.cli.errors import UsageError

CONTEXT_SETTINGS: dict[str, Any] | None

if importlib.util.find_spec("penstock_bench") is not None:
    CONTEXT_SETTINGS = None
    bench = importlib.import_module("penstock_bench.command").bench
else:
    CONTEXT_SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True}

    def bench() -> None:
        """Benchmark against this machine's limits and other brokers (only in a source checkout)."""
        raise UsageError(
            "the benchmark is not part of this installation. Clone the source of Penstock, run `make install` in it, "
            "then `.venv/bin/penstock bench`"
        )
