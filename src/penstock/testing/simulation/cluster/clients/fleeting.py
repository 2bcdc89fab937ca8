"""A reader of a partition whose records are deleted: where its next offset is gone it goes on at the start."""

from penstock.testing.simulation.cluster.checkers.records import Found
from penstock.testing.simulation.cluster.clients.client import Address
from penstock.testing.simulation.cluster.clients.log_offsets import EARLIEST, find_offset
from penstock.testing.simulation.cluster.clients.reader import Reader


class FleetingReader(Reader):
    async def read(self, address: Address, rack: str = "") -> Found | None:
        """As any reader does; refused, it looks where the partition starts. Raises `NoAnswer`."""
        found = await super().read(address, rack)
        if found is None:
            start = await find_offset(self._client, self._partition, EARLIEST)
            self.next_offset = max(self.next_offset, start)
        return found
