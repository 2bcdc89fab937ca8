"""What the tests of the commands share."""

from pathlib import Path

import pytest

from tests.spark.pipeline import shop


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A pipeline file over a topic of its own."""
    return shop.write(tmp_path)
