import subprocess
import sys
from pathlib import Path

FILES = Path(__file__).parent / "files"


def test_a_yaml_file_is_read_without_loading_spark() -> None:
    """`penstock pipeline status` answers at once."""
    script = (
        "import sys; from penstock.spark.pipeline.load import load; load(sys.argv[1], {}); "
        "print({'pyspark', 'pyarrow', 'pandas'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", script, str(FILES / "every_kind.yaml")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
