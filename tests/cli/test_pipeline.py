"""`penstock pipeline` where its extra is not installed."""

import subprocess
import sys

_WITHOUT_YAML = """
import sys
sys.modules["yaml"] = None
from penstock.cli.main import run
for command in ("check", "run", "status"):
    assert run(["pipeline", command, "shop.yaml"]) == 1
"""


def test_every_command_names_the_package_to_install_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_YAML], check=False, capture_output=True, text=True, timeout=60
    )
    printed = "penstock: pipelines need yaml: install it with `pip install 'penstock-broker[spark,jre]'`"
    assert done.stderr.splitlines() == [printed] * 3
    assert (done.returncode, done.stdout) == (0, "")
