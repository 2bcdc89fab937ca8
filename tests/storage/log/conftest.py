from pathlib import Path

import pytest

from penstock.storage.log.log import Log
from tests.storage.logs import new_log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return new_log(str(tmp_path))
