"""A disk in memory that fails as disks do."""

from penstock.testing.memory_files import Operation, PowerCut
from penstock_simulation.disk.device import Fault, FaultyFile
from penstock_simulation.disk.disk import FaultyDisk
from penstock_simulation.disk.model import Keep

__all__ = ["Fault", "FaultyDisk", "FaultyFile", "Keep", "Operation", "PowerCut"]
