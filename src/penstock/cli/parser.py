"""The full command-line parser: every command with its help. A new command is one row of `_COMMANDS`."""

import importlib
import importlib.util
from collections.abc import Sequence

import typer

import penstock
from penstock.cli.errors import EXIT_USAGE, CommandError, one_line

# In the order of the help. Each module has an `app` (a group of commands) or a function of the command's name.
_COMMANDS = (
    "up",
    "topic",
    "produce",
    "consume",
    "group",
    "cluster",
    "console",
    "txn",
    "config",
    "user",
    "acl",
    "quota",
    "log",
    "pipeline",
    "table",
    "dlq",
    "bench",
)

_HELP = """A message broker that speaks Kafka's protocol and keeps what it acknowledged.

Run the first of these in one terminal and the others in a second one:

  penstock up
  penstock topic create orders --partitions 3
  echo hello | penstock produce orders
  penstock consume orders
"""


def run_parsed(arguments: Sequence[str]) -> int:
    """Run the command that the arguments ask for and give its exit code."""
    try:
        result = build_app(arguments)(list(arguments), prog_name="penstock", standalone_mode=False)
    except typer.TyperException as error:
        if (
            not error.format_message()
        ):  # the help was shown instead: a group of commands was called without one
            return EXIT_USAGE
        raise CommandError(_usage(error), error.exit_code) from None
    except typer.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0  # a `typer.Exit` comes back as its exit code


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """Make the command-line parser with the command that is asked for, or with all of them for the help."""
    app = typer.Typer(
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    asked = arguments[0] if arguments and arguments[0] in _COMMANDS else None
    for name in _COMMANDS:
        if asked in (None, name):
            _add_command(app, name)
    return app


def _add_command(app: typer.Typer, name: str) -> None:
    found = importlib.util.find_spec(f"penstock.cli.{name}")
    if found is None or found.origin is None:  # `bench` is not in every installation
        return
    module = importlib.import_module(f"penstock.cli.{name}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name)(getattr(module, name))


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
    """Only the command's own options; what is to be done is in its commands."""


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = one_line(error.format_message()).rstrip(".")
    return f"{message}. See `{context.command_path} --help`" if context is not None else message
