"""What a comparison finds: for each query whether it goes on, and if not, the ways out."""

import enum
from collections.abc import Iterable

import msgspec

from penstock.spark.pipeline.core.problems import Problem


class Verdict(enum.Enum):
    GOES_ON = "goes on"
    NEEDS_CHANGE = "needs a change"
    CANNOT_GO_ON = "cannot go on"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    query: str  # its key
    verdict: Verdict
    message: str
    advice: tuple[str, ...] = ()  # each is a way out
    line: int = 0

    @property
    def problem(self) -> Problem:
        ways = "".join(f"; or {each}" if number else f": {each}" for number, each in enumerate(self.advice))
        return Problem(
            message=f"{self.query} {self.verdict.value}: {self.message}{ways}",
            line=self.line,
            is_warning=True,
        )


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """The ways out, as a person types them, for one query of one file."""

    file: str
    key: str
    line: int = 0

    @property
    def reset(self) -> str:
        return f"`{self._reset}` starts it anew, from the beginning of its topics"

    @property
    def _reset(self) -> str:
        return f"penstock pipeline reset {self.file} --output {self.key}"

    @property
    def new_output(self) -> str:
        return (
            "replay into a new table or topic: give the output another name and another target, run it until its lag "
            "is 0, and let the readers use the new one"
        )

    @property
    def undo(self) -> str:
        return "undo the change"

    @property
    def accept(self) -> str:
        return f"`penstock pipeline plan {self.file} --accept {self.key}` if the state fits nevertheless"

    def goes_on(self, message: str, *advice: str) -> Finding:
        return self._finding(Verdict.GOES_ON, message, advice)

    def needs_change(self, message: str, *advice: str) -> Finding:
        return self._finding(Verdict.NEEDS_CHANGE, message, advice)

    def cannot_go_on(self, message: str, *advice: str) -> Finding:
        return self._finding(Verdict.CANNOT_GO_ON, message, advice)

    def _finding(self, verdict: Verdict, message: str, advice: Iterable[str]) -> Finding:
        return Finding(query=self.key, verdict=verdict, message=message, advice=tuple(advice), line=self.line)
