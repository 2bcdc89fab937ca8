"""Shortens texts for messages."""


def one_line(text: str, length_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length_max else line[: length_max - 1] + "…"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
