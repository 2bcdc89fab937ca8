"""CRC-32C, without the import cost of its package.

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
        """The checksum of `data`; `value` is the checksum of the bytes before it."""
        ...


def _load() -> Crc32c:
    package = find_spec(_PACKAGE)  # finds the package without running it
    extension = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations) if package else None
    if extension is not None and extension.loader is not None:
        module = module_from_spec(extension)
        extension.loader.exec_module(module)
    else:
        module = import_module(_PACKAGE)  # an unknown build
    function: Crc32c = module.crc32c
    return function


crc32c: Final = _load()
