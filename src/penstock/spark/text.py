"""Shortens texts for messages."""

_TEXT_LENGTH_MAX = 60


def one_line(text: str, length_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length_max else line[: length_max - 1] + "…"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shortened(value: object) -> str:
    text = str(value) if isinstance(value, (int, float)) or value is None else repr(value)
    return one_line(text, _TEXT_LENGTH_MAX)
