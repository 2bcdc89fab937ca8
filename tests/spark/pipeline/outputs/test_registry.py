"""A new kind of output is a class and an entry in the registry: files, rules, plans and explanations follow from it."""

from collections.abc import Mapping
from typing import Annotated

import pytest

from penstock.spark.pipeline import define, outputs
from penstock.spark.pipeline.core.model import Output, Pipeline, Sink, Target
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.yaml import parts
from penstock.spark.pipeline.yaml.file import read_yaml


class WebhookTarget(Target, frozen=True, kw_only=True):
    kind = "webhook"
    main = "url"
    modes = ("append", "update")

    url: str
    timeout_ms: int = 5_000
    method: Annotated[str, ("POST", "PUT")] = "POST"

    def sink(self, pipeline: Pipeline) -> Sink:
        return Sink(format="webhook", options={"url": self.url, "application": pipeline.name})

    def describe(self, partitions: Mapping[str, int] | None) -> str:
        return f"{self.method} {self.url}"


@pytest.fixture(autouse=True)
def webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**outputs.TARGETS, WebhookTarget.kind: WebhookTarget}
    monkeypatch.setattr(outputs, "TARGETS", known)
    monkeypatch.setattr(parts, "TARGETS", known)


def text(output: str) -> str:
    return (
        f"pipeline: p\nsources: {{orders: {{topic: orders}}}}\noutputs:\n  out: {{from: orders, {output}}}\n"
    )


def test_a_registered_output_is_read_from_yaml_and_planned() -> None:
    pipeline = read_yaml(text("webhook: http://x, timeout: 2 s, method: PUT"), "f.yaml", {})
    target = WebhookTarget(url="http://x", timeout_ms=2_000, method="PUT", line=4)
    assert pipeline.outputs == (Output(name="out", input="orders", target=target, line=4),)
    (query,) = plan_queries(pipeline)
    assert query.output is not None
    assert query.output.target.sink(pipeline).options == {"url": "http://x", "application": "p"}
    assert query.output.target.describe(None) == "PUT http://x"


def test_a_registered_output_is_declared_in_python() -> None:
    definition = define("p")
    definition.to("out", definition.topic("orders"), WebhookTarget(url="http://x"))
    assert isinstance(definition.build().outputs[0].target, WebhookTarget)
    with pytest.raises(ValueError, match="`method` cannot be `GET`: write one of `POST`, `PUT`"):
        definition.to("other", "orders", WebhookTarget(url="http://x", method="GET"))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("webhook: http://x, method: GET", "`method` cannot be `GET`: write one of `POST`, `PUT`"),
        ("webhook: http://x, rows: 3", "`rows` is for outputs to a console, and this one goes to a webhook"),
        (
            "console: true, timeout: 1 s",
            "`timeout` is for outputs to a webhook, and this one goes to a console",
        ),
        ("webhook: http://x, mode: complete", "a webhook cannot be written in complete mode"),
        ("nowhere: true", "or `webhook`"),
    ],
)
def test_a_registered_output_is_checked(output: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        read_yaml(text(output), "f.yaml", {})
    assert message in str(caught.value)


def test_a_target_that_does_not_say_how_it_is_written_is_an_error_and_not_the_console() -> None:
    class Unfinished(Target, frozen=True, kw_only=True):
        kind = "unfinished"

    with pytest.raises(NotImplementedError, match=r"Unfinished\.sink"):
        Unfinished().sink(Pipeline(name="p", sources=(), outputs=()))
