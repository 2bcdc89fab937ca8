"""CRC-32C, without what its package does when it is imported.

`crc32c` looks up its own version among the installed packages, which takes a tenth of a broker's start. The function
itself lives in an extension module, which is loaded here without the package around it.
"""

from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Final, Protocol

_PACKAGE = "crc32c"
_EXTENSION = "crc32c._crc32c"

Buffer = bytes | bytearray | memoryview


class Crc32c(Protocol):
    def __call__(self, data: Buffer, value: int = 0, /) -> int:
        """The checksum of `data`, or of what `value` is the checksum of and `data` after it."""
        ...


def _load() -> Crc32c:
    package = find_spec(_PACKAGE)  # finds it, and runs nothing of it
    extension = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations) if package else None
    if extension is not None and extension.loader is not None:
        module = module_from_spec(extension)
        extension.loader.exec_module(module)
    else:
        module = import_module(_PACKAGE)  # built otherwise than we know
    function: Crc32c = module.crc32c
    return function


crc32c: Final = _load()
