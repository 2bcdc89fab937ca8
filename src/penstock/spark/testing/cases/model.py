"""The model of a cases file: `payments.tests.yaml` beside `payments.yaml`.

    cases:
      - name: an order without an amount is a dead letter
        given:
          orders:
            - {key: o1, value: {orderId: o1, amount: 5}}
            - {value: "{not json"}
        expect:
          payments:
            - {orderId: o1, amount: 5.0}
          dead_letters:
            - {step: orders, error: not JSON}

A case has one step, or several in `steps`. In each step the pipeline is run until it has read all records.
"""

from collections.abc import Mapping

import msgspec

from penstock.spark.pipeline.core.model import Part
from penstock.spark.testing.compare import ExpectedRows, Row
from penstock.spark.testing.records import Record

STOP = "stop"
KILL = "kill"


class GivenRecord(msgspec.Struct, frozen=True, kw_only=True):
    record: Record
    topic: str = ""  # empty: the only topic of the source


class GivenSource(Part, frozen=True, kw_only=True):
    """What a source is given: records if it reads a topic, rows if it reads a table."""

    name: str
    records: tuple[GivenRecord, ...] = ()
    rows: tuple[Row, ...] = ()
    schema: str = ""  # of the rows, in Spark's DDL; empty: inferred
    is_table: bool = False


class ExpectedOutput(Part, frozen=True, kw_only=True):
    name: str
    rows: ExpectedRows | None = None
    count: int | None = None


class ExpectedBroken(Part, frozen=True, kw_only=True):
    """The number of rows of a source or step that broke a rule."""

    owner: str
    rule: str
    rows: int


class CaseStep(Part, frozen=True, kw_only=True):
    given: tuple[GivenSource, ...] = ()
    outputs: tuple[ExpectedOutput, ...] = ()
    dead_letters: ExpectedOutput
    broken: tuple[ExpectedBroken, ...] = ()
    failure: str | None = None  # text in the reason for which a query is expected to fail
    restart_after: str | None = None  # STOP or KILL


class Case(Part, frozen=True, kw_only=True):
    name: str
    environment: Mapping[str, str] = {}
    steps: tuple[CaseStep, ...]


class CaseFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    pipeline: str  # the path of the pipeline file
    cases: tuple[Case, ...]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    message: str  # may have several lines
    line: int = 0


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    case: Case
    duration_s: float
    failures: tuple[Failure, ...] = ()
