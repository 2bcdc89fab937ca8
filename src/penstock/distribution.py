"""The name under which Penstock is installed. It is not the import name: another project has `penstock` on PyPI."""

from typing import Final

DISTRIBUTION: Final = "penstock-broker"


def pip_install(*extras: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"
