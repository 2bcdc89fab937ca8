"""Which simulated machine the running code belongs to: set where a node is started, inherited by all its tasks."""

from contextvars import ContextVar
from typing import Final

CLIENT: Final = "client"
current_node: ContextVar[str] = ContextVar("simulated node", default=CLIENT)
