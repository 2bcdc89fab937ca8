"""`python -m tools.codegen DEFINITIONS_DIR [MORE_DIRS...] OUTPUT_DIR`"""

import hashlib
import os
import sys

from tools.codegen.definitions import load_error_codes, load_messages
from tools.codegen.modules import emit_module, group_into_modules
from tools.codegen.tables import emit_api_table, emit_error_codes

MANIFEST = "MANIFEST"
_PACKAGE = '"""Messages of Kafka\'s protocol, one module for each API. Written by tools.codegen."""\n'


def generate(directories: list[str]) -> dict[str, str]:
    """The text of every generated file, by its name."""
    messages = load_messages([each for each in directories if os.path.isdir(each)])
    files = {
        "__init__.py": _PACKAGE,
        "error_codes.py": emit_error_codes(load_error_codes(directories)),
        "api_table.py": emit_api_table(messages),
    }
    for module in group_into_modules(messages):
        files[f"{module.name}.py"] = emit_module(module)
    files[MANIFEST] = manifest(files)
    return files


def manifest(files: dict[str, str]) -> str:
    """A line with the SHA-256 of every other file, by which a change made by hand is noticed."""
    hashes = {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items() if name != MANIFEST
    }
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))


def write(files: dict[str, str], output: str) -> None:
    """Make `output` hold these files and no other module."""
    os.makedirs(output, exist_ok=True)
    for name in os.listdir(output):
        if name.endswith(".py") and name not in files:
            os.remove(os.path.join(output, name))
    for name, text in files.items():
        with open(os.path.join(output, name), "w", encoding="utf-8") as file:
            file.write(text)


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    *directories, output = arguments
    files = generate(directories)
    write(files, output)
    print(f"{len(files)} files, {sum(text.count(chr(10)) for text in files.values())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
