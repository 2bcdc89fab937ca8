"""Substitutes `${NAME}` and `${NAME:-default}` in the values of a file; `$${NAME}` is the text itself."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(\$?)\{([^}]*)\}")
_INSIDE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)


def substitute(text: str, environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the text with its variables filled in, and messages about those that cannot be."""
    wrong: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        inside = _INSIDE.fullmatch(match[2])
        if inside is None:
            wrong.append(f"`{match[0]}` is not a variable: write ${{NAME}}, or $${{…}} for the text itself")
            return ""
        found = environment.get(inside["name"])
        if found is not None and (found or inside["default"] is None):
            return found
        if inside["default"] is not None:
            return str(inside["default"][2:])
        name = inside["name"]
        wrong.append(
            f"the environment variable {name} is not set: set it, or give a default with ${{{name}:-…}}"
        )
        return ""

    return _REFERENCE.sub(fill, text), wrong
