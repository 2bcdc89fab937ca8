"""Producer ids, from blocks that the controller allocates (KIP-730).

A block is in the metadata log before any of its ids is used, so no id is given twice. The rest of a block is skipped at
a restart.
"""

import asyncio
from collections.abc import Awaitable, Callable


class ProducerIds:
    def __init__(self, grant: Callable[[], Awaitable[range]]) -> None:
        self._grant = grant
        self._block = iter(range(0))
        self._granting = asyncio.Lock()

    async def next(self) -> int:
        producer_id = next(self._block, None)
        if producer_id is not None:
            return producer_id
        async with self._granting:
            producer_id = next(self._block, None)  # another may have fetched a block meanwhile
            while producer_id is None:
                self._block = iter(await self._grant())
                producer_id = next(self._block, None)
            return producer_id
