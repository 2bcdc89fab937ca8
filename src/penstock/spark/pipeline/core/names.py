"""Checks names of sources and steps (views in SQL), of pipelines and outputs, and of topics."""

import re

_VIEW_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")


def view_name_problem(name: str) -> str | None:
    if _VIEW_NAME.fullmatch(name):
        return None
    instead = re.sub(r"\W", "_", name, flags=re.ASCII)
    instead = f"_{instead}" if instead[:1].isdecimal() or not instead else instead
    return f"a name in SQL has letters, digits and underscores only: write `{instead}`"


def file_name_problem(name: str) -> str | None:
    """Check the name of a pipeline or output, which names directories, topics and groups."""
    if _FILE_NAME.fullmatch(name):
        return None
    return "the name may have letters, digits, dots, dashes and underscores only, and begins with a letter or digit"


def topic_name_problem(topic: str) -> str | None:
    if _TOPIC_NAME.fullmatch(topic) and topic not in {".", ".."}:
        return None
    return f"`{topic}` is not a topic name: use letters, digits, `.`, `_` and `-` only, at most 249 of them"
