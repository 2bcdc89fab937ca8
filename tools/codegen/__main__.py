"""`python -m tools.codegen [--model FILE] DEFINITIONS_DIR [MORE_DIRS...] OUTPUT_DIR`

With `--model`, what the definitions say is also kept in FILE: the tests generate the modules anew from it.
"""

import argparse
import os
import sys

from tools.codegen.definitions import load_model, save_model
from tools.codegen.generate import generate


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
    parser = argparse.ArgumentParser(prog="python -m tools.codegen")
    parser.add_argument("--model", help="file to keep what the definitions say in")
    parser.add_argument("definitions", nargs="+", help="folders with one JSON file for each message")
    parser.add_argument("output", help="folder of the generated modules")
    options = parser.parse_args(arguments)
    model = load_model(options.definitions)
    if options.model:
        save_model(model, options.model)
    files = generate(model)
    write(files, options.output)
    print(f"{len(files)} files, {sum(len(text.splitlines()) for text in files.values())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
