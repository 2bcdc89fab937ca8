"""Builds the wheel: pure, or, when PENSTOCK_MYPYC=1, with the modules of the hot path compiled by mypyc.

Both come from the same source, and the pure one always works; docs/adr/0009-mypyc.md has what compiling buys. A module
that is compiled defines no msgspec structs (mypyc drops their options), no exceptions that set a class attribute, no
class that is subclassed where it is not compiled, and no async generators; mypyc takes generator expressions for lists,
and warns of each.
"""

import os
import shutil
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILED = (
    "cluster/append_queue.py",
    "cluster/replica.py",
    "cluster/waiting.py",
    "observability/exposition.py",
    "protocol/headers.py",
    "protocol/produce_frame.py",
    "protocol/records/validation.py",
    "protocol/records/walk.py",
    "protocol/wire.py",
    "server/connection.py",
    "server/dispatch.py",
    "server/memory.py",
    "server/metrics/requests.py",
    "server/route.py",
    "server/tls_listener.py",
    "server/handlers/produce_transactions.py",
    "storage/file_cache.py",
    "storage/flusher.py",
    "storage/journal/records.py",
    "storage/log/append.py",
    "storage/log/log.py",
    "storage/log/producers.py",
    "storage/log/reader.py",
    "storage/log/replicated.py",
    "storage/log/sync.py",
    "storage/offset_index.py",
    "storage/segment.py",
    "storage/segment_chain.py",
    "storage/segment_indexes.py",
    "storage/tail.py",
    "storage/time_index.py",
)


class MypycHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling's own configuration class is private
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return ["mypy>=1.15", "setuptools>=77", "msgspec>=0.19"] if _is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless an editable install was asked for: that runs the source itself."""
        if not _is_wanted() or version == "editable":
            return
        self._directory = directory = tempfile.mkdtemp(prefix="penstock-mypyc-")
        _compile(self.root, directory)
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        for folder, _, names in os.walk(os.path.join(directory, "lib")):
            for name in names:
                if name.endswith(suffix):
                    path = os.path.join(folder, name)
                    build_data["force_include"][path] = os.path.relpath(path, os.path.join(directory, "lib"))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        shutil.rmtree(getattr(self, "_directory", ""), ignore_errors=True)


def _is_wanted() -> bool:
    return os.environ.get("PENSTOCK_MYPYC") == "1"


def _compile(root: str, directory: str) -> None:
    """One shared library with all modules, and for each a small one that finds it there, in `directory`/lib."""
    from mypyc.build import mypycify  # noqa: PLC0415  only there when a compiled wheel is built
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415
    from setuptools.dist import Distribution  # noqa: PLC0415

    here = os.getcwd()
    os.chdir(root)
    try:
        extensions = mypycify(
            ["--config-file", "pyproject.toml", *(f"src/penstock/{module}" for module in COMPILED)],
            opt_level="2",
            debug_level="0",
            target_dir=os.path.join(directory, "c"),
        )
        command = build_ext(Distribution({"name": "penstock", "ext_modules": extensions}))
        command.build_lib = os.path.join(directory, "lib")
        command.build_temp = os.path.join(directory, "o")
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(here)
