"""What is wrong with a pipeline file: each problem has its line, and all of them are told at once."""

import difflib
from collections.abc import Iterable

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    line: int = 0  # 0: the file as a whole
    is_warning: bool = False  # worth a look, but the pipeline runs

    def text(self, path: str) -> str:
        """`file:line: message`, the form that editors jump to."""
        place = f"{path}:{self.line}" if self.line else path
        return f"{place}: {'warning: ' if self.is_warning else ''}{self.message}"


class PipelineError(Exception):
    """The file is no pipeline. The text of the exception is all problems, a line each."""

    def __init__(self, path: str, problems: Iterable[Problem]) -> None:
        self.path = path
        self.problems = in_order(problems)
        super().__init__("\n".join(problem.text(path) for problem in self.problems))


def error(line: int, message: str) -> Problem:
    return Problem(message=message, line=line)


def warning(line: int, message: str) -> Problem:
    return Problem(message=message, line=line, is_warning=True)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """By line, each told once."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.line))


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean …?` for a name that is nearly one of the known, else nothing."""
    by_folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(wrong.casefold(), list(by_folded), n=1)
    return f"; did you mean `{by_folded[near[0]]}`?" if near else ""
