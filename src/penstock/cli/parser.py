"""The full command-line parser: every command with its help. A new command is one row of `_COMMANDS`."""

import importlib
import re
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperArgument
from typer.main import get_command

import penstock
from penstock.cli.errors import EXIT_USAGE, CommandError, UsageError, one_line

# In the order of the help: the module of each, which has an `app` (a group of commands) or a function of that name.
_COMMANDS = {
    "up": "up.command",
    "topic": "topic",
    "produce": "produce",
    "consume": "consume.command",
    "sql": "sql.command",
    "group": "group.commands",
    "cluster": "cluster.commands",
    "mirror": "mirror.commands",
    "console": "console",
    "txn": "txn.commands",
    "config": "config",
    "user": "user",
    "acl": "acl.commands",
    "quota": "quota",
    "log": "log.commands",
    "pipeline": "pipeline",
    "table": "table",
    "dlq": "dlq.commands",
    "bench": "bench",
}

# Deprecated names of commands and options, still accepted: by the command they belong to, the old and the new one.
_DEPRECATED = {
    ("topic",): {"truncate": "delete-records"},
    ("pipeline", "backfill"): {"again": "force"},
    ("dlq", "replay"): {"again": "include-replayed"},
    ("bench",): {"minutes-max": "max-minutes"},
}

_HELP_FLAGS = ["-h", "--help"]
_EXAMPLE = re.compile(r"^ {2,}\S.*$", re.MULTILINE)

_HELP = """A message broker that speaks Kafka's protocol and keeps every record that it acknowledged.

Run the first of these in one terminal and the others in a second one:

  penstock up
  penstock topic create orders --partitions 3
  echo hello | penstock produce orders
  penstock consume orders
"""


def run_parsed(arguments: Sequence[str]) -> int:
    """Run the command of the arguments and give its exit code."""
    try:
        command: Any = get_command(_build_app(arguments))
        commands = command.commands
        command.commands = {name: commands[name] for name in _COMMANDS if name in commands}
        _tidy_help(command)
        _accept_deprecated(command)
        result = command(list(arguments), prog_name="penstock", standalone_mode=False)
    except typer.TyperException as error:
        if not error.format_message():  # a group of commands without a command has shown its help
            return EXIT_USAGE
        kind = UsageError if error.exit_code == EXIT_USAGE else CommandError
        raise kind(_usage(error)) from None
    except typer.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0  # a `typer.Exit` comes back as its exit code


def _accept_deprecated(command: Any, path: tuple[str, ...] = ()) -> None:
    """Let the parser replace deprecated names, which alone knows an option or a command from a value."""
    prefix = "" if hasattr(command, "commands") else "--"

    def current_name(name: str) -> str:
        new = _DEPRECATED.get(path, {}).get(name)
        if new is None:
            return name
        print(f"penstock: {prefix}{name} is deprecated, use {prefix}{new}", file=sys.stderr)
        return new

    command.context_settings = {**command.context_settings, "token_normalize_func": current_name}
    for name, each in getattr(command, "commands", {}).items():
        _accept_deprecated(each, (*path, name))


def _build_app(arguments: Sequence[str]) -> typer.Typer:
    """Build the parser of one command, or of all of them for the help."""
    app = typer.Typer(
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": _HELP_FLAGS},
    )
    app.callback()(_options)
    asked = arguments[0] if arguments and arguments[0] in _COMMANDS else None
    for name in _COMMANDS:
        if asked in (None, name):
            _add_command(app, name)
    return app


def _tidy_help(command: Any) -> None:
    """Highlight examples, which also keeps their indentation, and remove from the help: the Python type (`<bool>`) of
    flags and arguments, and the parentheses of defaults.
    """
    command.help = _EXAMPLE.sub(r"[bold]\g<0> [/]", command.help or "")
    for each in command.get_params(typer.Context(command, help_option_names=_HELP_FLAGS)):
        if isinstance(each, TyperArgument) or each.is_flag:
            each.display_type_rich = _no_type
        if isinstance(each.show_default, str):
            each.help, each.show_default = f"{each.help} \\[default: {each.show_default}]", False
    for each in getattr(command, "commands", {}).values():
        _tidy_help(each)


def _no_type(ctx: object) -> None:
    del ctx


def _add_command(app: typer.Typer, name: str) -> None:
    module = importlib.import_module(f"penstock.cli.{_COMMANDS[name]}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name, context_settings=getattr(module, "CONTEXT_SETTINGS", None))(getattr(module, name))


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"penstock {penstock.__version__}")
        raise typer.Exit


def _options(
    *,
    _version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    """Options of `penstock` itself."""


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = one_line(error.format_message()).rstrip(".")
    return f"{message}. See `{context.command_path} --help`" if context is not None else message
