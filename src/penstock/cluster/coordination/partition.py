"""One partition of a coordinator's topic while this broker leads it: its log, and the state that the log adds up to.

What a coordinator decides it appends here and answers when that is committed; what it knows it has replayed from here.
So the state survives a crash, and moves to another broker with the leadership, by no other mechanism.

Writes of one turn of the event loop become one batch: a thousand commits that arrive together cost one append.
"""

import asyncio
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from penstock.cluster.replica import Replica
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import BatchHeader, iter_batches
from penstock.protocol.records.builder import BatchBuilder, NewRecord
from penstock.protocol.records.control import decode_end_transaction
from penstock.protocol.records.record import Record, iter_records
from penstock.storage.log_errors import LogError
from penstock.storage.log_values import Origin
