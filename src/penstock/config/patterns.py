"""Regular expressions of clients: RE2, as in Kafka, which matches in time that is linear in the length of the text.

Python's `re` backtracks: one pattern such as `(a+)+b` could stop the broker.
"""

from typing import Final

import re2  # type: ignore[import-untyped]

_MEMORY_BYTES_MAX: Final = 1 << 16
"""Memory of one pattern: its program, some 2,500 steps at most, and the states that RE2 caches."""


_DESCRIPTIONS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
"""The messages that Kafka's engine, RE2 for Java, has in place of these."""


class InvalidPattern(Exception):
    """RE2 does not accept the pattern, or it is too large."""


class Pattern:
    """Matches whole texts, as Kafka does. Raises `InvalidPattern` when the pattern is invalid or too large.

    `work_max` limits the work on all texts, in steps of the program times characters, which is the most that RE2 may
    need: when it is exceeded, `matches` raises `InvalidPattern`.
    """

    __slots__ = ("_matcher", "_steps", "_work_left")

    def __init__(self, pattern: str, *, work_max: float = float("inf")) -> None:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _MEMORY_BYTES_MAX
        try:
            self._matcher = re2.compile(pattern, options)
        except re2.error as error:
            description = error.args[0].decode(errors="replace").partition(": ")[0]
            raise InvalidPattern(_DESCRIPTIONS.get(description, description)) from None
        except UnicodeEncodeError:
            raise InvalidPattern("the pattern is not valid Unicode") from None
        self._steps: int = self._matcher._regexp.ProgramSize()  # noqa: SLF001  it has no public name
        self._work_left = work_max

    def matches(self, text: str) -> bool:
        self._work_left -= self._steps * len(text)
        if self._work_left < 0:
            raise InvalidPattern("expression too costly to match")
        return self._matcher.fullmatch(text) is not None
