"""Problems of a pipeline file: each has its line, and all of them are reported at once."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from penstock.spark.pipeline.core.secrets import redact

if TYPE_CHECKING:
    from penstock.spark.pipeline.core.model import Pipeline


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    line: int = 0  # 0: the file as a whole
    is_warning: bool = False  # the pipeline runs all the same

    def text(self, path: str) -> str:
        """`file:line: message`, the form that editors jump to."""
        place = f"{path}:{self.line}" if self.line else path
        return f"{place}: {'warning: ' if self.is_warning else ''}{redact(self.message)}"


class PipelineError(Exception):
    """The pipeline file is invalid. The text of the exception lists all problems, one per line.

    `healthy` is the pipeline without the parts that have problems, for more checks.
    """

    def __init__(self, path: str, problems: Iterable[Problem], healthy: "Pipeline | None" = None) -> None:
        self.path = path
        self.healthy = healthy
        self.problems = sorted_problems(problems)
        super().__init__("\n".join(problem.text(path) for problem in self.problems))


def error(line: int, message: str) -> Problem:
    return Problem(message=message, line=line)


def warning(line: int, message: str) -> Problem:
    return Problem(message=message, line=line, is_warning=True)


def prefixed(what: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Name the part that has the problems: `step paid: …`."""
    for problem in problems:
        yield msgspec.structs.replace(problem, message=f"{what}: {problem.message}")


def sorted_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems by line and drop repeated ones."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.line))


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?` for a name that is close to a known one, else an empty text."""
    by_folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(wrong.casefold(), list(by_folded), n=1)
    return f"; did you mean `{by_folded[near[0]]}`?" if near else ""


def invalid_choice(wrong: str, choices: Sequence[str]) -> str:
    listed = ", ".join(f"`{each}`" for each in choices)
    return f"cannot be `{wrong}`{did_you_mean(wrong, choices) or f': write one of {listed}'}"


def choices_of(hint: Any) -> tuple[str, ...]:
    """Return the words that a field of type `Annotated[str, (…)]` accepts; none for other types."""
    if get_origin(hint) is not Annotated:
        return ()
    return next((each for each in get_args(hint)[1:] if isinstance(each, tuple)), ())


def choice_problems(struct: msgspec.Struct) -> list[str]:
    hints = get_type_hints(type(struct), include_extras=True)
    return [
        f"`{name}` {invalid_choice(getattr(struct, name), words)}"
        for name, hint in hints.items()
        if (words := choices_of(hint)) and getattr(struct, name) not in (*words, None)
    ]
