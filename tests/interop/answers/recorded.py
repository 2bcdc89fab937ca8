"""`kafka.json`: each label with its answer on a line of its own, so that a change of one is a change of one line."""

import json
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).with_name("kafka.json")


def read() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads(PATH.read_text())
    return answers


def write(answers: dict[str, Any]) -> None:
    lines = (
        f"{json.dumps(label)}: {json.dumps(answer, separators=(',', ':'), sort_keys=True)}"
        for label, answer in answers.items()
    )
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
