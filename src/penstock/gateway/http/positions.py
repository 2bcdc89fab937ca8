"""Positions as text: `0:17,1:3` is offset 17 of partition 0 and offset 3 of partition 1. Pure."""

from collections.abc import Mapping

from penstock.client.positions import is_number
from penstock.gateway.http.problems import bad_request


def write_positions(positions: Mapping[int, int]) -> str:
    return ",".join(f"{partition}:{positions[partition]}" for partition in sorted(positions))


def around(positions: Mapping[int, int], partition: int) -> tuple[str, str]:
    """The text before and after one partition's offset: while only that offset changes, the rest is reused."""
    before = "".join(f"{each}:{positions[each]}," for each in sorted(positions) if each < partition)
    after = "".join(f",{each}:{positions[each]}" for each in sorted(positions) if each > partition)
    return f"{before}{partition}:", after


def read_positions(text: str, source: str) -> dict[int, int]:
    """Parse positions; `source` names the parameter or header in errors. Raises `Problem`."""
    positions: dict[int, int] = {}
    for word in text.split(","):
        partition, colon, offset = word.strip().partition(":")
        if not colon or not is_number(partition) or not is_number(offset) or int(partition) in positions:
            raise bad_request(
                f"{source} is {text!r}: it must be PARTITION:OFFSET,… with each partition once, like 0:17,1:3."
            )
        positions[int(partition)] = int(offset)
    return positions
