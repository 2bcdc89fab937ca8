from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.spark.pipeline import define, json, watermark
from penstock.spark.pipeline.core.model import PythonStep
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.load import load

FILES = Path(__file__).parent.parent / "files"


def without_places(value: Any) -> Any:
    """The model without lines and file names: what the two forms must agree on."""
    if isinstance(value, msgspec.Struct):
        parts = {name: without_places(getattr(value, name)) for name in value.__struct_fields__}
        return type(value).__name__, {
            name: part for name, part in parts.items() if name not in {"line", "path"}
        }
    return [without_places(each) for each in value] if isinstance(value, tuple) else value


def write(directory: Path, text: str) -> str:
    path = directory / "pipeline_file.py"
    path.write_text("from penstock.spark.pipeline import *\n" + text)
    return str(path)


def reported(path: str) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        load(path)
    return str(caught.value).replace(path, "file").split("\n")


def test_both_forms_make_the_same_pipeline() -> None:
    in_yaml = load(str(FILES / "every_kind.yaml"), {})
    in_python = load(str(FILES / "every_kind.py"))
    assert without_places(in_python) == without_places(in_yaml)


def test_parts_know_their_lines_in_the_python_file() -> None:
    lines = (FILES / "every_kind.py").read_text().split("\n")
    pipeline = load(str(FILES / "every_kind.py"))
    for part in (*pipeline.sources, *pipeline.steps, *pipeline.outputs):
        assert "pipeline." in lines[part.line - 1]


def test_a_decorated_function_is_a_step_and_can_be_read_by_others_and_called_by_tests() -> None:
    definition = define("p")
    orders = definition.topic("orders")

    @definition.step(orders, "other")
    def both(left: Any, right: Any) -> Any:
        return left + right

    definition.topic("other")
    definition.to_console("out", both)
    pipeline = definition.build()
    assert pipeline.steps[0].name == "both"
    assert pipeline.steps[0].inputs == ("orders", "other")
    assert isinstance(pipeline.steps[0].operation, PythonStep)
    assert pipeline.outputs[0].input == "both"
    assert both(1, 2) == 3


def test_a_function_that_is_no_step_cannot_be_read() -> None:
    with pytest.raises(ValueError, match=r"is not a step of this pipeline: decorate it with @pipeline.step"):
        define("p").to_console("out", without_places)


def test_relative_paths_are_relative_to_the_file_that_defines_the_pipeline() -> None:
    definition = define("p")
    definition.topic("orders")
    definition.to_console("out", "orders")
    assert definition.build().directory == str(Path(__file__).parent)


def test_problems_between_parts_are_reported_all_at_once_with_lines(tmp_path: Path) -> None:
    text = (
        "p = define('p')\n"
        "p.topic('orders')\n"
        "p.sql('a', 'SELECT * FROM order')\n"
        "p.filter('b', 'nothing', 'x > 0')\n"
        "p.to_table('out', 'a', path='x', mode='update')\n"
    )
    assert reported(write(tmp_path, text)) == [
        "file:4: step a reads `order`, which is neither a source nor a step; did you mean `orders`?",
        "file:5: step b reads `nothing`, which is neither a source nor a step: there are orders, a, b",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p = define('p', trigger='soon')", "file:2: `soon` is not a duration"),
        (
            "p = define('p')\np.join('j', 'a', 'b', how='lft')",
            "file:3: `how` cannot be `lft`; did you mean `left`?",
        ),
        (
            "p = define('p')\np.topic('a')\np.window('w', 'a', on='at', aggregates={})\np.to_console('o', 'w')",
            "file:4: step w: window: `size` is missing: a window has either `size`",
        ),
        ("p = define('p'\n", "file:2: SyntaxError: '(' was never closed"),
        ("import nowhere", "file:2: ModuleNotFoundError: No module named 'nowhere'"),
        ("1 / 0", "file:2: ZeroDivisionError: division by zero"),
        ("x = 1", "file: binds no pipeline: write `pipeline = define(…)`"),
        ("p, q = define('p'), define('q')", "file: binds more than one pipeline"),
        ("p = define('p')\np.topic('t')", "file:2: `outputs` must name at least one topic, table or console"),
        ("p = define('p')", "file:2: `sources` must name at least one topic or table"),
    ],
)
def test_an_error_in_the_file_is_reported_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert reported(write(tmp_path, text))[0].startswith(message)


def test_a_file_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("TOPIC = 'found'\n")
    text = "import beside_it\np = define('p')\np.topic(beside_it.TOPIC)\np.to_console('out', 'found')\n"
    assert load(write(tmp_path, text)).sources[0].name == "found"


def test_parts_are_values_of_the_model() -> None:
    assert json("a INT", allow_null=True).allow_null
    assert watermark("at", "1 minute").delay_ms == 60_000


@pytest.mark.parametrize(
    ("name", "message"), [("x.txt", "its name must end in .yaml"), ("x.yaml", "cannot be read")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        load(str(tmp_path / name))
