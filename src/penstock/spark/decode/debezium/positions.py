"""Orders the changes of a key: the position of a change in the source's log, then the offset of its record. Pure.

The order is text of fixed width, so that every engine compares it in the same way. The position decides, and not the
offset alone: after a crash a connector sends changes again, and those have higher offsets.
"""

from collections.abc import Callable, Mapping
from typing import Any

Source = Mapping[str, Any]

_WIDTH = 20  # digits of a 64-bit number


def order_of(source: Source, ts_ms: int | None, offset: int) -> str:
    position = _BY_CONNECTOR.get(str(source.get("connector")), _time)(source)
    if not position:
        position = _time(source) or _number(ts_ms)
    return f"{position}:{offset:0{_WIDTH - 1}}"


def _number(value: Any, width: int = _WIDTH) -> str:
    try:
        return f"{max(int(value or 0), 0):0{width}}"
    except ValueError:
        return ""


def _time(source: Source) -> str:
    for name, factor in (("ts_ns", 1), ("ts_us", 1_000), ("ts_ms", 1_000_000)):
        if source.get(name):
            return _number(source[name] * factor)
    return ""


def _postgres(source: Source) -> str:
    return _number(source["lsn"]) if source.get("lsn") is not None else ""


def _mysql(source: Source) -> str:
    """Return number of the log file, position, row in the event."""
    number = str(source.get("file") or "").rpartition(".")[2]
    if not number.isdecimal():
        return ""
    return _number(number, 10) + _number(source.get("pos")) + _number(source.get("row"), 10)


def _sqlserver(source: Source) -> str:
    """Return the log sequence numbers of commit and change, which are hexadecimal and of fixed width."""
    commit, change = source.get("commit_lsn"), source.get("change_lsn")
    if not commit:
        return ""
    return f"{commit}{change or '0' * len(commit)}" + _number(source.get("event_serial_no"), 10)


def _oracle(source: Source) -> str:
    scn = source.get("scn")
    return _number(source.get("commit_scn") or scn) + _number(scn) if scn else ""


def _mongodb(source: Source) -> str:
    return _number(source.get("ts_ms")) + _number(source.get("ord"), 10)


_BY_CONNECTOR: Mapping[str, Callable[[Source], str]] = {
    "postgresql": _postgres,
    "mysql": _mysql,
    "mariadb": _mysql,
    "sqlserver": _sqlserver,
    "db2": _sqlserver,
    "oracle": _oracle,
    "mongodb": _mongodb,
}
