"""`python -m tools.codegen [--definitions DIR]`: write `penstock.protocol.messages`.

The modules are made from `messages.json`, which holds the data of Kafka's definitions, and from `metadata_records/`.
With `--definitions`, Kafka's definition files in DIR replace the data in `messages.json` first.
"""

import argparse
import sys
from pathlib import Path

from tools.codegen.definitions import load_error_codes, load_messages, read_model, save_model
from tools.codegen.generate import generate
from tools.codegen.model import Model

HERE = Path(__file__).parent
MODEL = HERE / "messages.json"
METADATA_RECORDS = HERE / "metadata_records"
MODULES = HERE.parents[1] / "src" / "penstock" / "protocol" / "messages"


def current_model(definitions: Path | None) -> Model:
    """The model of all messages: metadata records from their files, the others from `definitions` or the last model."""
    if definitions is None:
        error_codes, messages = read_model(MODEL).error_codes, read_model(MODEL).messages
    else:
        error_codes, messages = load_error_codes(definitions), load_messages(definitions)
    others = [message for message in messages if message.kind != "metadata"]
    return Model(error_codes, sorted([*others, *load_messages(METADATA_RECORDS)], key=lambda each: each.name))


def write(files: dict[str, str], output: Path) -> None:
    """Make `output` hold these files and no other module."""
    for path in output.glob("*.py"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (output / name).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.codegen")
    parser.add_argument("--definitions", type=Path, help="directory with Kafka's definition files")
    options = parser.parse_args(arguments)
    model = current_model(options.definitions)
    save_model(model, MODEL)
    files = generate(model)
    write(files, MODULES)
    print(f"Wrote {len(files)} files with {sum(len(text.splitlines()) for text in files.values())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
