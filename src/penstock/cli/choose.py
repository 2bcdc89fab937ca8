"""The choice of a topic by a person, when a command was given none."""

import sys
from collections.abc import Sequence
from typing import Any

from penstock.cli.connection import topic_names
from penstock.cli.errors import EXIT_USAGE, CommandError


def choose_topic(client: Any, command: str) -> str:
    """Ask for one of the cluster's topics by number or name; without a terminal, say how to name it."""
    topics = topic_names(client)
    if not topics:
        raise CommandError("there are no topics: make one with `penstock topic create NAME`")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        some = ", ".join(topics[:5]) + (", …" if len(topics) > 5 else "")
        raise CommandError(f"say which topic: `penstock {command} TOPIC` (there are {some})", EXIT_USAGE)
    for number, name in enumerate(topics, start=1):
        print(f"{number:>4}  {name}", file=sys.stderr)
    while True:
        print("Topic (number or name): ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if not answer:
            raise CommandError("no topic was chosen", EXIT_USAGE)
        if (chosen := chosen_topic(topics, answer)) is not None:
            return chosen
        print(f"Not one of them: type 1 to {len(topics)}, or a name", file=sys.stderr)


def chosen_topic(topics: Sequence[str], answer: str) -> str | None:
    """The topic that an answer means; a name comes before a number, should a topic be called 1."""
    answer = answer.strip()
    if answer in topics:
        return answer
    if answer.isdecimal() and 1 <= int(answer) <= len(topics):
        return topics[int(answer) - 1]
    return None
