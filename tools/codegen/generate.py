"""From the model of all messages to the text of all generated files."""

from tools.codegen.model import Model
from tools.codegen.modules import emit_module, group_into_modules
from tools.codegen.tables import emit_api_table, emit_error_codes

_PACKAGE = '"""Messages of Kafka\'s protocol, one module for each API. Written by tools.codegen."""\n'


def generate(model: Model) -> dict[str, str]:
    """The text of every generated file, by its name."""
    files = {
        "__init__.py": _PACKAGE,
        "error_codes.py": emit_error_codes(model.error_codes),
        "api_table.py": emit_api_table(model.messages),
    }
    for module in group_into_modules(model.messages):
        files[f"{module.name}.py"] = emit_module(module)
    return files
