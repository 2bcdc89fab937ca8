"""The requests, in this order: each scenario relies only on its own topics and groups."""

from collections.abc import Callable

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios import (
    administration,
    configs,
    groups,
    members,
    metadata,
    producing,
    reading,
    remaining,
    sequences,
    share_members,
    share_reading,
    share_state,
    topics,
    transactions,
)

SCENARIOS: dict[str, Callable[[Asker], None]] = {
    module.__name__.rpartition(".")[2]: module.ask_all
    for module in (
        metadata, producing, reading, groups, members, sequences, transactions, topics, configs, administration,
        share_members, share_reading, share_state, remaining,
    )
}  # fmt: skip
