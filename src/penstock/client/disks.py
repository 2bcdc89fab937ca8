"""The state of brokers' disks (in order, full or failed), from DescribeLogDirs and the reserve among their settings."""

from typing import Any, Final

import msgspec

from penstock.client.damage import NAME as DAMAGE
from penstock.config.disk_reserve import AUTOMATIC, NAME, megabytes, reserve_bytes, resume_bytes
from penstock.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from penstock.protocol.messages.describe_log_dirs import DescribeLogDirsRequest

OK: Final = "ok"
NEARLY_FULL: Final = "nearly full"
FULL: Final = "full"
FAILED: Final = "failed"
PENSTOCK: Final = "Penstock"
KAFKA: Final = "Kafka"
_BROKER: Final = 4


class Disk(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One data directory. The three sizes are -1 where the broker does not give them."""

    broker: int
    directory: str
    state: str
    total_bytes: int = -1
    free_bytes: int = -1
    reserve_bytes: int = -1

    @property
    def figures(self) -> str:
        return (
            f"{megabytes(self.free_bytes)} free of {megabytes(self.total_bytes)}"
            if self.total_bytes >= 0
            else "-"
        )

    @property
    def trouble(self) -> str | None:
        """The problem and the remedy, in a sentence; None without a problem."""
        if self.state == OK:
            return None
        if self.state == FAILED:
            return f"The disk of broker {self.broker} has failed: check it, then restart the broker."
        effect = "Clients' writes are refused" if self.state == FULL else "Clients' writes are refused soon"
        return (
            f"The disk of broker {self.broker} is {self.state} ({self.figures}, reserve "
            f"{megabytes(self.reserve_bytes)}). {effect}: delete topics, lower their retention or enlarge the disk."
        )


def log_dirs_request() -> DescribeLogDirsRequest:
    """Requests the directories without the logs in them: a broker may have thousands."""
    return DescribeLogDirsRequest(topics=[])


def state_request(broker: int) -> DescribeConfigsRequest:
    """Asks for the reserve, and for damaged records (`client/damage`)."""
    wanted = DescribeConfigsResource(
        resource_type=_BROKER, resource_name=str(broker), configuration_keys=[NAME, DAMAGE]
    )
    return DescribeConfigsRequest(resources=[wanted])


def product_in(state: DescribeConfigsResponse) -> str | None:
    """The product that answered `state_request`, by the settings that it has; None for a user who may not see them."""
    for result in state.results:
        if not result.error_code:
            return PENSTOCK if any(each.name == NAME for each in result.configs) else KAFKA
    return None


def disks_in(broker: int, log_dirs: Any, reserve: Any) -> list[Disk]:
    """The disks in the two responses. A user who may not see the reserve gets the default."""
    values = [
        each.value
        for result in getattr(reserve, "results", ())
        for each in result.configs
        if each.name == NAME
    ]
    setting = int(values[0]) if values and values[0] else AUTOMATIC
    return [_disk(broker, each, setting) for each in log_dirs.results]


def _disk(broker: int, response: Any, setting: int) -> Disk:
    if response.error_code:
        return Disk(broker=broker, directory=response.log_dir, state=FAILED)
    if response.total_bytes < 0:
        return Disk(broker=broker, directory=response.log_dir, state=OK)
    kept = reserve_bytes(setting, response.total_bytes)
    is_full, is_nearly = response.usable_bytes < kept, response.usable_bytes < resume_bytes(kept)
    return Disk(
        broker=broker,
        directory=response.log_dir,
        state=FULL if is_full else NEARLY_FULL if is_nearly else OK,
        total_bytes=response.total_bytes,
        free_bytes=response.usable_bytes,
        reserve_bytes=kept,
    )
