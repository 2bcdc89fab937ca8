"""Options that several commands share, as classes: each option is a parameter of the class, declared once."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from penstock.cli.errors import UsageError

P = ParamSpec("P")
B = TypeVar("B")

Command = Callable[..., None]

_PORT_MAX = 65535


def listen_address(option: str, text: str, example: str) -> tuple[str, int]:
    """Parse HOST:PORT, where HOST may be an IPv6 address in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > _PORT_MAX:
        raise UsageError(f"{option} {text} is not an address: write HOST:PORT, like {example}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def takes(bundle: type[B]) -> Callable[[Callable[Concatenate[B, P], None]], Command]:
    """Add the options of a class to a command, which gets an instance as its first argument."""
    options = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(bundle).parameters.values()
    ]

    def decorate(command: Callable[Concatenate[B, P], None]) -> Command:
        @functools.wraps(command)
        def run(*arguments: Any, **given: Any) -> None:
            own = {each.name: given.pop(each.name) for each in options}
            command(bundle(**own), *arguments, **given)

        others = list(inspect.signature(command).parameters.values())[1:]
        run.__signature__ = inspect.Signature([*others, *options])  # type: ignore[attr-defined]
        return run

    return decorate
