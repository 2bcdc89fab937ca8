"""Finds cases files and their pipelines: `payments.tests.yaml` has those of `payments.yaml` or `payments.py`."""

import glob
import os
from collections.abc import Iterable, Mapping

import msgspec

from penstock.spark.pipeline.core.problems import PipelineError, error, sorted_problems
from penstock.spark.testing.cases.model import Case, CaseFile
from penstock.spark.testing.cases.names import name_problems
from penstock.spark.testing.cases.read import read_cases
from penstock.spark.testing.cases.run import load_for_case

_SUFFIXES = (".tests.yaml", ".tests.yml")
_PIPELINE_SUFFIXES = (".yaml", ".yml", ".py")


class CasesNotFound(Exception):
    """The message says where cases were expected."""


def find_cases(paths: Iterable[str]) -> list[str]:
    """Return the cases files of the given pipeline files, cases files and directories, each once."""
    found: dict[str, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_in_directory(path) if os.path.isdir(path) else [_of_file(path)]))
    return list(found)


def _in_directory(path: str) -> list[str]:
    files = [
        os.path.normpath(each)
        for suffix in _SUFFIXES
        for each in glob.glob(os.path.join(path, "**", f"*{suffix}"), recursive=True)
    ]
    if not files:
        raise CasesNotFound(f"there is no file *{_SUFFIXES[0]} below {path}")
    return sorted(files)


def _of_file(path: str) -> str:
    stem, suffix = os.path.splitext(path)
    candidates = [path] if path.endswith(_SUFFIXES) else [stem + each for each in _SUFFIXES]
    existing = [each for each in candidates if os.path.isfile(each)]
    if existing:
        return existing[0]
    if not os.path.exists(path):
        raise CasesNotFound(f"there is no file {path}")
    if suffix not in _PIPELINE_SUFFIXES:
        raise CasesNotFound(f"{path} is neither a pipeline file nor a cases file")
    raise CasesNotFound(f"{path} has no cases: write them to {candidates[0]}")


def read_file(path: str, environment: Mapping[str, str] | None = None) -> CaseFile:
    """Return the cases of a file, with every name in them checked; raise PipelineError with all problems.

    A pipeline file that cannot be loaded fails its cases when they run.
    """
    stem = next(path.removesuffix(each) for each in _SUFFIXES if path.endswith(each))
    pipelines = [stem + each for each in _PIPELINE_SUFFIXES if os.path.isfile(stem + each)]
    if not pipelines:
        names = ", ".join(os.path.basename(stem) + each for each in _PIPELINE_SUFFIXES)
        raise PipelineError(path, [error(0, f"there is no pipeline beside it: none of {names}")])
    file = read_cases(path, pipelines[0], environment)
    problems = []
    for case in file.cases:
        try:
            pipeline = load_for_case(file, case)
        except PipelineError:
            continue
        problems += name_problems(case, pipeline)
    if problems:
        raise PipelineError(path, sorted_problems(problems))
    return file


def select_cases(files: Iterable[CaseFile], pattern: str | None) -> list[CaseFile]:
    """Keep the cases whose path and name contain the pattern, whatever its case."""
    if pattern is None:
        return list(files)
    kept = [
        msgspec.structs.replace(
            file, cases=tuple(case for case in file.cases if _matches(file, case, pattern))
        )
        for file in files
    ]
    return [file for file in kept if file.cases]


def _matches(file: CaseFile, case: Case, pattern: str) -> bool:
    return pattern.casefold() in f"{file.path}: {case.name}".casefold()
