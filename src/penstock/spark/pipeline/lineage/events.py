"""Makes OpenLineage run events (spec 2-0-2) from the states of a run's queries. No I/O.

Each query is a job with a run of its own, whose parent is the run of the pipeline: START when it starts, RUNNING from
time to time, FAIL when it is given up, COMPLETE when it ends otherwise, ABORT when the run ended without it.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from penstock.spark.pipeline.core.secrets import redact
from penstock.spark.pipeline.delivery.outbox import Message
from penstock.spark.pipeline.lineage.datasets import Dataset, Job
from penstock.spark.pipeline.progress.status import DONE, FAILED, STOPPED, QueryStatus, RunStatus

_PRODUCER = "https://pypi.org/project/penstock-broker"
_SPEC = "https://openlineage.io/spec"
_EVENT_SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"


class LineageEmitter:
    """Called with the status about once a second."""

    def __init__(
        self, put: Callable[[Message], None], jobs: Mapping[str, Job], namespace: str, interval_ms: int
    ) -> None:
        self._put = put
        self._jobs = jobs
        self._namespace = namespace
        self._interval_ms = interval_ms
        self._run_ids: dict[str, str] = {}
        self._sent_ms: dict[str, int] = {}
        self._ended: set[str] = set()

    def __call__(self, status: RunStatus) -> None:
        for query in status.queries:
            if query.name in self._jobs and query.name not in self._ended:
                self._observe(status, query)

    def _observe(self, status: RunStatus, query: QueryStatus) -> None:
        if query.name not in self._run_ids:
            self._run_ids[query.name] = str(uuid.uuid4())
            self._send("START", status, query)
        if query.state == FAILED:
            self._end("FAIL", status, query)
        elif status.ended_ms is not None:
            self._end("COMPLETE" if query.state in {DONE, STOPPED} else "ABORT", status, query)
        elif status.updated_ms - self._sent_ms[query.name] >= self._interval_ms:
            self._send("RUNNING", status, query)

    def _end(self, kind: str, status: RunStatus, query: QueryStatus) -> None:
        self._ended.add(query.name)
        self._send(kind, status, query)

    def _send(self, kind: str, status: RunStatus, query: QueryStatus) -> None:
        self._sent_ms[query.name] = status.updated_ms
        event = run_event(
            kind,
            status,
            query,
            self._jobs[query.name],
            run_id=self._run_ids[query.name],
            namespace=self._namespace,
        )
        self._put(Message(key=event["run"]["runId"], body=event))


def run_event(
    kind: str, status: RunStatus, query: QueryStatus, job: Job, *, run_id: str, namespace: str
) -> dict[str, Any]:
    run_facets = {
        "parent": _facet(
            "facets/1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet",
            run={"runId": status.run_id},
            job={"namespace": namespace, "name": status.pipeline},
        )
    }
    if kind == "FAIL":
        run_facets["errorMessage"] = _facet(
            "facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
            message=redact(query.last_error or "unknown"),
            programmingLanguage="PYTHON",
        )
    job_type = _facet(
        "facets/2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
        processingType="STREAMING",
        integration="PENSTOCK",
        jobType="QUERY",
    )
    return {
        "eventType": kind,
        "eventTime": datetime.fromtimestamp(status.updated_ms / 1000, UTC).isoformat(),
        "run": {"runId": run_id, "facets": run_facets},
        "job": {"namespace": namespace, "name": job.name, "facets": {"jobType": job_type}},
        "inputs": [_dataset(each) for each in job.inputs],
        "outputs": [_dataset(each) for each in job.outputs],
        "producer": _PRODUCER,
        "schemaURL": _EVENT_SCHEMA,
    }


def _dataset(dataset: Dataset) -> dict[str, Any]:
    facets = {}
    if dataset.columns:
        facets["schema"] = _facet(
            "facets/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
            fields=[{"name": name, "type": kind} for name, kind in dataset.columns],
        )
    return {"namespace": dataset.namespace, "name": dataset.name, "facets": facets}


def _facet(schema: str, **content: Any) -> dict[str, Any]:
    return {"_producer": _PRODUCER, "_schemaURL": f"{_SPEC}/{schema}", **content}
