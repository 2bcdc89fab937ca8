from collections.abc import Callable

import msgspec
import typer

from penstock.cli.options import takes


class Shared(msgspec.Struct, frozen=True):
    name: str = typer.Option("nobody")
    sizes: list[int] = typer.Option([], "--size")


def run(command: Callable[..., None], *arguments: str) -> None:
    app = typer.Typer()
    app.command()(command)
    app(list(arguments), standalone_mode=False)


def test_a_command_gets_the_options_of_a_class_as_its_first_argument() -> None:
    found: list[tuple[Shared, str, bool]] = []

    @takes(Shared)
    def command(shared: Shared, word: str, *, loud: bool = typer.Option(False, "--loud")) -> None:
        found.append((shared, word, loud))

    run(command, "a")
    run(command, "b", "--name", "ann", "--size", "1", "--size", "2", "--loud")
    assert found == [
        (Shared(name="nobody", sizes=[]), "a", False),
        (Shared(name="ann", sizes=[1, 2]), "b", True),
    ]
